import assert from 'node:assert/strict';
import test from 'node:test';
import { sql } from 'kysely';
import { captureLog, FakeClock } from '@platform/kit/testing';
import { presence } from '../src/machines/presence.ts';
import { testServer, type TestServer } from './server.ts';

async function world(on: TestServer) {
  const { partId } = await on.machine('m');
  const clock = new FakeClock();
  const stop = new AbortController();
  const { log } = captureLog(clock);
  const present = presence({ db: on.db, clock, log, stop: stop.signal, isWaiting: () => false });
  const stored = async (): Promise<number | null> =>
    (await on.db.selectFrom('part').select('lastSeen').where('id', '=', partId).executeTakeFirstOrThrow()).lastSeen;
  return {
    ...present,
    partId,
    clock,
    stored,
    online: async () => present.online(partId, await stored()),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await present.done;
    },
  };
}

test('a clock that was ahead for a while leaves no machine online for as long', async () => {
  await using on = await testServer();
  await using w = await world(on);
  const hour = 3_600_000;
  w.clock.jumpWall(hour);
  w.touch(w.partId);
  await w.flush();
  assert.equal(await w.online(), 'online');
  w.clock.jumpWall(-hour);
  assert.equal(await w.online(), 'online', 'it was seen a moment ago, whatever the clock says');
  await w.clock.advance(60_000);
  assert.equal(await w.online(), 'offline');
  await w.flush();
  w.touch(w.partId);
  await w.flush();
  assert.deepEqual([await w.stored(), await w.online()], [w.clock.wall(), 'online']);
  for (const jump of [-hour, 2 * hour, -hour]) {
    w.clock.jumpWall(jump);
    assert.equal(await w.online(), 'online');
    assert.equal(w.lastSeen(w.partId, null), w.clock.wall());
  }
  await w.clock.advance(60_000);
  assert.equal(await w.online(), 'offline');
});

test('after a start of the server, a last contact in the future says nothing of now', async () => {
  await using on = await testServer();
  await using w = await world(on);
  assert.equal(await w.online(), 'awaiting setup');
  w.clock.jumpWall(3_600_000);
  w.touch(w.partId);
  await w.flush();
  w.clock.jumpWall(-3_600_000);
  await w.clock.advance(11 * 60_000); // it is no longer kept in memory
  await w.flush();
  assert.equal(await w.online(), 'offline');
});

test('what could not be stored is stored when the database is back, unless there is newer', async () => {
  await using on = await testServer();
  await using w = await world(on);
  const first = w.clock.wall();
  w.touch(w.partId);
  await sql`alter table part rename to away`.execute(on.db);
  await w.flush();
  await sql`alter table away rename to part`.execute(on.db);
  assert.equal(await w.stored(), null);
  w.clock.jumpWall(1_000);
  await w.flush();
  assert.equal(await w.stored(), first);

  w.touch(w.partId);
  await sql`alter table part rename to away`.execute(on.db);
  const failing = w.flush();
  w.clock.jumpWall(1_000);
  w.touch(w.partId);
  await failing;
  await sql`alter table away rename to part`.execute(on.db);
  await w.flush();
  assert.equal(await w.stored(), w.clock.wall());
});
