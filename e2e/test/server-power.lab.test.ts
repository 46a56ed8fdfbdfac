// Power cuts of a management server while it is used, on a disk that loses what was not flushed. Whatever the server
// confirmed before a cut is there after it. PLATFORM_LAB_SERVER_CUTS, PLATFORM_LAB_SEED.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash, randomBytes, randomInt } from 'node:crypto';
import { chmodSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { systemClock } from '@platform/kit/node';
import { seededRandom } from '@platform/kit/testing';
import { keep } from '../lab/results.ts';
import { clientOf, type CloudProcess, startCloudAt } from '../src/cloud-process.ts';
import { endState, postmasterOf } from '../src/end-state.ts';
import { killAll, linesOf } from '../src/server-processes.ts';
import { checkout, dataFolder } from '../src/up-process.ts';
import { wireMachine } from '../src/wire-callers.ts';

const seed = Number(process.env['PLATFORM_LAB_SEED'] ?? randomInt(1_000_000));
const cuts = Number(process.env['PLATFORM_LAB_SERVER_CUTS'] ?? 12);
const script = path.join(checkout, 'e2e/lab/volatile-disk.sh');

/** What the server has confirmed. */
interface Confirmed {
  /** Name → revision of its configuration. */
  readonly machines: Map<string, bigint>;
  /** Hashes of files. */
  readonly images: Set<string>;
  readonly lines: Set<string>;
}

/** Uses the server until a call fails; adds what is confirmed. */
async function use({ ready }: CloudProcess, cut: number, confirmed: Confirmed): Promise<void> {
  const client = clientOf(ready, { baseUrl: ready.local_url });
  const signal = AbortSignal.timeout(60_000);
  const repeat = async (work: (n: number) => Promise<void>): Promise<void> => {
    for (let n = 1; !signal.aborted; n++) await work(n);
  };
  const talker = await client.fleetClient.createMachine({ organizationId: ready.org_id, name: `talker ${cut}` });
  const machine = await wireMachine(talker.credentialsJson.replaceAll(ready.url, ready.local_url));
  const partOf = talker.machine?.partId ?? '';
  const machines = repeat(async (n) => {
    const name = `machine ${cut}.${n}`;
    const created = await client.fleetClient.createMachine({ organizationId: ready.org_id, name });
    confirmed.machines.set(name, 0n);
    const { partId = '' } = created.machine ?? {};
    const { revision } = await client.fleetClient.saveConfig({ partId, configJson: JSON.stringify({ note: name }) });
    confirmed.machines.set(name, revision);
  });
  const images = repeat(async () => {
    const bytes = randomBytes(20_000 + randomInt(200_000));
    await client.dataClient.uploadImage(
      { bytes, fileName: 'a.bin', fileExtension: 'bin', storeAnyFile: true },
      { partId: partOf },
    );
    confirmed.images.add(createHash('sha256').update(bytes).digest('hex'));
  });
  const lines = repeat(async (n) => {
    const message = `line ${cut}.${n}.`;
    await machine.log({ level: 'info', message, at: systemClock.wall() });
    confirmed.lines.add(message);
  });
  await Promise.allSettled([machines, images, lines]);
}

async function check(folder: string, confirmed: Confirmed): Promise<void> {
  const state = await endState(folder);
  assert.deepEqual(state['damagedFiles'], []);
  const revisions = new Map(
    (state['machines'] as { name: string; revision: string | number }[]).map((row) => [row.name, BigInt(row.revision)]),
  );
  for (const [name, revision] of confirmed.machines)
    assert.ok((revisions.get(name) ?? -1n) >= revision, `${name}: ${revisions.get(name)} of ${revision}`);
  const files = new Set((state['images'] as { sha256: string }[]).map(({ sha256 }) => sha256));
  assert.deepEqual(
    [...confirmed.images].filter((sha256) => !files.has(sha256)),
    [],
    'images are missing',
  );
  const counts = new Map<string, number>();
  for (const line of await linesOf(folder)) {
    const [message] = /line \d+\.\d+\./.exec(line) ?? [];
    if (message !== undefined) counts.set(message, (counts.get(message) ?? 0) + 1);
  }
  assert.deepEqual(
    [...confirmed.lines].filter((message) => counts.get(message) !== 1),
    [],
    'not there once',
  );
}

test(`${cuts} power cuts of a server in use, seed ${seed}`, { timeout: 3_600_000 }, async () => {
  await using disk = await dataFolder();
  const power = async (...args: string[]): Promise<string> => {
    const [operation = '', ...more] = args;
    return (await promisify(execFile)('bash', [script, operation, disk.path, ...more])).stdout.trim();
  };
  const random = seededRandom(seed);
  const folder = path.join(disk.path, 'mnt', 'server');
  const confirmed: Confirmed = { machines: new Map(), images: new Set(), lines: new Set() };
  const back: number[] = [];
  const start = (port: number): Promise<CloudProcess> =>
    startCloudAt({ checkout, dataDir: path.join(folder, 'cloud'), port });
  await power('on');
  try {
    await promisify(execFile)('mkdir', ['-p', path.join(folder, 'cloud')]);
    chmodSync(folder, 0o755);
    let cloud = await start(0);
    const { port } = cloud.ready;
    assert.ok(postmasterOf(folder), 'the database is on this disk');
    for (let cut = 1; cut <= cuts; cut++) {
      const used = use(cloud, cut, confirmed).catch(() => {}); // the first calls may meet the cut, too
      await systemClock.sleep(200 + random() * 4_000);
      await (cut % 2 === 0 ? power('cut') : power('cut', String(Math.floor(random() * 1_000_000))));
      await killAll(folder);
      await cloud[Symbol.asyncDispose]();
      await used;
      await power('off');
      await power('on');
      const began = systemClock.now();
      cloud = await start(port);
      back.push((systemClock.now() - began) / 1000);
      await check(folder, confirmed);
    }
    await cloud[Symbol.asyncDispose]();
  } finally {
    await killAll(folder);
    await power('off');
  }
  const { machines, images, lines } = confirmed;
  assert.ok(machines.size > cuts && images.size > cuts && lines.size > cuts, 'the server was used before each cut');
  const mean = back.reduce((sum, seconds) => sum + seconds, 0) / back.length;
  const note = `${cuts} cuts, half of them with torn writes, seed ${seed}: all of ${machines.size} machines with their configurations, ${images.size} images and ${lines.size} log lines that were confirmed are there; the time is the mean from power to ready, the longest ${Math.max(...back).toFixed(1)} s`;
  await keep('power cuts of a server in use', 'operations', mean, note);
});
