import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { sql } from 'kysely';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { migrate } from '../src/database/migrate.ts';
import { testDatabase } from './database.ts';

test('migrations run once, in order, and a newer or changed schema is refused', async () => {
  await using database = await testDatabase();
  await using folder = await tempFolder();
  const files = path.join(folder.path, 'migrations');
  await mkdir(files);
  await database.db.executeQuery(sql`delete from migration`.compile(database.db));
  const write = (name: string, text: string) => writeFile(path.join(files, name), text);
  const run = () => migrate(database.connection, '/data', { folder: files });

  await write('0001_a.sql', 'create table a (x int)');
  await write('0002_b.sql', 'alter table a add y int; insert into a values (1, 2);');
  assert.deepEqual(await run(), ['0001_a.sql', '0002_b.sql']);
  assert.deepEqual(await run(), []);

  await write('0003_broken.sql', 'insert into a values (3, 4); select broken');
  await assert.rejects(run(), /broken/);
  assert.deepEqual((await sql`select x, y from a`.execute(database.db)).rows, [{ x: 1, y: 2 }]);

  await write('0003_broken.sql', 'insert into a values (3, 4)');
  assert.deepEqual(await run(), ['0003_broken.sql']);
  await write('0003_broken.sql', 'insert into a values (5, 6)');
  await assert.rejects(run(), { code: 'DATA_DIR_NEWER' });
  await write('0003_broken.sql', 'insert into a values (3, 4)');
  await sql`insert into migration (name, sha256) values ('0009_future.sql', 'x')`.execute(database.db);
  await assert.rejects(run(), {
    code: 'DATA_DIR_NEWER',
    data: { path: '/data', found: '0009_future.sql', known: '0003_broken.sql' },
  });
});

test('a schema from before the first release is refused', async () => {
  await using database = await testDatabase();
  await sql`update migration set name = '0001_foundation.sql' where name = '0001_baseline.sql'`.execute(database.db);
  await sql`insert into migration (name, sha256) values ('0058_conditions.sql', 'x')`.execute(database.db);
  for (const [where, what] of [
    ['/data', 'the data folder /data'],
    [{ host: 'db.example' }, 'the database at db.example'],
  ] as const)
    await assert.rejects(migrate(database.connection, where), {
      code: 'DATA_NOT_RELEASED',
      data: { what, found: '0058_conditions.sql' },
    });
});

test('a start that another session holds up ends in time, and names what it waited for', async () => {
  await using database = await testDatabase();
  await using folder = await tempFolder();
  await database.db.executeQuery(sql`delete from migration`.compile(database.db));
  await writeFile(folder.file('0001_a.sql'), 'create table a (x int)');
  const run = () => migrate(database.connection, '/data', { folder: folder.path, lockMs: 100 });
  await run();
  await writeFile(folder.file('0002_b.sql'), 'alter table a add y int');
  for (const [hold, why] of [
    [sql`lock table a`, /waited for 0002_b\.sql \(at most 0\.1 s.*lock timeout/],
    [sql`select pg_advisory_xact_lock(7236501)`, /waited for another migration to end/],
  ] as const)
    await database.db.transaction().execute(async (other) => {
      await hold.execute(other);
      await assert.rejects(run(), { code: 'DATABASE_UNAVAILABLE', message: why });
    });
  assert.deepEqual(await run(), ['0002_b.sql']);
});

test('a start whose database was lost to a server that hangs does not wait for it', async () => {
  await using database = await testDatabase();
  const lost: (() => void)[] = [];
  await database.db.transaction().execute(async (other) => {
    await sql`select pg_advisory_xact_lock(7236501)`.execute(other);
    const waiting = migrate(database.connection, '/data', { right: { onLost: (then) => lost.push(then) } });
    const isWaiting = sql`select 1 from pg_locks where locktype = 'advisory' and not granted`;
    while ((await isWaiting.execute(database.db)).rows.length === 0) await systemClock.sleep(10);
    for (const then of lost) then();
    await assert.rejects(waiting, { code: 'DATABASE_UNAVAILABLE' });
  });
});
