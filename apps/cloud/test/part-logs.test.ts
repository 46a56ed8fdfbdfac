// Malformed log lines: none exceeds the limit of a line, none blocks the lines after it.
import assert from 'node:assert/strict';
import test from 'node:test';
import { toBinary } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createGrpcWebTransport } from '@connectrpc/connect-web';
import { AppService, GetRobotPartLogsResponseSchema, LogOrder } from '@platform/contract/gen/platform/app/v1/app_pb';
import type { LogEntry } from '@platform/contract/gen/platform/common/v1/common_pb';
import { logLimits } from '@platform/contract/logs/limits';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { systemClock } from '@platform/kit/node';
import { testServer } from './server.ts';

const bootId = 'boot';

test('what stands beside a line is kept as long as it is short', async () => {
  await using on = await testServer();
  const { partId, part } = await on.machine('m');
  const [robot, app] = [await on.client(RobotService, part), await on.client(AppService)];
  await robot.log({
    id: partId,
    logs: [
      { message: 'short', bootId, sequence: 1n, caller: { file: 'a.ts' }, fields: [{ n: 1 }, { n: 2 }] },
      {
        message: 'long',
        bootId,
        sequence: 2n,
        fields: [{ text: 'x'.repeat(5 * 2 ** 20) }],
        caller: { f: 'y'.repeat(2 ** 20) },
      },
      // The cut splits a character.
      { message: `${'m'.repeat(65_535)}🦄`, stack: `${'s'.repeat(65_535)}🦄`, bootId, sequence: 3n },
      { message: `${'ü'.repeat(32_767)}xy`, stack: 's'.repeat(65_536), bootId, sequence: 4n },
    ],
  });
  const { logs } = await app.getRobotPartLogs({ id: partId, order: LogOrder.ASCENDING });
  assert.deepEqual([logs[0]?.caller, logs[0]?.fields], [{ file: 'a.ts' }, [{ n: 1 }, { n: 2 }]]);
  assert.deepEqual(logs[1]?.caller, { left_out: `${2 ** 20 + 8} characters` });
  assert.deepEqual(logs[1].fields, [{ left_out: `${5 * 2 ** 20 + 13} characters in 1 fields` }]);
  for (const text of [logs[2]?.message, logs[2]?.stack]) {
    assert.match(text ?? '', /^(m+|s+)… \(cut: 65537 characters\)$/);
    assert.ok(Buffer.byteLength(text ?? '') <= logLimits.messageBytes);
  }
  // 64 KiB are kept, as the documentation promises.
  assert.deepEqual([logs[3]?.message, logs[3]?.stack], [`${'ü'.repeat(32_767)}xy`, 's'.repeat(65_536)]);
});

test('lines of the same millisecond keep their order in list and tail, numbered by their sender or not', async () => {
  await using on = await testServer();
  const { partId, part } = await on.machine('m');
  const [robot, app] = [await on.client(RobotService, part), await on.client(AppService)];
  const stop = new AbortController();
  const stream = app.tailRobotPartLogs({ id: partId, errorsOnly: false }, { signal: stop.signal });
  const tail = stream[Symbol.asyncIterator]();
  await tail.next();
  const time = { seconds: 1_790_000_000n, nanos: 5_000_000 };
  const sent = Array.from({ length: 300 }, (_, n) => `line ${n}`);
  for (let from = 0; from < sent.length; from += 100) {
    const numbered = (n: number) => (from === 100 ? { bootId, sequence: BigInt(n + 1) } : {});
    const logs = sent.slice(from, from + 100).map((message, n) => ({ message, time, ...numbered(n) }));
    await robot.log({ id: partId, logs });
  }
  const tailed: LogEntry[] = [];
  while (tailed.length < sent.length) tailed.push(...((await tail.next()).value as { logs: LogEntry[] }).logs);
  stop.abort();
  const { logs: ascending } = await app.getRobotPartLogs({ id: partId, order: LogOrder.ASCENDING, limit: 1_000n });
  const { logs: newestFirst } = await app.getRobotPartLogs({ id: partId, limit: 1_000n });
  for (const list of [tailed, ascending, newestFirst.toReversed()]) {
    assert.deepEqual(
      list.map(({ message }) => message),
      sent,
    );
    const places = list.map(({ position }) => position);
    assert.ok(places.every((place, n) => place > (places[n - 1] ?? 0n)));
  }
});

test('what a public agent sends comes out as it was: caller, stack, each field in its order', async () => {
  await using on = await testServer();
  const { partId, part } = await on.machine('m');
  const [robot, app] = [await on.client(RobotService, part), await on.client(AppService)];
  const caller = { Defined: true, File: 'robot/impl.go', Line: 1234, Function: 'New.func1' };
  const fields = [
    { b: 1.5 },
    { a: 'text' },
    { a: 'again' },
    { '10': [1, { deep: { er: [null, false] } }] },
    { '2': 0 },
  ];
  const sent = {
    host: 'h',
    level: 'dpanic',
    loggerName: 'rdk.x',
    message: 'm',
    caller,
    stack: 'goroutine 1\n\tmain.go',
    fields,
  };
  const time = { seconds: 1_790_000_000n, nanos: 123_456_000 };
  await robot.log({
    id: partId,
    logs: [
      { ...sent, time },
      { message: 'no number', fields: [{ n: NaN }, { i: -Infinity }] },
    ],
  });
  const { logs } = await app.getRobotPartLogs({ id: partId, order: LogOrder.ASCENDING });
  const { host, level, loggerName, message, stack } = logs[0] ?? {};
  assert.deepEqual({ host, level, loggerName, message, caller: logs[0]?.caller, stack, fields: logs[0]?.fields }, sent);
  assert.deepEqual([logs[0]?.time?.seconds, logs[0]?.time?.nanos], [time.seconds, time.nanos]);
  assert.deepEqual(logs[1]?.fields, [{ n: 'NaN' }, { i: '-Infinity' }]);
});

test('a time or a number out of range does not hold up the lines behind it', async () => {
  await using on = await testServer();
  const { partId, part } = await on.machine('m');
  const [robot, app] = [await on.client(RobotService, part), await on.client(AppService)];
  const before = BigInt(Math.floor(systemClock.wall() / 1000));
  const wild = [2n ** 62n, -(2n ** 62n), 253_402_300_800n];
  await robot.log({
    id: partId,
    logs: [
      ...wild.map((seconds, n) => ({ message: 'wild', bootId, sequence: BigInt(n + 1), time: { seconds, nanos: 0 } })),
      { message: 'number', bootId, sequence: 2n ** 63n - 1n },
      { message: 'last', bootId, sequence: 9n, time: { seconds: 253_402_300_799n, nanos: 5_000 } },
    ],
  });
  const { logs } = await app.getRobotPartLogs({ id: partId, order: LogOrder.ASCENDING });
  assert.deepEqual(
    logs.map(({ message }) => message),
    ['wild', 'wild', 'wild', 'number', 'last'],
  );
  assert.ok(
    logs.slice(0, 4).every(({ time }) => (time?.seconds ?? 0n) >= before),
    'they came now',
  );
  assert.equal(logs[4]?.time?.seconds, 253_402_300_799n);
});

test('pages of long lines end before they are larger than clients take, and all lines come', async () => {
  await using on = await testServer();
  const { partId, part } = await on.machine('m');
  const [robot, app] = [await on.client(RobotService, part), await on.client(AppService)];
  const count = 600;
  for (let from = 0; from < count; from += 200) {
    const logs = Array.from({ length: 200 }, (_, n) => ({
      message: `${from + n} ${'ü'.repeat(10_000)}`,
      bootId,
      sequence: BigInt(from + n + 1),
    }));
    await robot.log({ id: partId, logs });
  }
  for (const order of [LogOrder.ASCENDING, LogOrder.DESCENDING]) {
    const seen: number[] = [];
    for (let pageToken = '', pages = 0; ; pages++) {
      const page = await app.getRobotPartLogs({ id: partId, order, limit: 1_000n, pageToken });
      const { length } = toBinary(GetRobotPartLogsResponseSchema, page);
      assert.ok(length < 4 * 2 ** 20, `${length} bytes`);
      if (page.logs.length === 0) {
        assert.ok(pages > 3);
        break;
      }
      seen.push(...page.logs.map(({ message }) => Number(message.split(' ')[0])));
      pageToken = page.nextPageToken;
    }
    const all = Array.from({ length: count }, (_, n) => n);
    assert.deepEqual(seen, order === LogOrder.ASCENDING ? all : all.toReversed());
  }
});

test('a tail under its public name begins with lines: an empty message ends the loop of the public Python SDK', async () => {
  await using on = await testServer();
  const { partId, part } = await on.machine('m');
  const robot = await on.client(RobotService, part);
  const authorization = `Bearer ${await on.token(on.owner)}`;
  const app = createClient(
    AppService,
    createGrpcWebTransport({
      baseUrl: on.url,
      fetch: (input, init) => fetch(String(input).replace('/platform.app.', '/viam.app.'), init),
    }),
  );
  const stop = new AbortController();
  const stream = app.tailRobotPartLogs({ id: partId }, { headers: { authorization }, signal: stop.signal });
  const tail = stream[Symbol.asyncIterator]();
  const first = tail.next().then(({ value }) => value as { logs: LogEntry[] });
  const arrived = first.then(
    () => true,
    () => true,
  );
  // The stream may need a moment to open: lines are sent until one arrives.
  for (let n = 0; ; n++) {
    const sent = robot.log({ id: partId, logs: [{ message: `live ${n}` }] }).then(() => false);
    if (await Promise.race([arrived, sent])) break;
  }
  assert.match((await first).logs[0]?.message ?? 'no line', /^live \d+$/);
  stop.abort();
});
