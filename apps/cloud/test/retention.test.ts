// Retention limits: each sweep runs on a real database, at its limit and just before it.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { sql } from 'kysely';
import { captureLog, FakeClock } from '@platform/kit/testing';
import { cloudOptions } from '../src/options.ts';
import { logWriter } from '../src/logs/log-writer.ts';
import { retentionClock } from '../src/retention/retention-clock.ts';
import { sweepsOf } from '../src/retention/start.ts';
import { runSweeps } from '../src/retention/sweeps.ts';
import { dayOf } from '../src/database/rules/days.ts';
import { insertConfig } from '../src/configs/store/configs.ts';
import { lockFragments } from '../src/configs/store/fragments.ts';
import { insertBulkOperation } from '../src/machines/store/bulk-operations.ts';
import { daysOf } from '../src/database/day-partitions.ts';
import { type NewLogRow, readLogs } from '../src/logs/store/part-logs.ts';
import { testLog } from './database.ts';
import { trainingServer, type TrainingServer } from './training-server.ts';

const day = 24 * 3_600_000;

const line = (partId: string, sequence: number, timeMs: number, message = `line ${sequence}`): NewLogRow => ({
  partId,
  bootId: 'b',
  sequence,
  timeUs: timeMs * 1000,
  level: 'info',
  host: 'h',
  loggerName: 'l',
  message,
  rest: null,
});

/** Runs the sweep of this name once. @returns the number of removed objects. */
async function sweep(server: TrainingServer, name: string, now: number, argv: readonly string[] = []): Promise<number> {
  const { db, blobs } = server;
  const clock = { ...server.clock, wall: () => now, now: () => 0, sleep: () => Promise.resolve() };
  const chosen = sweepsOf({ db, blobs, clock, log: testLog }, cloudOptions(argv, {})).find((one) => one.name === name);
  assert.ok(chosen, name);
  let removed = 0;
  for await (const count of chosen.steps(now)) removed += count;
  return removed;
}
const messages = async (server: TrainingServer): Promise<string[]> =>
  (await readLogs(server.db, { partId: server.own.partId, isAscending: true, limit: 10_000 })).map(
    ({ message }) => message,
  );

test('log lines: a day is dropped when its last line is 30 days old; a repeated line is stored once, however late', async () => {
  await using server = await trainingServer();
  const { partId } = server.own;
  const start = Date.parse('2026-06-15T12:00:00Z');
  const at = (now: number) => logWriter(server.db, { ...server.clock, wall: () => now });
  await at(start).write(partId, [line(partId, 1, start), line(partId, 2, start - 3 * day), line(partId, 3, 0)]);
  assert.deepEqual(
    await daysOf(server.db, 'part_log'),
    [dayOf(start - 3 * day), dayOf(start)],
    'a clock of 1970 counts as now',
  );
  await at(start + 2 * day).write(partId, [
    line(partId, 1, start),
    line(partId, 2, start - 3 * day),
    line(partId, 3, 0),
  ]);
  assert.deepEqual(await messages(server), ['line 1', 'line 2', 'line 3']);

  const midnight = Date.parse(dayOf(start - 3 * day));
  await sweep(server, 'days of log lines', midnight + 31 * day - 1);
  assert.deepEqual(await messages(server), ['line 1', 'line 2', 'line 3']);
  assert.equal(await sweep(server, 'days of log lines', midnight + 31 * day), 1);
  assert.deepEqual(await messages(server), ['line 1', 'line 3']);
  await at(start).write(partId, [line(partId, 4, start - 3 * day)]);
  assert.deepEqual(await messages(server), ['line 1', 'line 3', 'line 4'], 'a writer makes the day again');
});

test('log lines received while the clock is a year behind are kept when it is right again', async () => {
  await using server = await trainingServer();
  const { db } = server;
  const { partId } = server.own;
  const start = Date.parse('2026-06-15T12:00:00Z');
  const behind = start - 365 * day;
  const clockAt = (wall: number) => ({ ...server.clock, wall: () => wall });
  await retentionClock({ db, clock: clockAt(start), log: testLog }).tick();
  // The host starts with an old date, and sweeps by it, too.
  const writer = logWriter(db, clockAt(behind));
  await writer.write(partId, [line(partId, 1, start), line(partId, 2, behind), line(partId, 3, 0)]);
  await retentionClock({ db, clock: clockAt(behind), log: testLog }).tick();
  assert.deepEqual(await daysOf(db, 'part_log'), [dayOf(start)]);
  await sweep(server, 'days of log lines', start + day);
  assert.deepEqual(await messages(server), ['line 1', 'line 2', 'line 3']);
  await sweep(server, 'days of log lines', Date.parse(dayOf(start)) + 31 * day);
  assert.deepEqual(await messages(server), []);
});

test('log lines: of a machine above its limit the oldest go, in steps, and no others', async () => {
  await using server = await trainingServer();
  const { partId } = server.own;
  const now = Date.parse('2026-06-15T12:00:00Z');
  const writer = logWriter(server.db, { ...server.clock, wall: () => now });
  const text = Array.from({ length: 125 }, () => randomUUID()).join('');
  for (let from = 0; from < 600; from += 100)
    await writer.write(
      partId,
      Array.from({ length: 100 }, (_, n) =>
        line(partId, from + n + 1, now - (from < 300 ? day : 0), `${from + n} ${text}`),
      ),
    );
  await writer.write(server.foreign.partId, [line(server.foreign.partId, 1, now)]);
  const name = 'log lines above the limit of a machine';
  assert.equal(await sweep(server, name, now), 0);
  const removed = await sweep(server, name, now, ['--log-mib-per-machine', '1']);
  const left = (await messages(server)).map((message) => Number(message.split(' ')[0]));
  assert.ok(removed > 0 && left.length > 0 && removed + left.length === 600, `${removed} ${left.length}`);
  assert.deepEqual(
    left,
    Array.from({ length: left.length }, (_, n) => n + removed),
    'the newest stay',
  );
  assert.equal(await sweep(server, name, now, ['--log-mib-per-machine', '1']), 0, 'counted right afterwards');
  const { rows } = await sql<{
    n: number;
  }>`select count(*)::int as n from part_log where part_id = ${server.foreign.partId}`.execute(server.db);
  assert.equal(rows[0]?.n, 1);
});

test('audit rows, job rows and revisions: what is old goes, in steps; what is in use stays', async () => {
  await using server = await trainingServer();
  const { db, own } = server;
  const now = Date.parse('2026-06-15T12:00:00Z');
  const ago = (ms: number) => sql<number>`to_timestamp(${(now - ms) / 1000}::double precision)`;
  const audit = (ms: number, action: string) => ({
    orgId: own.orgId,
    actor: 'a',
    action,
    subject: 's',
    details: null,
    at: ago(ms),
  });
  await db
    .insertInto('audit')
    .values([audit(365 * day + 1000, 'old'), audit(365 * day - 1000, 'young')])
    .execute();
  await sql`insert into audit (org_id, actor, action, subject, at)
    select ${own.orgId}, 'a', 'old', 's', ${ago(400 * day)} from generate_series(1, 2500)`.execute(db);
  assert.equal(await sweep(server, 'audit rows', now), 2_501);
  const rows = await db.selectFrom('audit').select('action').execute();
  assert.deepEqual(
    rows.map(({ action }) => action),
    ['young'],
  );

  for (let n = 1; n <= 40; n++) {
    const config = { n };
    const saved = { orgId: own.orgId, partId: own.partId, text: JSON.stringify(config), config, savedBy: 'x' };
    await db.transaction().execute((trx) => insertConfig(trx, saved, {}));
  }
  // Five a day.
  await sql`update config_revision set saved_on = ${ago(0)} - make_interval(days => ((40 - revision) / 5)::int)`.execute(
    db,
  );
  const kept = async () =>
    (await db.selectFrom('configRevision').select('revision').orderBy('revision').execute()).map(
      ({ revision }) => revision,
    );
  assert.equal(await sweep(server, 'configuration revisions', now), 0);
  assert.equal(await sweep(server, 'configuration revisions', now, ['--config-revisions', '10']), 24);
  assert.deepEqual(await kept(), [5, 10, 15, 20, 25, 30, ...Array.from({ length: 10 }, (_, n) => n + 31)]);
});

test('revisions of fragments: the newest, the last of each day, and those that a configuration pins stay', async () => {
  await using server = await trainingServer();
  const { db, own } = server;
  const id = randomUUID();
  const now = Date.parse('2026-06-15T12:00:00Z');
  await sql`insert into fragment (id, org_id, name, revision) values (${id}, ${own.orgId}, 'base', 40)`.execute(db);
  // Five a day.
  await sql`insert into fragment_revision (fragment_id, revision, org_id, text, config, sha256, saved_by, comment, saved_on)
    select ${id}, n, ${own.orgId}, '{}', '{}', '\\x00', 'x', '',
           to_timestamp(${now / 1000}::double precision) - make_interval(days => ((40 - n) / 5)::int)
      from generate_series(1, 40) n`.execute(db);
  await sql`insert into fragment_use (part_id, place, fragment_id, org_id, pinned)
    values (${own.partId}, 0, ${id}, ${own.orgId}, 7)`.execute(db);
  assert.equal(await sweep(server, 'revisions of fragments', now), 0);
  assert.equal(await sweep(server, 'revisions of fragments', now, ['--config-revisions', '10']), 23);
  const rows = await db.selectFrom('fragmentRevision').select('revision').orderBy('revision').execute();
  assert.deepEqual(
    rows.map(({ revision }) => revision),
    [5, 7, 10, 15, 20, 25, 30, ...Array.from({ length: 10 }, (_, n) => n + 31)],
  );
});

test('a revision of a fragment that a configuration pins while it is saved stays', async () => {
  await using server = await trainingServer();
  const { db, own } = server;
  const id = randomUUID();
  await sql`insert into fragment (id, org_id, name, revision) values (${id}, ${own.orgId}, 'base', 20)`.execute(db);
  await sql`insert into fragment_revision (fragment_id, revision, org_id, text, config, sha256, saved_by, comment, saved_on)
    select ${id}, n, ${own.orgId}, '{}', '{}', '\\x00', 'x', '', '2026-06-15T12:00:00Z' from generate_series(1, 20) n`.execute(
    db,
  );
  const isWaiting = async (): Promise<boolean> => {
    const { rows } = await sql`select from pg_locks where not granted`.execute(db);
    return rows.length > 0;
  };
  const state: { removed: Promise<number>; isDone: boolean } = { removed: Promise.resolve(0), isDone: false };
  await db.transaction().execute(async (trx) => {
    await lockFragments(trx, [id]);
    await sql`insert into fragment_use (part_id, place, fragment_id, org_id, pinned)
      values (${own.partId}, 0, ${id}, ${own.orgId}, 7)`.execute(trx);
    state.removed = sweep(server, 'revisions of fragments', Date.now(), ['--config-revisions', '10']);
    void state.removed.then(() => (state.isDone = true));
    while (!state.isDone && !(await isWaiting()));
  });
  assert.equal(await state.removed, 9);
  const { rows } = await sql`select from fragment_revision where fragment_id = ${id} and revision = 7`.execute(db);
  assert.equal(rows.length, 1);
});

test('ended conditions: each machine keeps its newest, however often another changes; open ones stay', async () => {
  await using server = await trainingServer();
  const { db, own } = server;
  const now = Date.parse('2026-06-15T12:00:00Z');
  const other = randomUUID();
  await sql`insert into machine (id, org_id, location_id, name)
    select ${other}, org_id, location_id, 'other' from machine where id = ${own.machineId}`.execute(db);
  const add = (machineId: string, ended: number, open: number) =>
    sql`insert into condition_record (id, org_id, subject, subject_id, subject_name, machine_id, code, place, severity,
        message, remedy, began_on, ended_on)
      select gen_random_uuid(), ${own.orgId}, 'machine', ${machineId}::text, 'm', ${machineId}::uuid, 'DISK_FULL', n::text, 3,
             '', '', to_timestamp(${now / 1000}::double precision) - make_interval(secs => n),
             case when n > ${open} then to_timestamp(${now / 1000}::double precision) - make_interval(secs => n) end
        from generate_series(1, ${ended + open}::int) n`.execute(db);
  await add(own.machineId, 2_500, 3);
  await add(other, 10, 0);
  assert.equal(await sweep(server, 'ended conditions above the limit of a machine', now), 1_500);
  const rows = await sql<{ machineId: string; ended: number; open: number; last: number }>`
    select machine_id, count(ended_on)::int as ended, (count(*) - count(ended_on))::int as open, max(place::int) as last
      from condition_record group by machine_id`.execute(db);
  assert.deepEqual(
    rows.rows.map(({ ended, open, last }) => [ended, open, last]).toSorted(([a = 0], [b = 0]) => a - b),
    [
      [10, 0, 10],
      [1_000, 3, 1_003],
    ],
  );
  assert.equal(await sweep(server, 'ended conditions above the limit of an organization', now), 0);
});

test('changes of many machines: old ones go with the results of their machines; the newest stays for its number', async () => {
  await using server = await trainingServer();
  const { db, own } = server;
  const now = Date.parse('2026-06-15T12:00:00Z');
  const days = [400, 366, 364, 300];
  const operation = { orgId: own.orgId, query: '', change: '{"restart":{}}', startedBy: 'x', starterId: 'x' };
  const machine = { machineId: randomUUID(), name: 'm', state: 'done' as const, code: '', reason: '' };
  const machines = Array.from({ length: 700 }, () => machine);
  const add = () => db.transaction().execute((trx) => insertBulkOperation(trx, operation, machines));
  const startedAgo = (id: string, ago: number) =>
    sql`update bulk_operation set started_on = to_timestamp(${(now - ago * day) / 1000}::double precision)
      where id = ${id}::uuid`.execute(db);
  for (const ago of days) await startedAgo(await add(), ago);
  const kept = async () =>
    (await db.selectFrom('bulkOperation').select('number').orderBy('number').execute()).map(({ number }) => number);
  assert.equal(await sweep(server, 'changes of many machines', now), 1_402);
  assert.deepEqual(await kept(), [3, 4]);
  assert.equal(await sweep(server, 'changes of many machines', now, ['--audit-days', '1']), 701);
  assert.deepEqual(await kept(), [4]);
  await add();
  assert.deepEqual(await kept(), [4, 5]);
});

test('a server whose clock jumps a year ahead and back removes nothing; one that keeps step for a day does', async () => {
  await using server = await trainingServer();
  const { db } = server;
  const clock = new FakeClock();
  const start = clock.wall();
  await sql`insert into audit (org_id, actor, action, subject, at)
    values (${server.own.orgId}, 'a', 'x', 's', to_timestamp(${start / 1000}::double precision))`.execute(db);
  let jumpedMs = 0;
  const jumping = { now: () => clock.now(), wall: () => clock.wall() + jumpedMs, sleep: clock.sleep.bind(clock) };
  const { log, text } = captureLog(clock);
  const deps = { db, blobs: server.blobs, clock: jumping, log };
  const time = retentionClock(deps);
  const left = async () => (await db.selectFrom('audit').select('id').execute()).length;
  const auditSweep = sweepsOf(deps, cloudOptions([], {})).filter(({ name }) => name === 'audit rows');
  /** As the server runs it, but with one tick. */
  const tick = async () => {
    const now = await time.tick();
    for (const one of auditSweep) for await (const _ of one.steps(now)) void _;
  };
  await tick();
  jumpedMs = 400 * day;
  await tick();
  assert.equal(await left(), 1);
  assert.match(text(), /clock jumped ahead/);
  await clock.advance(day / 2);
  await tick();
  jumpedMs = 0;
  await tick();
  assert.equal(await left(), 1, 'set right again');
  jumpedMs = 400 * day;
  await tick();
  await clock.advance(day + 60_000);
  await tick();
  assert.equal(await left(), 0, 'the clock kept step for a day');
});

test('sweeps end with the server, in the middle of their steps', async () => {
  await using server = await trainingServer();
  const stop = new AbortController();
  let steps = 0;
  const endless = {
    name: 'endless',
    everyMs: day,
    firstMs: 0,
    async *steps() {
      for (;;) {
        if (++steps === 3) stop.abort();
        yield await Promise.resolve(1);
      }
    },
  };
  const deps = { db: server.db, clock: server.clock, log: testLog };
  await runSweeps({ sweeps: [endless], time: retentionClock(deps), clock: server.clock, log: testLog }, stop.signal);
  assert.equal(steps, 3);
});
