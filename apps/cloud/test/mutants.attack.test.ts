// Malformed messages for every call: the server answers or refuses each with a reason, and never fails internally.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { DescMethod, JsonObject } from '@bufbuild/protobuf';
import { makeKeyFolder, readKeyFolders } from '@platform/releases/key-folder';
import { seededRandom, tempFolder } from '@platform/kit/testing';
import { attackRounds } from '../../../e2e/src/attack-rounds.ts';
import { type Headers, outcomeOf, pathOf, type Wire, wireTo } from './attack/ask.ts';
import { mutantOf } from './attack/mutants.ts';
import type { Right } from './attack/rights.ts';
import { rightsOfData } from './attack/rights-of-data.ts';
import { rightsOfMachines } from './attack/rights-of-machines.ts';
import { rightsOfTraining, rightToSign } from './attack/rights-of-training.ts';
import { routedCalls } from './attack/routed.ts';
import { randomFrom, wildTexts } from './attack/wild.ts';
import { grantOn, makeWorld, type World } from './attack/world.ts';

const perCall = attackRounds(60, 8);
/** The same seed yields the same messages. */
const seed = Number(process.env['PLATFORM_ATTACK_SEED'] ?? attackRounds(Date.now() % 1_000_000, 12));

/** Ids of objects that calls may change or delete, one of each kind. */
async function decoys(world: World): Promise<string[]> {
  const { orgId, elsewhereId } = world;
  const machine = await world.freshMachine();
  const key = await world.freshKey([grantOn('operator', 'organization', orgId, orgId)]);
  const [dataset, image] = [await world.freshDataset(), await world.freshImage()];
  const job = await world.freshJob('in_progress');
  const item = await world.freshPackage('ml_model');
  const ids = [machine.machineId, machine.partId, key.entity, dataset, job.id];
  return [orgId, elsewhereId, image, item, `${orgId}/${item}`, `${orgId}:${item}`, ...ids, ...ids];
}

/** Status codes that mean a server fault, not a sender fault. */
const ours: ReadonlySet<string> = new Set(['internal', 'unknown', 'data_loss', 'unavailable', 'deadline_exceeded']);

async function isWell(wire: Wire, headers: Headers): Promise<boolean> {
  const path = '/platform.session.v1.SessionService/WhoAmI';
  const sent = { ...headers, 'content-type': 'application/json', 'connect-protocol-version': '1' };
  return (await wire.send({ method: 'POST', path, headers: sent, body: '{}' })).status === 200;
}

test('no message makes the server fail: each is answered, or refused with a reason', async (t) => {
  t.diagnostic(`seed ${seed}: PLATFORM_ATTACK_SEED=${seed} sends the same messages`);
  const unhandled: unknown[] = [];
  const count = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', count);
  // A budget of calls would refuse some of the messages unread, the more the faster the host is.
  await using world = await makeWorld(['--machine-calls-per-s', '0', '--key-calls-per-s', '0']);
  await using folder = await tempFolder();
  await makeKeyFolder(folder.path, 1);
  using wire = wireTo(world.on.url);
  const random = randomFrom(seededRandom(seed));
  const rights: readonly Right[] = [
    ...rightsOfData,
    ...rightsOfMachines,
    ...rightsOfTraining,
    rightToSign(await readKeyFolders([folder.path])),
  ];
  const requests = new Map<string, JsonObject[][]>();
  const heard: Record<string, number> = {};
  const wrong: string[] = [];
  const report = (line: string): void => {
    wrong.push(line);
    t.diagnostic(line);
  };
  const callers: Record<string, Headers> = {
    owner: { authorization: `Bearer ${await world.token(world.on.owner)}` },
    machine: { authorization: `Bearer ${await world.token(world.machine.part)}` },
  };

  const attack = async (method: DescMethod, right: readonly JsonObject[], who: string, ids: readonly string[]) => {
    const headers = callers[who] ?? {};
    const { how, asked } = mutantOf(method, right, { random, texts: [...ids, ...wildTexts], headers });
    const reply = await wire.send(asked).catch((error: unknown) => String(error));
    const outcome = typeof reply === 'string' ? { code: reply, row: '' } : outcomeOf(reply);
    heard[outcome.code] = (heard[outcome.code] ?? 0) + 1;
    const isOurs = ours.has(outcome.code) || /^(HTTP 5|Error)/.test(outcome.code);
    if (!isOurs) return;
    const body = Buffer.from(asked.body ?? '');
    const text = /json/.test(asked.headers['content-type'] ?? '') ? body.toString() : body.toString('hex');
    report(`${asked.path} by ${who}, ${how}: ${outcome.code} ${outcome.row}; ${text.slice(0, 600)}`);
  };

  // After releases are signed, the server would refuse those of the other calls.
  const isLast = ({ name }: DescMethod): number => (name === 'SubmitMetadata' ? 1 : 0);
  const methods = (await routedCalls(wire)).toSorted((a, b) => isLast(a) - isLast(b));
  for (const method of methods) {
    const path = pathOf(method);
    const rows = rights.filter(({ call }) => `/${call}` === path);
    const ids = await decoys(world);
    const right =
      rows.length === 0 ? [[{}]] : await Promise.all(rows.map(async ({ ask }) => [...(await ask(world)).messages]));
    requests.set(path, right);
    for (let n = 0; n < perCall; n++)
      for (const who of Object.keys(callers)) {
        const own = who === 'machine' ? [world.machine.partId, world.machine.machineId] : [];
        await attack(method, random.pick(right), who, [...ids, ...own]);
      }
    for (const [who, headers] of Object.entries(callers))
      if (!(await isWell(wire, headers))) report(`after ${path} the ${who} can do nothing any more`);
  }
  t.diagnostic(
    `${requests.size} calls, ${perCall} messages each by ${Object.keys(callers).join(' and ')}: ${JSON.stringify(heard)}`,
  );
  process.off('unhandledRejection', count);
  assert.deepEqual(unhandled, []);
  assert.equal(wrong.length, 0, 'failures of the server: the lines above name them');
});
