import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
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
import { processState, readPostmaster } from '../src/postgres/postmaster.ts';
import { openOwnDatabase } from '../src/postgres/roles.ts';
import { testLog } from './database.ts';
import { makeOldDatabase, startOldDatabase, statement } from './old-database.ts';

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

/** Checks that a migrated folder has the same access rules as a new one. */
async function assertChangedOver(home: string): Promise<void> {
  await using cluster = await opened(home);
  const one = (at: Parameters<typeof statement>[0], text: string): Promise<unknown> =>
    statement(at, text).then((rows) => Object.values(rows[0] ?? {})[0]);
  assert.equal(await one(app(cluster), 'select n from kept_view'), 7);
  assert.ok(Number(await one(app(cluster), 'insert into kept (n) values (8) returning id')) > 1);
  assert.equal(await one(app(cluster), 'alter table part add column if not exists later int; select 1'), 1);
  await statement(app(cluster), "delete from kept where n = 8; alter type kept_kind add value if not exists 'b'");
  await statement(app(cluster), 'create or replace function kept_function() returns int language sql as $$select 2$$');
  await statement(app(cluster), "select nextval('kept_sequence')");
  const roles = await statement(admin(cluster), 'select rolname, rolsuper from pg_roles where rolcanlogin order by 1');
  assert.deepEqual(roles, [
    { rolname: 'platform', rolsuper: true },
    { rolname: 'platform_app', rolsuper: false },
  ]);
  const foreignTables = `select count(*)::int from pg_class
    where relnamespace = 'public'::regnamespace and relowner <> 'platform_app'::regrole`;
  assert.equal(await one(admin(cluster), foreignTables), 0);
  await assert.rejects(statement(app(cluster, 'postgres'), 'select 1'), /permission denied/);
  const folder = path.join(home, '18');
  for (const [name, text] of accessRules()) assert.equal(readFileSync(path.join(folder, name), 'utf8'), text);
  const owner = (await databaseAccount(systemClock, testLog))?.uid ?? process.getuid?.();
  const files = [folder, ...(await readdir(folder, { recursive: true })).map((name) => path.join(folder, name))];
  assert.deepEqual(
    files.filter(
      (file) => lstatSync(file, { throwIfNoEntry: false })?.uid !== owner && !/pg_stat_tmp|pgsql_tmp/.test(file),
    ),
    [],
  );
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.endsWith('.new')),
    [],
  );
}

test('a data folder of before is changed over while its database runs, and again when it was started as before', async () => {
  await using folder = await tempFolder();
  chmodSync(folder.path, 0o711);
  const home = folder.file('postgres');
  const { pid } = await makeOldDatabase(home);
  await assertChangedOver(home);
  assert.equal(await processState(pid, path.join(home, '18')), 'gone');
  assert.doesNotMatch(readFileSync(path.join(home, 'postgres.log'), 'utf8'), /not properly shut down/);
  for (const name of ['pg_hba.conf', 'pg_ident.conf']) {
    writeFileSync(path.join(home, '18', name), 'local all all trust\n');
    await assertChangedOver(home);
  }
});

test('files that another computer’s account owns are taken over, a user’s are not, and no link leads out of the folder', async () => {
  if (!isRoot) return;
  await using folder = await tempFolder();
  chmodSync(folder.path, 0o711);
  const home = folder.file('data', 'postgres');
  mkdirSync(path.dirname(home), { mode: 0o711 });
  process.kill((await makeOldDatabase(home)).pid, 'SIGQUIT');
  const files = path.join(home, '18');
  const elsewhere = folder.file('elsewhere');
  mkdirSync(elsewhere);
  for (const name of ['file', 'linked']) writeFileSync(path.join(elsewhere, name), '');
  chownSync(path.join(elsewhere, 'file'), sharedAccount.uid, sharedAccount.gid);
  chownSync(path.join(elsewhere, 'linked'), 2, 2);
  const owners = (): unknown => ['file', 'linked'].map((name) => statSync(path.join(elsewhere, name)).uid);
  while (existsSync(path.join(files, 'postmaster.pid'))) await systemClock.sleep(10);
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

test('a folder of an ordinary user is changed over, too, and lets in that user only', async () => {
  if (!isRoot) return; // the tests above cover this case then
  /** daemon: has a name, and no rights. */
  const user = { uid: 1, gid: 1 };
  await using folder = await tempFolder();
  chmodSync(folder.path, 0o711);
  const home = folder.file('data', 'postgres');
  mkdirSync(path.dirname(home), { mode: 0o711 });
  process.kill((await makeOldDatabase(home, user)).pid, 'SIGQUIT');
  while (existsSync(path.join(home, '18', 'postmaster.pid'))) await systemClock.sleep(10);
  await assert.rejects(start(home), /belongs to user 1, and the server runs as user 0/);
  chownSync(home, user.uid, user.gid);

  const done = await run('open-database.ts', '--home', home, '--uid', String(user.uid));
  assert.equal(done.stdout, 'open\n', done.stderr);
  const at = { host: path.join(home, '18') };
  assert.equal(await connectAs(user.uid, at, 'platform_app'), 'connected as platform_app');
  assert.match(await connectAs(0, at, 'platform'), /^28000 /);
  assert.match(await connectAs(sharedAccount.uid, at, 'platform_app'), /^EACCES/);
  process.kill((await readPostmaster(at.host))?.pid ?? assert.fail(), 'SIGINT');
});

test('kill −9 of server and database after each step of a change-over, and at drawn moments: the next start finishes it', async () => {
  await using folder = await tempFolder();
  chmodSync(folder.path, 0o711);
  const old = folder.file('old');
  const { pid } = await makeOldDatabase(old);
  process.kill(pid, 'SIGQUIT'); // exits at once; its output goes only to its log
  while ((await processState(pid)) !== 'gone') await systemClock.sleep(10);
  const copies = { made: 0 };
  const changeOver = async (...kill: string[]): Promise<{ lines: string[]; ms: number }> => {
    const home = folder.file(`copy${++copies.made}`, 'postgres');
    mkdirSync(path.dirname(home), { mode: 0o711 });
    await promisify(execFile)('cp', ['-a', old, home]);
    await startOldDatabase(home);
    const before = systemClock.now();
    const done = await run('open-database.ts', '--home', home, ...kill);
    const ms = systemClock.now() - before;
    if (kill[0] !== '--ms') assert.equal(done.stdout, kill.length === 0 ? 'open\n' : '', done.stderr);
    await assertChangedOver(home);
    rmSync(path.dirname(home), { recursive: true });
    return { lines: done.stderr.trim().split('\n'), ms };
  };

  const { lines, ms } = await changeOver();
  assert.ok(lines.length > 20, lines.join('\n'));
  const random = seededRandom(12);
  const isFolder = (line: string | undefined): boolean => line === 'gave a folder of the database to its user';
  const folders = lines.flatMap((line, at) => (isFolder(line) ? [at] : []));
  const drawn = new Set([1, 2, 3].map(() => folders[Math.floor(random() * folders.length)]));
  for (const [at, line] of lines.entries()) {
    if (isFolder(line) && !drawn.has(at)) continue;
    await changeOver('--line', String(at + 1), '--both');
    if (at > lines.indexOf('wrote who may connect to the database')) await changeOver('--line', String(at + 1));
  }
  for (let n = 0; n < 6; n++)
    await changeOver('--ms', String(Math.floor(random() * ms)), ...(n % 2 === 0 ? ['--both'] : []));
});
