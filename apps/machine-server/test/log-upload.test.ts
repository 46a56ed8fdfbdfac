import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { LogResponseSchema } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { LogEntrySchema } from '@platform/contract/gen/platform/common/v1/common_pb';
import { FakeClock } from '@platform/kit/testing';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flushLogs, logEntry, LogQueue, uploadLogs } from '../src/cloud/log-upload.ts';

const line = (message: string, fields = {}) => ({
  time: 1_767_225_600_500,
  level: 'info' as const,
  logger: 'l',
  message,
  fields,
});

/** Runs the upload loop; the server gives `answers` in order, then accepts every batch. */
function uploading(queue: LogQueue, answers: ('ok' | 'lost' | Code)[] = [], bad?: { lines: number[]; code: Code }) {
  const clock = new FakeClock();
  const batches: number[][] = [];
  const stop = new AbortController();
  const deps = {
    robot: {
      log: async ({ logs = [] }: { logs?: { sequence?: bigint }[] }) => {
        const answer = answers.shift() ?? 'ok';
        if (typeof answer === 'number') throw new ConnectError('set to fail', answer);
        if (bad && logs.some(({ sequence }) => bad.lines.includes(Number(sequence))))
          throw new ConnectError('a bad line', bad.code);
        batches.push(logs.map(({ sequence }) => Number(sequence)));
        if (answer === 'lost') throw new ConnectError('connection lost', Code.Unavailable);
        return create(LogResponseSchema);
      },
    },
    partId: 'p',
    host: 'h',
    bootId: 'b',
    queue,
    clock,
    random: () => 0.5,
  };
  const done = uploadLogs(deps, stop.signal);
  const end = async () => {
    stop.abort();
    await done;
    assert.deepEqual([clock.pending, queue.filled.listeners], [0, 0]);
  };
  return { clock, batches, deps, end };
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

test('batches of at most 100, a tenth of a second apart, in order', async () => {
  const queue = new LogQueue();
  for (let i = 0; i < 250; i++) queue.push(line('x'));
  const it = uploading(queue);
  await it.clock.advance(0);
  assert.deepEqual(it.batches, [range(1, 100)]);
  await it.clock.advance(1000);
  assert.deepEqual(it.batches.slice(1), [range(101, 200), range(201, 250)]);
  queue.push(line('y'));
  await it.clock.advance(0);
  assert.deepEqual(it.batches[3], [251]);
  await it.end();
});

test('a batch whose answer was lost comes again with the same numbers, after five seconds', async () => {
  const queue = new LogQueue();
  queue.push(line('x'));
  const it = uploading(queue, ['lost', Code.Unavailable]);
  await it.clock.advance(4999);
  assert.deepEqual(it.batches, [[1]]);
  queue.push(line('y'));
  await it.clock.advance(5001);
  assert.deepEqual(it.batches, [[1], [1, 2]]);
  await it.end();
});

for (const [name, code] of [
  ['refuses', Code.InvalidArgument],
  ['fails at', Code.Internal],
] as const) {
  test(`lines that the server ${name} cost only themselves, and are counted`, async () => {
    const queue = new LogQueue();
    for (let i = 0; i < 120; i++) queue.push(line('x'));
    const bad = { lines: [1, 50, 51, 119], code };
    const it = uploading(queue, [], bad);
    await it.clock.advance(20 * 60_000);
    const arrived = new Set(it.batches.flat());
    assert.deepEqual(
      range(1, 120).filter((n) => !arrived.has(n)),
      bad.lines,
    );
    assert.equal(queue.dropped, bad.lines.length);
    assert.ok(arrived.has(121), 'the line that says how many were dropped');
    await it.end();
  });
}

test('a server that fails at everything loses nothing', async () => {
  const queue = new LogQueue();
  for (let i = 0; i < 120; i++) queue.push(line('x'));
  const bad = { lines: range(1, 1_000), code: Code.Internal };
  const it = uploading(queue, [], bad);
  await it.clock.advance(60 * 60_000);
  assert.deepEqual([it.batches, queue.dropped], [[], 0]);
  bad.lines = [];
  await it.clock.advance(60_000);
  assert.deepEqual([...new Set(it.batches.flat())], range(1, 120));
  await it.end();
});

test('a full queue drops the oldest and says how many', () => {
  const queue = new LogQueue(3);
  for (const message of ['a', 'b', 'c', 'd', 'e']) queue.push(line(message));
  assert.deepEqual(
    queue.first(10).map(({ message, sequence }) => `${sequence} ${message}`),
    ['3 c', '4 d', '5 e'],
  );
  assert.deepEqual([queue.size, queue.dropped], [3, 2]);
  queue.done(4);
  assert.equal(queue.size, 1);
  queue.done(99);
  assert.deepEqual([queue.size, queue.dropped], [0, 2]);
});

test('at the end everything that waits is sent, until the first failure', async () => {
  const queue = new LogQueue();
  for (let i = 0; i < 150; i++) queue.push(line('x'));
  const it = uploading(new LogQueue(), ['ok', Code.Unavailable]);
  await flushLogs({ ...it.deps, queue }, new AbortController().signal);
  assert.deepEqual([it.batches.length, queue.size], [1, 50]);
  await it.end();
});

test('a line on the wire', () => {
  const entry = create(
    LogEntrySchema,
    logEntry({ ...line('m', { a: 1, b: { c: [true] }, d: undefined }), sequence: 7 }, 'h', 'b'),
  );
  assert.deepEqual(
    [entry.host, entry.level, entry.loggerName, entry.message, entry.bootId, entry.sequence, entry.fields],
    ['h', 'info', 'l', 'm', 'b', 7n, [{ a: 1 }, { b: { c: [true] } }]],
  );
  assert.deepEqual([entry.time?.seconds, entry.time?.nanos], [1_767_225_600n, 500_000_000]);
});
