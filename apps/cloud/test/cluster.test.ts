import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmod, lstat, mkdir, readdir, readFile, readlink, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { Client } from 'pg';
import { createLog } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { captureLog, tempFolder } from '@platform/kit/testing';
import { findBinaries, isReachable } from '../src/postgres/binaries.ts';
import { type Cluster, startCluster } from '../src/postgres/cluster.ts';
import { superviseCluster } from '../src/postgres/supervisor.ts';
import { parsePostmaster, processState } from '../src/postgres/postmaster.ts';
import { clientConfig } from '../src/database/database.ts';
import { testLog } from './database.ts';

const notLasting = { fsync: 'off' };
const start = (folder: string): Promise<Cluster> =>
  startCluster({ folder, clock: systemClock, log: testLog, settings: notLasting });

async function ask(cluster: Cluster, text: string): Promise<unknown> {
  const client = new Client(
    clientConfig({ is: 'socket', host: cluster.host, port: cluster.port, user: cluster.admin, database: 'postgres' }),
  );
  await client.connect();
  try {
    return ((await client.query({ text, rowMode: 'array' })).rows as unknown[][])[0]?.[0];
  } finally {
    await client.end();
  }
}

const pidFiles: [name: string, text: string, expected: object | undefined][] = [
  ['ready', '77\n/d\n1\n5432\n/s\n\n 1 2\nready   \n', { pid: 77, port: 5432, socketFolder: '/s', isReady: true }],
  ['starting', '77\n/d\n1\n5432\n/s\n\n 1 2\nstarting\n', { pid: 77, port: 5432, socketFolder: '/s', isReady: false }],
  ['a standalone backend', '-78\n/d\n', { pid: 78, port: 0, socketFolder: '', isReady: false }],
  ['empty', '', undefined],
  ['garbage', 'x\n', undefined],
];
for (const [name, text, expected] of pidFiles)
  test(`postmaster.pid: ${name}`, () => assert.deepEqual(parsePostmaster(text), expected));

test('no empty database is made beside one of another major version', async () => {
  await using folder = await tempFolder();
  for (const found of ['17', '19']) {
    const home = folder.file(`of-${found}`);
    await mkdir(path.join(home, found), { recursive: true });
    await assert.rejects(start(home), { code: 'DATABASE_OF_OTHER_MAJOR', data: { path: home, found, known: '18' } });
    assert.deepEqual(await readdir(home), [found]);
  }
});

test('a database that outlived its server is adopted; one that was stopped starts again with its rows', async () => {
  await using folder = await tempFolder();
  const home = folder.file('postgres');
  const first = await start(home);
  assert.equal(first.isAdopted, false);
  await ask(first, 'create table kept as select 7 as n');
  assert.equal(
    await ask(first, "select datcollate || ' ' || datlocprovider::text from pg_database where datname = 'postgres'"),
    'C b',
  );

  const again = await start(home);
  assert.deepEqual([again.isAdopted, again.pid], [true, first.pid]);
  await again.stop();
  assert.equal(await first.isAlive(), false);

  const third = await start(home);
  assert.equal(third.isAdopted, false);
  assert.equal(await ask(third, 'select n from kept'), 7);
  await third.stop();
});

test('the database starts over what a killed one leaves: a lock with the pid of another process or a zombie, a torn creation', async () => {
  await using folder = await tempFolder();
  const home = folder.file('postgres');
  const first = await start(home);
  await ask(first, 'create table kept as select 7 as n');
  const pidFile = path.join(home, '18', 'postmaster.pid');
  const left = await readFile(pidFile, 'utf8');
  process.kill(first.pid, 'SIGKILL');
  while (await first.isAlive()) await systemClock.sleep(10);

  // The parent execs another program, which never reaps its child.
  const parent = spawn('sh', ['-c', 'sleep 0.3 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const zombie = await new Promise<number>((resolve) =>
    parent.stdout.once('data', (chunk: Buffer) => resolve(Number(chunk.toString()))),
  );
  while (!/^\d+ \(.*\) Z/.test(await readFile(`/proc/${zombie}/stat`, 'utf8'))) await systemClock.sleep(10);
  process.kill(zombie, 0);
  assert.equal(await processState(zombie), 'gone');
  assert.equal(await processState(process.pid), 'gone', 'it runs, but is not a database');

  for (const pid of [zombie, process.pid]) {
    await writeFile(pidFile, left.replace(/^\d+/, String(pid)));
    await mkdir(path.join(home, '18.init-1'), { recursive: true });
    const next = await start(home);
    assert.equal(next.isAdopted, false);
    assert.equal(await ask(next, 'select n from kept'), 7);
    process.kill(next.pid, 'SIGKILL');
    while (await next.isAlive()) await systemClock.sleep(10);
  }
  parent.kill('SIGKILL');

  const fresh = folder.file('fresh');
  await mkdir(path.join(fresh, '18.init-99', 'base'), { recursive: true });
  const created = await start(fresh);
  assert.deepEqual(
    (await readdir(fresh)).filter((name) => name.includes('init')),
    [],
  );
  await created.stop();
});

const silent: [name: string, silence: (running: Cluster) => Promise<void> | boolean][] = [
  ['stopped', ({ pid }) => process.kill(pid, 'SIGSTOP')],
  ['without its socket', ({ host }) => rename(path.join(host, '.s.PGSQL.5432'), path.join(host, 'aside'))],
];
for (const [name, silence] of silent)
  test(`a database that calls itself ready and gives no answer is not adopted: ${name}`, async () => {
    await using folder = await tempFolder();
    const first = await start(folder.file('postgres'));
    await ask(first, 'create table kept as select 7 as n');
    await silence(first);
    const log = createLog({
      name: 'test',
      clock: systemClock,
      level: 'info',
      // Without SIGCONT, the stopped process would be killed a few seconds later.
      sink: ({ message }) => message === 'stopping the database that runs' && process.kill(first.pid, 'SIGCONT'),
    });
    const next = await startCluster({
      folder: folder.file('postgres'),
      clock: systemClock,
      log,
      settings: notLasting,
    });
    assert.equal(next.isAdopted, false);
    assert.equal(await ask(next, 'select n from kept'), 7);
    await next.stop();
  });

test('a running server makes no new database where its own is gone, and goes on when it is back', async () => {
  await using folder = await tempFolder();
  const [home, away] = [folder.file('data', 'postgres'), folder.file('away')];
  const captured = captureLog(systemClock, 'info');
  const of = { folder: home, clock: systemClock, log: captured.log, settings: notLasting };
  const first = await startCluster(of);
  await ask(first, 'create table kept as select 7 as n');
  const supervisor = superviseCluster({ ...of, first, start: () => startCluster({ ...of, mustExist: true }) });
  await rename(folder.file('data'), away);
  process.kill(first.pid, 'SIGKILL');
  while (!captured.text().includes('cannot be started')) await systemClock.sleep(20);
  assert.match(captured.text(), /holds no database any more: put it back/);
  assert.deepEqual(await readdir(folder.path), ['away']);

  await rename(away, folder.file('data'));
  const host = { ...first, host: path.join(home, '18') };
  while ((await ask(host, 'select n from kept').catch(() => undefined)) !== 7) await systemClock.sleep(20);
  await supervisor.stop();
});

test('a data folder whose socket would have too long a name gets a short one elsewhere', async () => {
  await using folder = await tempFolder();
  const cluster = await start(folder.file('x'.repeat(100), 'postgres'));
  assert.ok(Buffer.byteLength(cluster.host) < 80, cluster.host);
  assert.equal((await stat(cluster.host)).mode & 0o777, 0o700);
  assert.equal(await ask(cluster, 'select 1'), 1);
  await cluster.stop();
});

test('programs that the database’s user cannot reach are copied once, with the links that npm did not make', async () => {
  await using folder = await tempFolder();
  const home = folder.file('closed', 'package');
  await mkdir(path.join(home, 'native', 'bin'), { recursive: true });
  await mkdir(path.join(home, 'native', 'lib'));
  await writeFile(path.join(home, 'package.json'), '{"version":"1.2.3"}');
  await writeFile(path.join(home, 'native', 'bin', 'postgres'), 'program', { mode: 0o755 });
  await writeFile(path.join(home, 'native', 'lib', 'liba.so.1.2'), 'library');
  await writeFile(
    path.join(home, 'native', 'pg-symlinks.json'),
    '[{"source":"native/lib/liba.so.1.2","target":"native/lib/liba.so.1"}]',
  );
  await chmod(folder.file('closed'), 0o700);
  const account = { uid: 64_000, gid: 64_000 };
  assert.equal(await isReachable(home, account), false);
  assert.equal(await isReachable(home, undefined), true);
  assert.equal(await isReachable(folder.path, account), true);

  const spare = folder.file('spare');
  const found = await findBinaries(account, spare, home);
  assert.equal(found.postgres, path.join(spare, 'programs-1.2.3', 'bin', 'postgres'));
  assert.equal((await stat(found.postgres)).mode & 0o777, 0o755);
  assert.equal(await readlink(path.join(spare, 'programs-1.2.3', 'lib', 'liba.so.1')), 'liba.so.1.2');
  await writeFile(path.join(home, 'native', 'bin', 'postgres'), 'changed');
  assert.equal(await readFile((await findBinaries(account, spare, home)).postgres, 'utf8'), 'program');
  assert.deepEqual(await readdir(spare), ['programs-1.2.3']);

  const ours = await findBinaries(undefined, spare, home);
  assert.equal(ours.postgres, path.join(home, 'native', 'bin', 'postgres'));
  assert.ok((await lstat(path.join(home, 'native', 'lib', 'liba.so.1'))).isSymbolicLink());
});
