// A real PostgreSQL 17 with the data of a server, upgraded to that of this version: refused where it must be, killed at
// each step, and in the end the same rows.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { createClient } from '@connectrpc/connect';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { lockFolder, systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { findSnapshot } from '../src/backup/backup-folder.ts';
import { reachDatabase } from '../src/backup/database-access.ts';
import { makeBackup } from '../src/backup/make-backup.ts';
import type { Connection } from '../src/database/database.ts';
import { oldPrograms } from '../src/database-upgrade/upgrade-database.ts';
import { type Cluster, type Programs, startCluster } from '../src/postgres/cluster.ts';
import { readPostmaster } from '../src/postgres/postmaster.ts';
import { openOwnDatabase } from '../src/postgres/roles.ts';
import { contentOf, fillServer } from './backup-folder.ts';
import { testLog, urlOf } from './database.ts';
import { cloudProcess, endedWithTests, type ReadyLine } from './process.ts';
import { testServer, transportTo } from './server.ts';

const admin = path.resolve(import.meta.dirname, '..', 'src', 'admin.ts');
const of = { clock: systemClock, log: testLog };

const programs = (major: string): string => {
  const folder = process.env[`PLATFORM_TEST_POSTGRES_${major}`];
  assert.ok(folder, 'run it by npm run test:full');
  return folder;
};
const as17: Programs = {
  major: '17',
  find: (account, spare) => oldPrograms(programs('17'), '17', { account, spare }),
};
const start17 = (folder: string): Promise<Cluster> =>
  startCluster({ folder, as: as17, settings: { fsync: 'off' }, ...of });

/** Ends what a killed upgrade left running, if the test fails. */
function endedClusters(...files: string[]): void {
  after(async () => {
    for (const one of files) {
      const left = await readPostmaster(one);
      if (left) spawnSync('kill', ['-9', String(left.pid)]);
    }
  });
}

/** Fills a data folder as a version of the platform with PostgreSQL 17 would have. @returns its content. */
async function makeOld(dataFolder: string, backups: string): Promise<Record<string, string>> {
  const cluster = await start17(path.join(dataFolder, 'postgres'));
  try {
    const connection = await openOwnDatabase(cluster, 'platform', testLog);
    const on = await testServer(['--data-dir', dataFolder, '--database-url', urlOf(connection)]);
    await fillServer(on, 20).finally(() => on[Symbol.asyncDispose]());
    return await backedUp({ dataFolder, connection }, backups);
  } finally {
    await cluster.stop();
  }
}

/** Hashes of all rows, as a backup records them. */
async function backedUp(
  from: { dataFolder: string; connection: Connection },
  folder: string,
): Promise<Record<string, string>> {
  const plain = { keep: undefined, passphrase: undefined, keysTo: undefined };
  await makeBackup({ folder, ...from, ...plain }, of);
  return contentOf(await findSnapshot(folder, undefined));
}

type Ending = { code: number | null; text: string };

async function upgrade(
  dataFolder: string,
  args: string[] = [],
  isMoment: (text: string) => boolean = () => false,
): Promise<Ending> {
  const all = ['upgrade-database', '--data-dir', dataFolder, ...args];
  const child = spawn(process.execPath, [admin, ...all], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // The moments are lines of its log.
    env: { PATH: process.env['PATH'], PLATFORM_LOG_LEVEL: 'info' },
  });
  endedWithTests(child);
  const chunks: Buffer[] = [];
  const text = (): string => Buffer.concat(chunks).toString();
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  const closed = once(child, 'close') as Promise<[number | null]>;
  while (child.exitCode === null && child.signalCode === null) {
    if (isMoment(text())) child.kill('SIGKILL');
    await systemClock.sleep(1);
  }
  const [code] = await closed;
  return { code, text: text() };
}

const refusalOf = async (dataFolder: string): Promise<string> => {
  const cloud = cloudProcess(dataFolder);
  assert.equal(await cloud.exit, 1, cloud.stderr());
  return cloud.stderr();
};

/** Tables whose rows are not those of before. */
async function changedSince(wanted: Record<string, string>, dataFolder: string, backups: string): Promise<string[]> {
  await using reached = await reachDatabase({ dataFolder, databaseUrl: undefined, ...of });
  const found = await backedUp({ dataFolder, connection: reached.connection }, backups);
  return Object.keys({ ...wanted, ...found }).filter((name) => wanted[name] !== found[name]);
}

async function machinesOf({ url, api_key_id: entity, api_key: payload, org_id }: ReadyLine): Promise<unknown> {
  const credentials = { type: 'api-key', payload };
  const { accessToken } = await createClient(AuthService, transportTo(url)).authenticate({ entity, credentials });
  const transport = transportTo(url, accessToken);
  const { machines } = await createClient(FleetService, transport).listMachines({ organizationId: org_id });
  const id = machines[0]?.partId ?? '';
  const { logs } = await createClient(AppService, transport).getRobotPartLogs({ id, limit: 100n });
  return [machines.map(({ name }) => name), logs.map(({ message }) => message).toSorted()];
}

const filesIn = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : []);

test('the database of an older major version is upgraded, whatever cuts it off', async (t) => {
  await using folder = await tempFolder();
  const data = folder.file('data');
  const home = path.join(data, 'postgres');
  const [at, given] = [path.join(home, 'upgrade'), ['--old-programs', programs('17')]];
  endedClusters(path.join(home, '17'), path.join(home, '18'), path.join(at, '18'));
  const wanted = await makeOld(data, folder.file('before'));

  await t.test('a server refuses it and names the command', async () =>
    assert.match(await refusalOf(data), /DATABASE_OF_OTHER_MAJOR: .*17.*18.*platform admin upgrade-database/s),
  );
  for (const [name, args, expected] of [
    ['without the old programs', [], /DATABASE_PROGRAMS_NEEDED: .*PostgreSQL 17\..*--old-programs/s],
    ['with other programs', ['--old-programs', programs('15')], /DATABASE_PROGRAMS_NEEDED: .*are of PostgreSQL 15/s],
    ['with a folder without any', ['--old-programs', folder.path], /DATABASE_PROGRAMS_NEEDED: .*no bin\/postgres/s],
    ['deleting the only one', ['--delete-old'], /DATABASE_UPGRADE_FAILED: .*may be the only one/s],
  ] as const)
    await t.test(`refused ${name}`, async () => {
      const { code, text } = await upgrade(data, [...args]);
      assert.equal(code, 1);
      assert.match(text, expected);
      assert.deepEqual(filesIn(at), []);
    });
  await t.test('refused while a server runs', async () => {
    await using _lock = await lockFolder(path.join(data, 'server.lock'));
    assert.match((await upgrade(data, given)).text, /DATA_DIR_IN_USE/);
  });
  await t.test('refused where a restore did not end', async () => {
    writeFileSync(path.join(data, 'restoring.json'), '{}');
    assert.match((await upgrade(data, given)).text, /RESTORE_INCOMPLETE/);
    rmSync(path.join(data, 'restoring.json'));
  });
  await t.test('refused on a disk without room, and says how much it needs', async () => {
    const disk = folder.file('disk');
    mkdirSync(disk);
    const script = `mount -t tmpfs -o size=200m,mode=755 tmpfs "$1" && cp -a "$2" "$1/data" && shift 2 && exec "$@"`;
    const command = [process.execPath, admin, 'upgrade-database', '--data-dir', `${disk}/data`, ...given];
    const done = spawnSync('unshare', ['-m', 'sh', '-c', script, 'sh', disk, data, ...command], { encoding: 'utf8' });
    assert.match(done.stderr, /DISK_FULL: .*the upgrade of the database needs \d.*are free/s);
  });

  const moments: Record<string, (text: string) => boolean> = {
    'as it begins': () => existsSync(at),
    'as rows are read': () => filesIn(path.join(at, 'rows')).length > 10,
    'as the new one is made': () => filesIn(at).some((name) => name.startsWith('18.init-')),
    'as the new one starts': () => existsSync(path.join(at, '18', 'postmaster.pid')),
    'as rows are written': (text) => text.includes('the role of the server'),
    'as rows are compared': (text) => text.includes('comparing each table'),
    'as it is proven': () => existsSync(path.join(home, 'upgraded.json')),
    'as the new one is in its place': () => existsSync(path.join(home, '18')),
    'as the old one is put aside': () => existsSync(path.join(home, '17-old')),
  };
  for (const [moment, isMoment] of Object.entries(moments))
    await t.test(`killed ${moment}`, async () => {
      const { code, text } = await upgrade(data, given, isMoment);
      assert.notEqual(code, 1, text);
      const isThere = existsSync(path.join(home, '18'));
      assert.ok(isThere || existsSync(path.join(home, '17')), 'a whole database is there');
      if (!isThere) return;
      // The next run, or the next start, ends it. Then back to the old one.
      assert.deepEqual(await changedSince(wanted, data, folder.file(`backup ${moment}`)), []);
      assert.deepEqual(filesIn(home).includes('17') || existsSync(at), false);
      rmSync(path.join(home, '18'), { recursive: true });
      renameSync(path.join(home, '17-old'), path.join(home, '17'));
    });

  await t.test('repeated, it brings the same rows, and keeps the old database', async () => {
    const { code, text } = await upgrade(data, given);
    assert.equal(code, 0, text);
    assert.match(text, /is of PostgreSQL 18: \d+ tables with \d+ rows are the same/);
    assert.deepEqual(await changedSince(wanted, data, folder.file('after')), []);
    assert.match((await upgrade(data, given)).text, /DATABASE_UPGRADE_NEEDLESS/);
  });
  await t.test('cut off between its two renames: the next run ends it', async () => {
    renameSync(path.join(home, '17-old'), path.join(home, '17'));
    const { code, text } = await upgrade(data);
    assert.equal(code, 0, text);
    assert.match(text, /cut off has its end/);
    assert.ok(existsSync(path.join(home, '17-old')));
  });
  await t.test('an old database that was used again is not put aside in silence', async () => {
    renameSync(path.join(home, '17-old'), path.join(home, '17'));
    await (await start17(home)).stop();
    assert.match(await refusalOf(data), /DATABASE_USED_AFTER_UPGRADE: .*17-unused.*18-unused/s);
    renameSync(path.join(home, '17'), path.join(home, '17-old'));
  });
  await t.test('the server starts with the same machines and lines; then the old one is deleted', async () => {
    const cloud = cloudProcess(data);
    const ready = await cloud.ready;
    assert.ok(ready, cloud.stderr());
    assert.deepEqual(await machinesOf(ready), [['m'], ['first "line"\twith tabs', 'second\nline \\N']]);
    const { code, text } = await upgrade(data, ['--delete-old']);
    assert.deepEqual([code, text], [0, `Deleted ${path.join(home, '17-old')}.\n`]);
    assert.deepEqual(
      filesIn(home).filter((name) => /^\d|removed/.test(name)),
      ['18'],
    );
    cloud.child.kill('SIGTERM');
    assert.equal(await cloud.exit, 0);
  });
});
