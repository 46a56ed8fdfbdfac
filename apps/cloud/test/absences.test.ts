// When machines were away, as the server itself noticed, over its own outages.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Absence, EventKind, TimelineService } from '@platform/contract/gen/platform/timeline/v1/timeline_pb';
import { sql } from 'kysely';
import { trimMachineConditions } from '../src/conditions/store/condition-records.ts';
import { watchEveryMs } from '../src/conditions/watch.ts';
import { readWatched, removeWatched, saveWatched } from '../src/machines/store/absences.ts';
import { testDatabase } from './database.ts';
import { testServer } from './server.ts';
import { watched } from './watched-server.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

test('an absence is a fact with both its ends; while the server measured nothing, nothing is known', async () => {
  await using of = await watched();
  const { on, time, conditions, organizationId, next, reports } = of;
  const barn = await on.machine('barn');
  const timeline = await on.client(TimelineService);
  const absences = async () => {
    const { events } = await timeline.listMachineEvents({ partId: barn.partId, kinds: [EventKind.ABSENCE] });
    return events.map(({ absence, time: from, until }) => ({
      absence,
      from: timestampMs(from!),
      minutes: until && Math.round((timestampMs(until) - timestampMs(from!)) / minute),
    }));
  };
  const offline = { code: 'MACHINE_OFFLINE', severity: Severity.ERROR, message: 'I am away.', remedy: '' };
  await reports(barn, { conditions: [offline] });
  await reports(barn, { conditions: [] });
  assert.deepEqual(await absences(), [], 'no machine says itself that it is away');

  await reports(barn, undefined);
  time.advance(4 * minute);
  await reports(barn, { conditions: [] });
  assert.deepEqual(await absences(), [], 'it may have been restarting');

  const lost = time.clock.wall();
  await reports(barn, undefined);
  for (let steps = 0; steps < 10; steps += 1) {
    time.advance(2.9 * minute);
    await next();
  }
  assert.deepEqual(
    (await absences()).map(({ absence, minutes }) => [absence, minutes]),
    [[Absence.OFFLINE, undefined]],
  );
  await reports(barn, { conditions: [] });
  const back = time.clock.wall();
  const [away, ...more] = await absences();
  assert.deepEqual([away?.absence, more], [Absence.OFFLINE, []]);
  assert.ok(Math.abs((away?.from ?? 0) - lost) < minute);
  assert.ok(Math.abs((away?.minutes ?? 0) - (back - lost) / minute) <= 1);

  await sql`alter table runner rename to elsewhere`.execute(on.db);
  while (!(await conditions.listConditions({ organizationId })).measurementLate) time.advance(watchEveryMs);
  time.advance(20 * minute);
  await sql`alter table elsewhere rename to runner`.execute(on.db);
  await reports(barn, { conditions: [] });
  const found = await absences();
  assert.deepEqual(
    found.map(({ absence }) => absence),
    [Absence.NOT_KNOWN, Absence.OFFLINE],
  );
  assert.ok((found[0]?.minutes ?? 0) >= 20);
});

test('the time in which a server listens goes on over a short restart, and ends with a long one', async () => {
  await using database = await testDatabase();
  const { db } = database;
  const start = Date.parse('2026-06-15T12:00:00Z');
  const minutes = async () =>
    (await readWatched(db)).map(({ from, until }) => [(from - start) / minute, (until - start) / minute]);
  const listens = (id: string | undefined, at: number) => saveWatched(db, id, start + at * minute);
  const first = await listens(undefined, 0);
  assert.equal(await listens(first, 10), first);
  assert.equal(await listens(undefined, 15), first, 'a restart of five minutes');
  assert.deepEqual(await minutes(), [[0, 15]]);
  const second = await listens(undefined, 20.5);
  assert.deepEqual(await minutes(), [
    [20.5, 20.5],
    [0, 15],
  ]);
  // A clock that goes ahead while the server runs changes nothing of the past, and neither does one that is set back.
  assert.equal(await listens(second, 600), second);
  assert.equal(await listens(second, 30), second);
  assert.deepEqual(await minutes(), [
    [20.5, 30],
    [0, 15],
  ]);
  await listens(second, 600);
  assert.equal(await listens(undefined, 40), second, 'it was set back while the server did not run');
  assert.deepEqual(await minutes(), [
    [20.5, 40],
    [0, 15],
  ]);
  await sql`delete from watched_time where id = ${second}::uuid`.execute(db);
  assert.notEqual(await listens(second, 50), second, 'a database that was put back');
});

test('a clock that is far behind when a server starts changes nothing of the past', async () => {
  await using database = await testDatabase();
  const { db } = database;
  const start = Date.parse('2026-01-01T00:00:00Z');
  const first = await saveWatched(db, undefined, start + 300 * day);
  await saveWatched(db, first, start + 320 * day);
  const second = await saveWatched(db, undefined, start);
  assert.notEqual(second, first);
  assert.deepEqual(
    (await readWatched(db)).map(({ from, until }) => [(from - start) / day, (until - start) / day]),
    [
      [300, 320],
      [0, 0],
    ],
  );
});

test('what the wall clock skips while the server runs is not known: the host slept, or the clock was set', async () => {
  await using of = await watched();
  const { on, time, reports } = of;
  const barn = await on.machine('barn');
  const timeline = await on.client(TimelineService);
  const absences = async () => {
    const { events } = await timeline.listMachineEvents({ partId: barn.partId, kinds: [EventKind.ABSENCE] });
    return events.map(({ absence, time: from, until }) => [
      absence,
      until && Math.round((timestampMs(until) - timestampMs(from!)) / minute),
    ]);
  };
  await reports(barn, { conditions: [] });
  const before = await readWatched(on.db);
  assert.equal(before.length, 1);
  time.jump(3 * minute);
  time.advance(11_000);
  await reports(barn, { conditions: [] });
  assert.deepEqual(await absences(), []);
  time.jump(60 * minute);
  time.advance(11_000);
  await reports(barn, { conditions: [] });
  assert.deepEqual(await absences(), [[Absence.NOT_KNOWN, 60]]);
});

test('other conditions of a machine, however many ended, push no absence out of its history', async () => {
  await using on = await testServer();
  const { db, orgId } = on;
  const { machineId } = await on.machine('barn');
  const add = (code: string, count: number, ago: string) =>
    sql`insert into condition_record (id, org_id, subject, subject_id, subject_name, machine_id, code, place, severity,
        message, remedy, began_on, ended_on)
      select gen_random_uuid(), ${orgId}::uuid, 'machine', ${machineId}, 'barn', ${machineId}::uuid, ${code}, '', 1, '', '',
          ended - interval '10 minutes', ended
        from (select now() - ${ago}::interval - n * interval '1 hour' ended from generate_series(1, ${count}::int) n) of`.execute(
      db,
    );
  const count = async () => {
    const { rows } = await sql<{ code: string; count: number }>`
      select code, count(*)::int as count from condition_record where machine_id = ${machineId}::uuid
       group by code order by code`.execute(db);
    return rows.map((row) => [row.code, row.count]);
  };
  await add('MACHINE_OFFLINE', 3, '2 days');
  await add('CAMERA_FAILED', 12, '0 days');
  assert.equal(await trimMachineConditions(db, 10, 100), 2);
  assert.deepEqual(await count(), [
    ['CAMERA_FAILED', 10],
    ['MACHINE_OFFLINE', 3],
  ]);
  await add('MACHINE_OFFLINE', 9, '3 days');
  assert.equal(await trimMachineConditions(db, 10, 100), 2);
  assert.deepEqual(await count(), [
    ['CAMERA_FAILED', 10],
    ['MACHINE_OFFLINE', 10],
  ]);
  assert.equal(await trimMachineConditions(db, 10, 100), 0);
});

test('times in which the server listened go after 90 days, but the last one of before', async () => {
  await using database = await testDatabase();
  const { db } = database;
  const start = Date.parse('2026-01-01T00:00:00Z');
  for (const days of [0, 1, 2, 100]) await saveWatched(db, undefined, start + days * day);
  assert.equal(await removeWatched(db, start + 50 * day, 10), 2);
  assert.deepEqual(
    (await readWatched(db)).map(({ until }) => (until - start) / day),
    [100, 2],
  );
  assert.equal(await removeWatched(db, start + 50 * day, 10), 0);
});
