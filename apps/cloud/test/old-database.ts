// A data folder from before the access rules: every process of its account is superuser.
import { spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { Client } from 'pg';
import { systemClock } from '@platform/kit/node';
import { type Account, sharedAccount, runToEnd } from '../src/postgres/account.ts';
import { findBinaries } from '../src/postgres/binaries.ts';
import { readPostmaster } from '../src/postgres/postmaster.ts';
import { migrate } from '../src/database/migrate.ts';

const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
const oldAccount: Account = process.getuid?.() === 0 ? sharedAccount : undefined;

/** Creates the folder with the current schema and one row of "kept"; its database keeps running. */
export async function makeOldDatabase(home: string, account = oldAccount): Promise<{ folder: string; pid: number }> {
  mkdirSync(home, { recursive: true });
  chmodSync(home, 0o711);
  const binaries = await findBinaries(account, home);
  const folder = path.join(home, '18');
  mkdirSync(folder, { mode: 0o700 });
  if (account) chownSync(folder, account.uid, account.gid);
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const made = await runToEnd(
    binaries.initdb,
    ['-D', folder, '-U', 'platform', '--auth=trust', '--no-sync', ...locale],
    { account, cwd: home, env },
  );
  if (made.code !== 0) throw new Error(made.text);
  const pid = await startOldDatabase(home, account);
  const admin = { is: 'socket', host: folder, port: 5432, user: 'platform', database: 'postgres' } as const;
  await statement(admin, 'create database platform');
  const connection = { ...admin, database: 'platform' };
  await migrate(connection, home);
  await statement(
    connection,
    `create table kept (id bigint generated always as identity, n int); insert into kept (n) values (7);
     create type kept_kind as enum ('a'); create view kept_view as select n from kept; create sequence kept_sequence;
     create function kept_function() returns int language sql as 'select 1'`,
  );
  return { folder, pid };
}

/** Starts the database as those servers did. */
export async function startOldDatabase(home: string, account = oldAccount): Promise<number> {
  const folder = path.join(home, '18');
  const binaries = await findBinaries(account, home);
  const settings = [
    'listen_addresses=',
    `unix_socket_directories=${folder}`,
    'unix_socket_permissions=0700',
    'fsync=off',
  ];
  const child = spawn(binaries.postgres, ['-D', folder, ...settings.flatMap((one) => ['-c', one])], {
    ...account,
    cwd: home,
    detached: true,
    stdio: 'ignore',
    env,
  });
  child.unref();
  for (;;) {
    const found = await readPostmaster(folder);
    if (found?.isReady && found.pid === child.pid) return found.pid;
    if (child.exitCode !== null) throw new Error('the old database ended');
    await systemClock.sleep(10);
  }
}

type Connected = { host: string; port: number; user: string; database: string };

/** Returns the rows of the last statement. */
export async function statement(at: Connected, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ host: at.host, port: at.port, user: at.user, database: at.database });
  await client.connect();
  try {
    const result = await client.query<Record<string, unknown>>(text);
    return [result].flat().at(-1)?.rows ?? [];
  } finally {
    await client.end();
  }
}
