import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';
import { systemClock } from '@platform/kit/node';
import { seededRandom, tempFolder } from '@platform/kit/testing';
import { accessRules } from '../src/postgres/access-rules.ts';
import { databaseAccount, sharedAccount } from '../src/postgres/account.ts';
import { type Cluster, startCluster } from '../src/postgres/cluster.ts';
import { readPostmaster } from '../src/postgres/postmaster.ts';
import { openOwnDatabase } from '../src/postgres/roles.ts';
import { testLog } from './database.ts';
import { statement } from './statement.ts';

const isRoot = process.getuid?.() === 0;
const settings = { fsync: 'off' };
const start = (folder: string): Promise<Cluster> =>
  startCluster({ folder, clock: systemClock, log: testLog, settings });

/** Stops the database before its folder is removed. */
async function opened(home: string): Promise<Cluster & AsyncDisposable> {
  const cluster = await start(home);
  await openOwnDatabase(cluster, 'platform', testLog);
  return { ...cluster, [Symbol.asyncDispose]: () => cluster.stop() };
}

const app = (cluster: Cluster, database = 'platform'): Parameters<typeof statement>[0] => ({ ...cluster, database });
const admin = (cluster: Cluster, database = 'platform'): Parameters<typeof statement>[0] => ({
  ...cluster,
  user: cluster.admin,
  database,
});

async function run(script: string, ...args: string[]): Promise<{ stdout: string; stderr: string; signal: unknown }> {
  const file = path.join(import.meta.dirname, script);
  return promisify(execFile)(process.execPath, ['--disable-warning=ExperimentalWarning', file, ...args]).then(
    (done) => ({ ...done, signal: undefined }),
    (error: { stdout: string; stderr: string; signal: unknown }) => error,
  );
}

const connectAs = async (uid: number, cluster: { host: string }, user: string): Promise<string> =>
  (await run('connect-as.ts', String(uid), cluster.host, user, 'platform')).stdout.trim();

test('the role of the server owns its database and may do nothing else', async () => {
  await using folder = await tempFolder();
  await using cluster = await opened(folder.file('postgres'));
  await statement(admin(cluster, 'postgres'), 'create database other');
  const refused: [statement: string, why: RegExp][] = [
    ["select pg_read_file('postgresql.conf')", /permission denied/],
    ["select pg_read_binary_file('/etc/passwd')", /permission denied/],
    ["select pg_ls_dir('.')", /permission denied/],
    ["select lo_import('/etc/passwd')", /permission denied/],
    ["create table t (x text); copy t from '/etc/passwd'", /permission denied/],
    ["copy (select 1) to '/tmp/platform-copied'", /permission denied/],
    ["copy (select 1) to program 'id'", /permission denied/],
    ["create table t (x text); copy t from program 'id'", /permission denied/],
    ['create role intruder', /permission denied/],
    [`alter role ${cluster.user} superuser`, /permission denied/],
    [`set role ${cluster.admin}`, /permission denied/],
    [`set session authorization ${cluster.admin}`, /permission denied/],
    [`grant ${cluster.admin} to ${cluster.user}`, /permission denied/],
    [`grant pg_read_server_files to ${cluster.user}`, /permission denied/],
    ['create database intruder', /permission denied/],
    ["alter system set shared_preload_libraries = 'x'", /permission denied/],
    ['create extension file_fdw', /permission denied/],
    ['create extension plpython3u', /permission denied|could not open/],
    ["create function f() returns int language c as 'libc', 'abort'", /permission denied/],
    ['select pg_reload_conf()', /permission denied/],
    ['select * from pg_authid', /permission denied/],
    ['select * from pg_hba_file_rules', /permission denied/],
  ];
  for (const [text, why] of refused) await assert.rejects(statement(app(cluster), text), why, text);
  for (const database of ['postgres', 'template1', 'other']) {
    const why = database === 'other' ? undefined : /permission denied for database/;
    if (why) await assert.rejects(statement(app(cluster, database), 'select 1'), why, database);
  }
  assert.deepEqual(
    await statement(
      app(cluster),
      'create table mine (n int); insert into mine values (7); create index on mine (n); select n from mine',
    ),
    [{ n: 7 }],
  );
});

test('only the user of the server may connect, over a folder and a socket that no other user may enter', async () => {
  await using folder = await tempFolder();
  await using cluster = await opened(folder.file('postgres'));
  const rules = readFileSync(path.join(folder.file('postgres'), '18', 'pg_hba.conf'), 'utf8');
  assert.deepEqual(
    rules.split('\n').filter((line) => line !== '' && !line.startsWith('#')),
    [`local all ${cluster.admin} peer map=server`, `local all ${cluster.user} peer map=server`],
  );
  const socket = path.join(cluster.host, '.s.PGSQL.5432');
  assert.equal(statSync(cluster.host).mode & 0o777, 0o700);
  assert.equal(lstatSync(socket).mode & 0o777, 0o700);
  await assert.rejects(statement({ ...app(cluster), user: 'intruder' }, 'select 1'), /no pg_hba.conf entry/);
  if (!isRoot) return;

  const account = (await databaseAccount(systemClock, testLog)) ?? assert.fail();
  assert.notEqual(account.uid, sharedAccount.uid);
  assert.equal(statSync(cluster.host).uid, account.uid);
  assert.equal(readFileSync(`/proc/${cluster.pid}/status`, 'utf8').match(/^Uid:\t(\d+)/m)?.[1], String(account.uid));
  /** daemon: an ordinary user with a name. 64001 has none. */
  const others = [sharedAccount.uid, 1, 64_001];
  for (const uid of others) {
    for (const role of [cluster.admin, cluster.user])
      assert.match(await connectAs(uid, cluster, role), /^EACCES/, `user ${uid} as ${role}`);
  }
  // The map must not contain these users, even if the folder modes let them in.
  for (const [file, mode] of [
    [folder.path, 0o711],
    [folder.file('postgres'), 0o711],
    [cluster.host, 0o711],
    [socket, 0o777],
  ] as const)
    chmodSync(file, mode);
  for (const uid of [...others, account.uid]) {
    for (const role of [cluster.admin, cluster.user])
      assert.match(
        await connectAs(uid, cluster, role),
        /^28000 [Pp]eer authentication failed/,
        `user ${uid} as ${role}`,
      );
  }
  assert.equal(await connectAs(0, cluster, cluster.user), `connected as ${cluster.user}`);
});

const rulesFiles = ['pg_hba.conf', 'pg_ident.conf'];

/** Makes the database with one row in "kept", as a server on another computer left it: with other files of access. */
async function makeForeignDatabase(home: string, owner: { uid: number; gid: number } = sharedAccount) {
  mkdirSync(path.dirname(home), { recursive: true, mode: 0o711 });
  const cluster = await start(home);
  await openOwnDatabase(cluster, 'platform', testLog);
  await statement(app(cluster), 'create table kept (n int); insert into kept values (7)');
  await cluster.stop();
  const folder = path.join(home, '18');
  for (const name of rulesFiles) writeFileSync(path.join(folder, name), 'local all all trust\n');
  if (!isRoot) return;
  await promisify(execFile)('chown', ['-R', `${owner.uid}:${owner.gid}`, folder]);
  rmSync(path.join(home, 'owner'));
}

/** Checks that a folder that was taken over has the access rules of a new one. */
async function assertTakenOver(home: string): Promise<void> {
  await using cluster = await opened(home);
  assert.deepEqual(await statement(app(cluster), 'select n from kept'), [{ n: 7 }]);
  await assert.rejects(statement(app(cluster, 'postgres'), 'select 1'), /permission denied/);
  const folder = path.join(home, '18');
  for (const [name, text] of accessRules()) assert.equal(readFileSync(path.join(folder, name), 'utf8'), text);
  const owner = (await databaseAccount(systemClock, testLog))?.uid ?? process.getuid?.();
  const names = await readdir(folder, { recursive: true });
  const files = [folder, ...names.map((name) => path.join(folder, name))];
  assert.deepEqual(
    files.filter(
      (file) => lstatSync(file, { throwIfNoEntry: false })?.uid !== owner && !/pg_stat_tmp|pgsql_tmp/.test(file),
    ),
    [],
  );
  assert.deepEqual(
    names.filter((name) => name.endsWith('.new')),
    [],
  );
}

test('a database of another owner is refused as one from before the first release', async () => {
  await using folder = await tempFolder();
  await using cluster = await opened(folder.file('postgres'));
  await statement(admin(cluster, 'postgres'), 'create database other');
  await assert.rejects(openOwnDatabase(cluster, 'other', testLog), { code: 'DATA_NOT_RELEASED' });
});

test('files that say who may connect are written again when they have changed, while the database runs', async () => {
  await using folder = await tempFolder();
  const home = folder.file('postgres');
  const first = await start(home);
  await openOwnDatabase(first, 'platform', testLog);
  await statement(app(first), 'create table kept (n int); insert into kept values (7)');
  for (const name of rulesFiles) {
    writeFileSync(path.join(home, '18', name), 'local all all trust\n');
    await assertTakenOver(home);
  }
  assert.equal(await first.isAlive(), false);
  assert.doesNotMatch(readFileSync(path.join(home, 'postgres.log'), 'utf8'), /not properly shut down/);
});

test('files that another computer’s account owns are taken over, a user’s are not, and no link leads out of the folder', async () => {
  if (!isRoot) return;
  await using folder = await tempFolder();
  chmodSync(folder.path, 0o711);
  const home = folder.file('data', 'postgres');
  await makeForeignDatabase(home);
  const files = path.join(home, '18');
  const elsewhere = folder.file('elsewhere');
  mkdirSync(elsewhere);
  for (const name of ['file', 'linked']) writeFileSync(path.join(elsewhere, name), '');
  chownSync(path.join(elsewhere, 'file'), sharedAccount.uid, sharedAccount.gid);
  chownSync(path.join(elsewhere, 'linked'), 2, 2);
  const owners = (): unknown => ['file', 'linked'].map((name) => statSync(path.join(elsewhere, name)).uid);
  await promisify(execFile)('chown', ['-R', '64001:64001', files]);
  symlinkSync(elsewhere, path.join(files, 'link'));
  linkSync(path.join(elsewhere, 'linked'), path.join(files, 'hard-link'));

  await assert.rejects(start(home), /belongs to user 64001, and the server runs as user 0.*chown -R root/);
  writeFileSync(path.join(home, 'owner'), '64001');
  const cluster = await start(home);
  assert.deepEqual(owners(), [sharedAccount.uid, 2]);
  assert.equal(statSync(path.join(files, 'base')).uid, (await databaseAccount(systemClock, testLog))?.uid);
  assert.equal(Number(readFileSync(path.join(home, 'owner'), 'utf8')), statSync(files).uid);
  await cluster.stop();
});

test('a folder of an ordinary user lets in that user only', async () => {
  if (!isRoot) return; // the tests above cover this case then
  /** daemon: has a name, and no rights. */
  const user = { uid: 1, gid: 1 };
  await using folder = await tempFolder();
  chmodSync(folder.path, 0o711);
  const home = folder.file('data', 'postgres');
  await makeForeignDatabase(home, user);
  // Our start admitted the group of our account only.
  chmodSync(path.dirname(home), 0o711);
  await assert.rejects(start(home), /belongs to user 1, and the server runs as user 0/);
  await promisify(execFile)('chown', ['-R', `${user.uid}:${user.gid}`, home]);

  const done = await run('open-database.ts', '--home', home, '--uid', String(user.uid));
  assert.equal(done.stdout, 'open\n', done.stderr);
  const at = { host: path.join(home, '18') };
  assert.equal(await connectAs(user.uid, at, 'platform_app'), 'connected as platform_app');
  assert.match(await connectAs(0, at, 'platform'), /^28000 /);
  assert.match(await connectAs(sharedAccount.uid, at, 'platform_app'), /^EACCES/);
  process.kill((await readPostmaster(at.host))?.pid ?? assert.fail(), 'SIGINT');
});

test('kill −9 of server and database after each step of a take-over, and at drawn moments: the next start finishes it', async () => {
  await using folder = await tempFolder();
  chmodSync(folder.path, 0o711);
  const old = folder.file('old');
  await makeForeignDatabase(old);
  const copies = { made: 0 };
  const takeOver = async (...kill: string[]): Promise<{ lines: string[]; ms: number }> => {
    const home = folder.file(`copy${++copies.made}`, 'postgres');
    mkdirSync(path.dirname(home), { mode: 0o711 });
    await promisify(execFile)('cp', ['-a', old, home]);
    const before = systemClock.now();
    const done = await run('open-database.ts', '--home', home, ...kill);
    const ms = systemClock.now() - before;
    if (kill[0] !== '--ms') assert.equal(done.stdout, kill.length === 0 ? 'open\n' : '', done.stderr);
    await assertTakenOver(home);
    rmSync(path.dirname(home), { recursive: true });
    return { lines: done.stderr.trim().split('\n'), ms };
  };

  const { lines, ms } = await takeOver();
  assert.ok(lines.length > (isRoot ? 10 : 1), lines.join('\n'));
  const random = seededRandom(12);
  const isFolder = (line: string | undefined): boolean => line === 'gave a folder of the database to its user';
  const folders = lines.flatMap((line, at) => (isFolder(line) ? [at] : []));
  const drawn = new Set([1, 2, 3].map(() => folders[Math.floor(random() * folders.length)]));
  for (const [at, line] of lines.entries()) {
    if (isFolder(line) && !drawn.has(at)) continue;
    await takeOver('--line', String(at + 1), '--both');
    if (at > lines.indexOf('wrote who may connect to the database')) await takeOver('--line', String(at + 1));
  }
  for (let n = 0; n < 6; n++)
    await takeOver('--ms', String(Math.floor(random() * ms)), ...(n % 2 === 0 ? ['--both'] : []));
});
