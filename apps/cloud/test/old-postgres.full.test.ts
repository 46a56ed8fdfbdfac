// A real PostgreSQL 15, which is older than any that our statements are tested with.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmod, chown, mkdir } from 'node:fs/promises';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { cloudOptions } from '../src/options.ts';
import { databaseAccount, runToEnd } from '../src/postgres/account.ts';
import { findBinaries } from '../src/postgres/binaries.ts';
import { readPostmaster } from '../src/postgres/postmaster.ts';
import { startServer } from '../src/server.ts';
import { testLog } from './database.ts';
import { statement } from './statement.ts';

const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

test('PostgreSQL 15 is refused, and nothing in it was changed', async () => {
  const programs = process.env['PLATFORM_TEST_POSTGRES_15'];
  assert.ok(programs, 'run it by npm run test:full');
  await using folder = await tempFolder();
  const account = await databaseAccount(systemClock, testLog);
  const home = folder.file('old');
  await mkdir(home, { mode: 0o711 });
  await chmod(folder.path, 0o711);
  if (account) await chown(home, account.uid, account.gid);
  const binaries = await findBinaries(account, home, programs);
  const data = `${home}/15`;
  const made = await runToEnd(binaries.initdb, ['-D', data, '-U', 'postgres', '--auth=trust', '--no-sync'], {
    account,
    cwd: home,
    env,
  });
  assert.equal(made.code, 0, made.text);
  const settings = ['listen_addresses=', `unix_socket_directories=${data}`, 'fsync=off'];
  const child = spawn(binaries.postgres, ['-D', data, ...settings.flatMap((one) => ['-c', one])], {
    ...account,
    cwd: home,
    stdio: 'ignore',
    env,
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  try {
    while (!(await readPostmaster(data))?.isReady) {
      assert.equal(child.exitCode, null);
      await systemClock.sleep(20);
    }
    const at = { host: data, port: 5432, user: 'postgres', database: 'postgres' };
    const url = `postgresql://postgres@localhost/postgres?host=${encodeURIComponent(data)}&port=5432`;
    const options = cloudOptions(['--data-dir', folder.file('data'), '--port', '0', '--database-url', url], {});
    await assert.rejects(startServer(options, { clock: systemClock, log: testLog }), {
      code: 'DATABASE_TOO_OLD',
      message: /is PostgreSQL 15\.18.*needs 16 or newer/,
    });
    assert.deepEqual(await statement(at, `select tablename from pg_tables where schemaname = 'public'`), []);
  } finally {
    child.kill('SIGQUIT');
    await ended;
  }
});
