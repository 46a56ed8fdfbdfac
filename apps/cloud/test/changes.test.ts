import assert from 'node:assert/strict';
import test from 'node:test';
import { Client } from 'pg';
import { captureLog, FakeClock } from '@platform/kit/testing';
import { systemClock } from '@platform/kit/node';
import { type ChangeKind, followChanges, recordChange } from '../src/database/changes.ts';
import { clientConfig } from '../src/database/database.ts';
import { openNotifications } from '../src/database/notifications.ts';
import { testDatabase } from './database.ts';

/** Waits for a change made through another connection. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await systemClock.sleep(5);
}

test('changes are notified once: at once, after a broken connection, and by polling when no notification came', async () => {
  await using database = await testDatabase();
  const { db, connection } = database;
  const { log } = captureLog(systemClock);
  const notifications = await openNotifications(connection, systemClock, log);
  const clock = new FakeClock();
  const stop = new AbortController();
  const followed = followChanges({ db, notifications, clock, log, stop: stop.signal });
  const heard: string[] = [];
  followed.subscribe((kind?: ChangeKind, key?: string) =>
    heard.push(kind === undefined ? 'everything' : `${kind} ${key}`),
  );
  await until(() => heard.includes('everything'));

  await db.transaction().execute((trx) => recordChange(trx, 'config', 'a b'));
  await until(() => heard.includes('config a b'));
  await db
    .transaction()
    .execute(async (trx) => {
      await recordChange(trx, 'config', 'rolled back');
      throw new Error('no');
    })
    .catch(() => {});

  const admin = new Client(clientConfig(connection));
  await admin.connect();
  const broken = heard.length;
  await admin.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query ilike 'listen%'",
  );
  await until(() => heard.slice(broken).includes('everything'));

  await admin.query('alter table change disable trigger change_notified');
  await db.transaction().execute((trx) => recordChange(trx, 'part', 'silent'));
  await admin.query('alter table change enable trigger change_notified');
  assert.ok(!heard.includes('part silent'));
  await clock.advance(5_000);
  await until(() => heard.includes('part silent'));
  await clock.advance(5_000);
  await db.transaction().execute((trx) => recordChange(trx, 'part', 'last'));
  await until(() => heard.includes('part last'));

  assert.deepEqual(
    heard.filter((one) => one !== 'everything'),
    ['config a b', 'part silent', 'part last'],
  );
  stop.abort();
  await followed.done;
  await notifications.close();
  await admin.end();
});
