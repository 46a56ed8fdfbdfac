// The loss of a server: its processes are killed, its data folder is deleted, and it is restored from a backup on
// another port. The fleet, models and lines are the same; the machine comes back untouched, and takes new releases.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { ConfigState, type Machine, OnlineState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { createLog } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { FakeClock } from '@platform/kit/testing';
import { openDatabase } from '../../apps/cloud/src/database/database.ts';
import { openOnlineKey } from '../../apps/cloud/src/releases/online-key.ts';
import { newestDocument } from '../../apps/cloud/src/releases/store/release-metadata.ts';
import { keepFresh } from '../../apps/cloud/src/releases/tuf-repository.ts';
import { clientOf, type CloudProcess, startCloudAt } from '../src/cloud-process.ts';
import { endState } from '../src/end-state.ts';
import { startRelay } from '../src/relay.ts';
import { killAll, linesOf, processesOf, socketOf } from '../src/server-processes.ts';
import { jsonCli, publishScriptServer, startSourceAgent } from '../src/script-server.ts';
import { makeModel } from '../src/small-model.ts';
import { checkout, dataFolder, runCli } from '../src/up-process.ts';

/** Lets the server's own renewal sign timestamps, as in the ten hours after the backup. @returns the last version. */
async function signForHours(dataDir: string): Promise<number> {
  const clock = new FakeClock(systemClock.wall());
  const log = createLog({ name: 'test', clock, level: 'warn', sink: ({ message }) => assert.fail(message) });
  const { db, close } = openDatabase({ is: 'socket', ...socketOf(dataDir) }, log, { max: 1 });
  const version = async (): Promise<number> => (await newestDocument(db, 'timestamp'))?.version ?? 0;
  const [before, end] = [await version(), new AbortController()];
  const key = await openOnlineKey(path.join(dataDir, 'cloud'));
  const kept = keepFresh({ db, key, clock, log }, end.signal);
  try {
    while ((await version()) < before + 5) await clock.advance(10 * 60_000);
    return await version();
  } finally {
    end.abort();
    await kept;
    await close();
  }
}

/** Hash of each table's rows and of the list of files, as the newest snapshot of a folder records them. */
function contentOf(backups: string): Record<string, string> {
  const name = readdirSync(path.join(backups, 'snapshots'))
    .filter((one) => !one.startsWith('.'))
    .toSorted()
    .at(-1);
  const text = readFileSync(path.join(backups, 'snapshots', name ?? '', 'manifest.json'), 'utf8');
  const { database, blobs } = JSON.parse(text) as {
    database: { tables: { name: string; rows: number; sha256: string }[] };
    blobs: { count: number; sha256: string };
  };
  const tables = database.tables.map((one) => [one.name, `${one.rows} ${one.sha256}`] as const);
  return Object.fromEntries([...tables, ['files', `${blobs.count} ${blobs.sha256}`] as const]);
}

async function admin(...args: string[]): Promise<void> {
  const { code, stdout, stderr } = await runCli({}, 'admin', ...args);
  assert.equal(code, 0, `admin ${args.join(' ')}: ${stdout}${stderr}`);
}

test('story: a server is lost with its disk, and restored on another port', async () => {
  await using folder = await dataFolder();
  await using relay = await startRelay();
  const url = `http://127.0.0.1:${relay.port}`;
  const data = folder.file('cloud');
  const startCloud = async (): Promise<CloudProcess> => {
    const cloud = await startCloudAt({ checkout, dataDir: data, port: 0 }, '--public-url', url);
    relay.lead(cloud.ready.port);
    return cloud;
  };
  const first = await startCloud();
  const json = jsonCli({
    PLATFORM_URL: url,
    PLATFORM_API_KEY_ID: first.ready.api_key_id,
    PLATFORM_API_KEY: first.ready.api_key,
    PLATFORM_RELEASE_KEYS: folder.file('keys'),
  });
  await json('release', 'keys', 'init', folder.file('keys'));
  await publishScriptServer(json, folder.path, { version: '1.0.0', channel: 'stable' });
  await publishScriptServer(json, folder.path, { version: '1.1.0', channel: 'dev' });
  const { credentials, machine_id: machineId } = await json('machine', 'create', 'press');
  await writeFile(folder.file('platform.json'), JSON.stringify(credentials), { mode: 0o600 });
  await using agent = await startSourceAgent(folder.path);
  const client = clientOf(first.ready, { baseUrl: url });
  const until = async (what: string, isSo: (now: Machine) => boolean): Promise<void> => {
    const end = systemClock.now() + 120_000;
    for (;;) {
      const { machine } = await client.fleetClient.getMachine({ id: String(machineId) });
      if (machine && isSo(machine)) return;
      assert.ok(systemClock.now() < end, `${what}:\n${(await agent.log()).slice(-3_000)}`);
      await systemClock.sleep(100);
    }
  };
  const isOnline = (now: Machine): boolean => now.onlineState === OnlineState.ONLINE;
  const hasServer = (version: string) => (now: Machine) => now.report?.server?.installedVersion === version;
  await until('1.0.0 runs', (now) => now.report?.server?.runningVersion === '1.0.0' && isOnline(now));
  await makeModel(client, first.ready);
  while (!(await linesOf(folder.path)).some((line) => line.includes('script server 1.0.0 began')))
    await systemClock.sleep(100);

  const lines = await linesOf(folder.path);
  await admin('backup', folder.file('backups'), '--data-dir', data);
  await admin('backup-key', folder.file('key.json'), '--data-dir', data);
  const wanted = await endState(folder.path);
  assert.deepEqual(wanted['damagedFiles'], []);
  assert.equal((wanted['models'] as unknown[]).length > 0, true);

  // After the backup: the machine trusts a later timestamp than the backup has.
  const seen = await signForHours(folder.path);
  await json('release', 'promote', 'platform-server', '1.1.0', 'stable');
  await until('1.1.0 is here', hasServer('1.1.0'));
  const floor = readFileSync(folder.file('agent', 'state', 'tuf', 'floor.json'), 'utf8');
  assert.match(floor, new RegExp(`"timestamp":\\{"version":${seen}\\b`));

  assert.ok((await killAll(folder.path)) > 3, 'a server and a database with children');
  await first[Symbol.asyncDispose]();
  relay.lead(undefined);
  rmSync(data, { recursive: true });

  await admin('restore', folder.file('backups'), '--data-dir', data, '--backup-key', folder.file('key.json'));
  await admin('backup', folder.file('again'), '--data-dir', data);
  const [made, again] = [contentOf(folder.file('backups')), contentOf(folder.file('again'))];
  const changed = Object.keys({ ...made, ...again }).filter((name) => made[name] !== again[name]);
  assert.deepEqual(changed, ['release_document'], 'timestamp and snapshot of the releases went ahead, nothing else');

  const restarted = systemClock.wall();
  await using second = await startCloud();
  assert.notEqual(second.ready.port, first.ready.port);
  assert.deepEqual(await endState(folder.path), wanted);
  const after = new Set(await linesOf(folder.path));
  assert.deepEqual(
    lines.filter((line) => !after.has(line)),
    [],
  );
  await until('the machine is back', (now) => isOnline(now) && timestampMs(now.lastSeen!) > restarted);
  await publishScriptServer(json, folder.path, { version: '1.2.0', channel: 'stable' });
  await until('1.2.0 is here', hasServer('1.2.0'));
  assert.ok(processesOf(folder.file('agent')).includes(agent.group.pid), 'the same process of the agent');
  assert.doesNotMatch(await agent.log(), /RELEASE_UNTRUSTED/);
  await agent[Symbol.asyncDispose](); // while its server answers
});

const settings = (more: object): object => ({
  agent: { advanced_settings: { disable_platform_server: true, ...more } },
});

test('story: a restored server saves another configuration under a number that the machine knows', async () => {
  await using folder = await dataFolder();
  await using relay = await startRelay();
  const data = folder.file('cloud');
  const startCloud = (): Promise<CloudProcess> =>
    startCloudAt({ checkout, dataDir: data, port: 0 }, '--public-url', `http://127.0.0.1:${relay.port}`);
  const first = await startCloud();
  relay.lead(first.ready.port);
  /** The owner reaches the server directly, the machine by the relay. */
  const ownerOf = ({ ready: { port } }: CloudProcess) => {
    const { api_key_id: id, api_key: key } = first.ready;
    const baseUrl = `http://127.0.0.1:${port}`;
    const env = { PLATFORM_URL: baseUrl, PLATFORM_API_KEY_ID: id, PLATFORM_API_KEY: key };
    return { env, json: jsonCli(env), client: clientOf(first.ready, { baseUrl }) };
  };
  const owner = ownerOf(first);
  const { credentials, machine_id: id } = await owner.json('machine', 'create', 'press');
  await writeFile(folder.file('platform.json'), JSON.stringify(credentials), { mode: 0o600 });
  const save = async ({ env }: typeof owner, revision: number, config: object): Promise<void> => {
    await writeFile(folder.file('config.json'), JSON.stringify(config));
    const { stdout, stderr } = await runCli(env, 'config', 'set', 'press', folder.file('config.json'));
    assert.match(stdout, new RegExp(`Saved as revision ${revision}\\.`), stderr);
  };
  const shown = async ({ client }: typeof owner): Promise<Machine> =>
    (await client.fleetClient.getMachine({ id: String(id) })).machine ?? assert.fail('there is no machine');
  const isInEffect = ({ configStatus }: Machine): boolean => configStatus?.state === ConfigState.IN_EFFECT;
  /** The fingerprints that its slices act on. */
  const reported = ({ report }: Machine): Set<string> =>
    new Set((report?.slices ?? []).map((one) => Buffer.from(one.configSha256).toString('hex')).filter((hex) => hex));
  await using agent = await startSourceAgent(folder.path);
  const untilInEffect = async (of: typeof owner, revision: bigint): Promise<Machine> => {
    const end = systemClock.now() + 120_000;
    for (;;) {
      const now = await shown(of);
      const { savedRevision = 0n, savedSha256 = new Uint8Array() } = now.configStatus ?? {};
      if (isInEffect(now) && savedRevision === revision) {
        assert.deepEqual([...reported(now)], [Buffer.from(savedSha256).toString('hex')], 'of the saved content only');
        return now;
      }
      assert.ok(systemClock.now() < end, `revision ${revision}:\n${(await agent.log()).slice(-3_000)}`);
      await systemClock.sleep(50);
    }
  };

  await save(owner, 1, settings({}));
  await untilInEffect(owner, 1n);
  await admin('backup', folder.file('backups'), '--data-dir', data);
  await admin('backup-key', folder.file('key.json'), '--data-dir', data);
  await save(owner, 2, settings({ debug: true }));
  const [lost] = reported(await untilInEffect(owner, 2n));

  relay.lead(undefined);
  await killAll(folder.path);
  await first[Symbol.asyncDispose]();
  rmSync(data, { recursive: true });
  await admin('restore', folder.file('backups'), '--data-dir', data, '--backup-key', folder.file('key.json'));
  await using second = await startCloud();
  const again = ownerOf(second);
  await save(again, 2, settings({ platform_server_env: { COLOUR: 'red' } }));
  const before = await shown(again);
  assert.equal(isInEffect(before), false, 'the machine has not been heard since');
  assert.equal(before.configStatus?.wasInEffect, false);
  const words = async (): Promise<string> =>
    `${(await runCli(again.env, 'machine', 'show', 'press')).stdout}${(await runCli(again.env, 'machine', 'list')).stdout}`;
  assert.doesNotMatch(await words(), /revision 2 in effect/);

  relay.lead(second.ready.port); // the machine comes with the lost content of the same number
  const after = await untilInEffect(again, 2n);
  assert.ok(!reported(after).has(lost ?? ''), 'not the lost revision 2');
  assert.match(await words(), /revision 2 in effect/);
  await agent[Symbol.asyncDispose]();
});
