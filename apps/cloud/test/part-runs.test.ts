// Runs of agents as several servers see them, and what they cost.
import assert from 'node:assert/strict';
import test from 'node:test';
import { sql } from 'kysely';
import { captureLog, FakeClock } from '@platform/kit/testing';
import type { ChangeKind } from '../src/database/changes.ts';
import { partRuns } from '../src/machines/part-runs.ts';
import { sharedIdentities } from '../src/machines/shared-identities.ts';
import { runIdBytes } from '../src/machines/store/part-runs.ts';
import { testServer, type TestServer } from './server.ts';

const [a, b] = [runId(1), runId(2)];
function runId(n: number): string {
  return Buffer.alloc(16, n).toString('base64url');
}

/** `count` servers on one database, on one clock that is ahead of the real one. */
function servers(on: TestServer, count: number) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const { log } = captureLog(clock);
  const listeners: ((kind?: ChangeKind, key?: string) => void)[] = [];
  const all = Array.from({ length: count }, () => {
    const changes = { subscribe: (listener: (typeof listeners)[number]) => (listeners.push(listener), () => {}) };
    return partRuns({ db: on.db, changes, clock, log, stop: stop.signal });
  });
  const deliver = async (): Promise<void> => {
    const { rows } = await sql<{ key: string }>`delete from change where kind = 'run' returning key`.execute(on.db);
    for (const { key } of rows) for (const listener of listeners) listener('run', key);
  };
  /** The ages in the database are of its own clock. */
  const age = (ms: number) =>
    sql`
    update part_run set first_seen = first_seen - make_interval(secs => ${ms / 1000}),
      last_sent = last_sent - make_interval(secs => ${ms / 1000}),
      returned_on = returned_on - make_interval(secs => ${ms / 1000})`.execute(on.db);
  return {
    all,
    clock,
    async pass(ms: number) {
      await age(ms);
      await clock.advance(ms);
      for (const one of all) await one.flush();
      await deliver();
      for (const one of all) await one.flush();
    },
    shared: async (partId: string) =>
      (await sharedIdentities({ db: on.db, clock }, [partId])).get(partId)?.computers?.runs.map(({ id }) => id),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.all(all.map(({ done }) => done));
    },
  };
}

const versions = async (on: TestServer): Promise<string> =>
  JSON.stringify((await sql<object>`select xmin::text, run_id from part_run order by run_id`.execute(on.db)).rows);

test('twins that talk to different servers are found, and each server knows whose status counts', async () => {
  await using on = await testServer();
  const { partId } = await on.machine('m');
  await using w = servers(on, 2);
  const [one, two] = w.all;
  const check = (server: typeof one, id: string, uptimeMs: number, address: string) =>
    server?.noteCheck({ partId, runId: id, uptimeMs, address });
  check(one, a, 0, '192.0.2.1');
  one?.noteReport({ partId, runId: a, hostname: 'twin-a', linkAddresses: ['10.0.0.5/24'] });
  await w.pass(5_000);
  assert.equal(await w.shared(partId), undefined);
  for (let at = 0; at <= 180_000; at += 20_000) {
    check(one, a, 5_000 + at, '192.0.2.1');
    check(two, b, at, '192.0.2.2');
    await w.pass(20_000);
  }
  assert.deepEqual(await w.shared(partId), [a, b]);
  const found = (await sharedIdentities({ db: on.db, clock: w.clock }, [partId])).get(partId)?.computers;
  assert.deepEqual(
    found?.runs.map(({ hostname, address }) => [hostname, address]),
    [
      ['twin-a', '192.0.2.1'],
      ['', '192.0.2.2'],
    ],
  );
  for (const server of w.all) assert.deepEqual([server.isSecond(partId, a), server.isSecond(partId, b)], [false, true]);

  // A check costs no write: while both go on, each run is stored once a minute.
  const checkOften = async (times: number): Promise<string> => {
    for (let n = 0; n < times; n++) {
      check(one, a, 205_000 + n, '192.0.2.1');
      check(two, b, 200_000 + n, '192.0.2.2');
      await one?.flush();
      await two?.flush();
    }
    return versions(on);
  };
  const before = await checkOften(2);
  assert.equal(await checkOften(200), before);

  for (let at = 0; at <= 660_000; at += 60_000) {
    check(one, a, 210_000 + at, '192.0.2.1');
    await w.pass(60_000);
  }
  assert.equal(await w.shared(partId), undefined, 'only one has talked for ten minutes');
});

test('the reports of a computer that was set back to an earlier memory count after its next start, too', async () => {
  await using on = await testServer();
  const { partId } = await on.machine('m');
  await using w = servers(on, 1);
  const [server] = w.all;
  const check = async (run: string, uptimeMs: number) => {
    server?.noteCheck({ partId, runId: run, uptimeMs, address: '192.0.2.1' });
    await w.pass(10_000);
    assert.equal(server?.isSecond(partId, run), false, run);
  };
  const first = [0, 10_000, 20_000];
  for (const uptimeMs of first) await check(a, uptimeMs);
  await check(b, 0);
  // Restored from a snapshot, it goes on with the run of the snapshot.
  for (const uptimeMs of [30_000, 40_000, 50_000]) await check(a, uptimeMs);
  for (const uptimeMs of first) await check(runId(3), uptimeMs);
  assert.equal(await w.shared(partId), undefined);
});

test('the first one is restarted: within 3 minutes each server shows the status of the other one', async () => {
  await using on = await testServer();
  for (const every of [5_000, 20_000, 55_000, 60_000]) {
    const { partId } = await on.machine(`m${every}`);
    await using w = servers(on, 2);
    const [one, two] = w.all;
    const restarted = runId(3);
    const restartedOn = 12 * 60_000;
    const seen: { at: number; isSecond: boolean | undefined }[] = [];
    for (let at = 0; at <= restartedOn + 300_000; at += every) {
      const run = at < restartedOn ? { runId: a, uptimeMs: at } : { runId: restarted, uptimeMs: at - restartedOn };
      one?.noteCheck({ partId, ...run, address: '192.0.2.1' });
      await w.pass(1_000);
      if (at > 0) two?.noteCheck({ partId, runId: b, uptimeMs: at, address: '192.0.2.2' });
      seen.push({ at, isSecond: two?.isSecond(partId, b) });
      await w.pass(every - 1_000);
    }
    const isSecondIn = (from: number, to: number): unknown[] => [
      ...new Set(seen.filter(({ at }) => at >= from && at < to).map(({ isSecond }) => isSecond)),
    ];
    assert.deepEqual(isSecondIn(240_000, restartedOn), [true], `every ${every}: while both check in`);
    assert.deepEqual(isSecondIn(restartedOn + 180_000, Infinity), [false], `every ${every}`);
    for (const server of w.all) assert.equal(server.isSecond(partId, restarted), true);
    assert.deepEqual(await w.shared(partId), [b, restarted]);
  }
});

test('the next check after the sharing has ended asks for the report', async () => {
  await using on = await testServer();
  for (const every of [5_000, 20_000, 45_000, 55_000, 60_000]) {
    const { partId } = await on.machine(`m${every}`);
    await using w = servers(on, 1);
    const [server] = w.all;
    const asked: string[] = [];
    await sql`update part set report_run = ${runIdBytes(a)} where id = ${partId}`.execute(on.db);
    for (let at = 0; at <= 1_500_000; at += every) {
      if (at <= 600_000) server?.noteCheck({ partId, runId: a, uptimeMs: at, address: '192.0.2.1' });
      if (at === 0) server?.noteReport({ partId, runId: a, hostname: 'a', linkAddresses: [] });
      await w.pass(1_000);
      if (at > 0) {
        server?.noteCheck({ partId, runId: b, uptimeMs: at, address: '192.0.2.2' });
        asked.push(`${server?.isSecond(partId, b) ? 'second' : 'first'} ${server?.wantsReport(partId, b)}`);
      }
      await w.pass(every - 1_000);
    }
    const shared = asked.lastIndexOf('second false');
    assert.ok(shared > 0, `every ${every}`);
    assert.equal(asked[shared + 1], 'first true', `every ${every}: ${asked.slice(shared - 2, shared + 4).join()}`);
  }
});

test('agents of two products on one part are found, also by different servers; ours counts', async () => {
  await using on = await testServer();
  const { partId } = await on.machine('m');
  await using w = servers(on, 2);
  const [one, two] = w.all;
  const checkOther = (uptimeMs: number) =>
    two?.noteCheck({ partId, runId: undefined, isOther: true, uptimeMs, address: '192.0.2.2' });
  for (let at = 0; at <= 180_000; at += 20_000) {
    checkOther(7_000 + at);
    if (at >= 40_000) one?.noteCheck({ partId, runId: a, uptimeMs: at - 40_000, address: '192.0.2.1' });
    await w.pass(20_000);
  }
  const found = (await sharedIdentities({ db: on.db, clock: w.clock }, [partId])).get(partId);
  assert.equal(found?.computers, undefined, 'it is one computer');
  assert.deepEqual([found?.bothAgents?.ours.id, found?.bothAgents?.other.address], [a, '192.0.2.2']);
  for (const server of w.all)
    assert.deepEqual([server.isOtherSecond(partId), server.isSecond(partId, a)], [true, false]);
  for (let at = 0; at <= 660_000; at += 60_000) {
    one?.noteCheck({ partId, runId: a, uptimeMs: 160_000 + at, address: '192.0.2.1' });
    await w.pass(60_000);
  }
  assert.deepEqual((await sharedIdentities({ db: on.db, clock: w.clock }, [partId])).get(partId), undefined);
});

test('an agent costs one write per start, and a restarted server none', async () => {
  await using on = await testServer();
  const { partId } = await on.machine('m');
  await using w = servers(on, 2);
  const [first, restarted] = w.all;
  first?.noteCheck({ partId, runId: a, uptimeMs: 0, address: '192.0.2.1' });
  await first?.flush();
  const before = await versions(on);
  assert.notEqual(before, '[]');
  for (let n = 1; n < 50; n++) {
    for (const server of [first, restarted]) {
      server?.noteCheck({ partId, runId: a, uptimeMs: n * 1_000, address: '192.0.2.1' });
      await server?.flush();
    }
    await w.clock.advance(1_000);
  }
  assert.equal(await versions(on), before);
  for (let n = 3; n < 20; n++) {
    first?.noteCheck({ partId, runId: runId(n), uptimeMs: 0, address: '192.0.2.1' });
    await w.pass(10_000);
  }
  assert.equal(await w.shared(partId), undefined, 'starts that follow one another');
  const { rows } = await sql<{ runId: Buffer }>`select run_id from part_run`.execute(on.db);
  assert.ok(rows.length <= 6 && rows.some(({ runId: id }) => id.equals(runIdBytes(runId(19)))), `${rows.length} rows`);
});

test('an agent without a run is left alone', async () => {
  await using on = await testServer();
  const { partId } = await on.machine('m');
  await using w = servers(on, 1);
  w.all[0]?.noteCheck({ partId, runId: undefined, uptimeMs: 5, address: '192.0.2.1' });
  await w.pass(5_000);
  assert.equal(await versions(on), '[]');
});

test('the computer that stays sends its report again if the stored one is of the other, also after a split', async () => {
  await using on = await testServer();
  const { partId } = await on.machine('m');
  await using w = servers(on, 1);
  const [server] = w.all;
  const check = (uptimeMs: number) => server?.noteCheck({ partId, runId: a, uptimeMs, address: '192.0.2.1' });
  check(0);
  await sql`update part set report_run = ${runIdBytes(b)} where id = ${partId}`.execute(on.db);
  await w.pass(5_000);
  assert.equal(server?.wantsReport(partId, a), false, 'a new agent sends it by itself');
  const asked: (boolean | undefined)[] = [];
  for (let at = 60_000; at <= 300_000; at += 60_000) {
    await w.pass(60_000);
    check(at);
    asked.push(server?.wantsReport(partId, a));
  }
  assert.ok(asked.includes(true));
  await sql`update part set report_run = ${runIdBytes(a)} where id = ${partId}`.execute(on.db);
  for (let n = 0; n < 4; n++) {
    await w.pass(60_000);
    asked.push(server?.wantsReport(partId, a));
  }
  assert.equal(asked.at(-1), false, 'another server has stored it');
});
