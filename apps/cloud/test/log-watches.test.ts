// Watches: what reports that lines of machines were stored, and when it ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { LogService } from '@platform/contract/gen/platform/logs/v1/logs_pb';
import { deleteKey, insertKey } from '../src/access/store/keys.ts';
import { failure } from './failure.ts';
import { testServer } from './server.ts';
import { turnedClock } from './turned-clock.ts';
import { machine, searcher } from './log-machine.ts';

test('a watch of several machines reports that lines were stored, and only those of its machines', async () => {
  await using on = await testServer();
  const [barn, gate, other] = [await machine(on, 'barn'), await machine(on, 'gate'), await machine(on, 'other')];
  const { logs } = await searcher(on);
  const follow = (partIds: string[], signal?: AbortSignal) => {
    const answers = logs.watchLogs({ partIds }, signal && { signal });
    return answers[Symbol.asyncIterator]();
  };
  assert.equal(await failure(follow([]).next()), 'InvalidArgument INVALID_ARGUMENT');
  const stop = new AbortController();
  const watch = follow([barn.partId, gate.partId], stop.signal);
  await watch.next();
  for (const one of [gate, barn]) {
    const seen = { lines: 0 };
    const reported = watch.next().then(() => seen.lines);
    await other.send([{ message: 'of a machine that is not watched' }]);
    await logs.searchLogs({ partIds: [other.partId] });
    seen.lines = 1;
    await one.send([{ message: 'a line' }]);
    assert.equal(await reported, 1);
  }
  stop.abort();
});

test('a tail and a watch end when the right of their caller does', async () => {
  const time = turnedClock();
  await using on = await testServer([], {}, time.clock);
  const barn = await machine(on, 'barn');
  const follow = async () => {
    const grant = {
      role: 'operator' as const,
      resource: 'organization' as const,
      resourceId: on.orgId,
      orgId: on.orgId,
    };
    const { id, key } = await insertKey(on.db, { orgId: on.orgId, name: 'reader', grants: [grant] });
    const credentials = { type: 'api-key' as const, entity: id, payload: key };
    const [logs, app] = [await on.client(LogService, credentials), await on.client(AppService, credentials)];
    const answers = [
      logs.watchLogs({ partIds: [barn.partId] })[Symbol.asyncIterator](),
      app.tailRobotPartLogs({ id: barn.partId })[Symbol.asyncIterator](),
    ];
    for (const one of answers) await one.next();
    return { id, answers };
  };
  const [grants, keys, kept] = [await follow(), await follow(), await follow()];
  await sql`delete from access_grant where identity_id = ${grants.id}`.execute(on.db);
  await deleteKey(on.db, keys.id);
  time.advance(6_000);
  await barn.send([{ message: 'for those who may still read' }]);
  for (const one of grants.answers) assert.match(await failure(one.next()), /^NotFound PART_NOT_FOUND/);
  for (const one of keys.answers) assert.match(await failure(one.next()), /^Unauthenticated NOT_AUTHENTICATED/);
  for (const one of kept.answers) assert.equal((await one.next()).done, false);
});

test('a caller has at most 32 watches open, and another one when one ends', async () => {
  await using on = await testServer();
  const { partId } = await machine(on, 'barn');
  const { logs } = await searcher(on);
  const stops = Array.from({ length: 32 }, () => new AbortController());
  const begin = (signal?: AbortSignal) => {
    const answers = logs.watchLogs({ partIds: [partId] }, signal && { signal });
    return answers[Symbol.asyncIterator]().next();
  };
  await Promise.all(stops.map(({ signal }) => begin(signal)));
  assert.equal(await failure(begin()), 'ResourceExhausted TOO_MANY_REQUESTS');
  stops[0]?.abort();
  // The server hears of the end a moment later.
  const isOpen = () =>
    begin(stops[1]?.signal).then(
      ({ done }) => done === false,
      () => false,
    );
  while (!(await isOpen()));
  for (const one of stops) one.abort();
});
