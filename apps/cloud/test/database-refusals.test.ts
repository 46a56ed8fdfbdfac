// A database of the operator's own that this server may not use: each refusal names the database, not the data folder.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { PlatformError } from '@platform/contract/errors/errors';
import { systemClock } from '@platform/kit/node';
import { databaseHost } from '../src/database/database-host.ts';
import { holdDatabase } from '../src/database/exclusive.ts';
import { testLog, urlOf } from './database.ts';
import { testServer } from './server.ts';

const refusalOf = async (url: string): Promise<PlatformError> => {
  try {
    await using _on = await testServer(['--database-url', url]);
  } catch (error) {
    if (error instanceof PlatformError) return error;
    throw error;
  }
  return assert.fail('it started');
};

test('a database of another server, of another installation or of a newer version is refused by its own name', async (t) => {
  await using on = await testServer();
  const url = urlOf(on.connection);
  const host = databaseHost(url);

  await t.test('another server uses it', async () => {
    const { code, data, remedy } = await refusalOf(url);
    assert.deepEqual([code, data], ['DATABASE_IN_USE', { host }]);
    assert.match(remedy, /--database-url/);
  });
  const { firstRun } = on.server;
  await on.server.close();
  await t.test('it belongs to another installation', async () => {
    const { code, data, remedy } = await refusalOf(url);
    assert.equal(code, 'DATABASE_OF_OTHER_INSTALLATION');
    const { rows } = await sql<{ id: string }>`select id from installation`.execute(on.db);
    assert.equal(data['found'], rows[0]?.id);
    assert.notEqual(data['own'], data['found']);
    assert.match(remedy, /--data-dir/);
    assert.doesNotMatch(remedy, /few seconds/);
  });
  await t.test('a newer version wrote it', async () => {
    await sql`insert into migration (name, sha256) values ('9999_future.sql', 'x')`.execute(on.db);
    const { code, data, remedy } = await refusalOf(url);
    assert.deepEqual([code, data['host'], data['found']], ['DATABASE_NEWER', host, '9999_future.sql']);
    assert.doesNotMatch(remedy, /--data-dir/);
  });
  await t.test('nothing was changed', async () => {
    const { rows } = await sql<{ id: string }>`select first_org_id as id from installation`.execute(on.db);
    assert.deepEqual(rows, [{ id: firstRun.orgId }]);
  });
});

test('a server that lost a database of its own to another one ends with the code of the database', async () => {
  await using on = await testServer();
  const connection = { is: 'url', url: urlOf(on.connection) } as const;
  await assert.rejects(
    holdDatabase({ connection, where: { host: 'db' }, clock: systemClock, log: testLog, onLost() {}, waitMs: 1 }),
    (error: unknown) =>
      error instanceof PlatformError && error.code === 'DATABASE_IN_USE' && error.data['host'] === 'db',
  );
});
