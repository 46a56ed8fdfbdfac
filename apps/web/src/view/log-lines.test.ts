import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { LogEntrySchema } from '@platform/contract/gen/platform/common/v1/common_pb';
import { parseLevel, levels, toLogLine, mergeLines, loggerNamesOf, matchesFilter } from './log-lines.ts';

const line = (ms: number, sequence: number, message = `line ${sequence}`, level = 'info') =>
  toLogLine(
    create(LogEntrySchema, { time: timestampFromMs(ms), sequence: BigInt(sequence), bootId: 'b', level, message }),
  );

test('lines that come twice are shown once, in the order of time', () => {
  const history = [line(30, 3), line(20, 2)];
  const live = [line(20, 2), line(10, 1), line(30, 4), line(30, 3)];
  assert.deepEqual(
    mergeLines(mergeLines([], history), live).map((one) => one.message),
    ['line 1', 'line 2', 'line 3', 'line 4'],
  );
});

test('nothing new keeps the same list, so that nothing is drawn again', () => {
  const before = mergeLines([], [line(1, 1)]);
  assert.equal(mergeLines(before, [line(1, 1)]), before);
  assert.equal(mergeLines(before, []), before);
});

test('the oldest go first beyond the limit', () => {
  const many = Array.from({ length: 10 }, (_, at) => line(at, at));
  assert.deepEqual(
    mergeLines([], many, 3).map((one) => one.message),
    ['line 7', 'line 8', 'line 9'],
  );
});

test('unnumbered lines of other senders are distinguished by their text', () => {
  const entry = (message: string) =>
    toLogLine(create(LogEntrySchema, { time: timestampFromMs(5), level: 'INFO', message }));
  assert.equal(mergeLines([], [entry('a'), entry('a'), entry('b')]).length, 2);
});

test('lines of one millisecond keep their order, in whatever order pages and tail bring them; none counts as another', () => {
  const at = (position: number, message: string) =>
    toLogLine(create(LogEntrySchema, { time: timestampFromMs(5), position: BigInt(position), level: 'info', message }));
  const page = [at(9, 'd'), at(8, 'c'), at(7, 'same'), at(6, 'same')];
  const shown = mergeLines(mergeLines([], page), [at(5, 'a'), at(9, 'd'), at(10, 'e')]);
  assert.deepEqual(
    shown.map(({ message }) => message),
    ['a', 'same', 'same', 'c', 'd', 'e'],
  );
});

test('levels of other loggers', () => {
  const table: [name: string, level: string][] = [
    ['INFO', 'info'],
    ['Warning', 'warn'],
    ['fatal', 'error'],
    ['trace', 'debug'],
    ['?', 'info'],
  ];
  for (const [name, level] of table) assert.equal(parseLevel(name), level);
});

test('a filter by level requests all names of the level', () => {
  assert.deepEqual(loggerNamesOf(['warn']), ['warn', 'warning']);
  assert.ok(loggerNamesOf(['error', 'debug']).every((name) => ['error', 'debug'].includes(parseLevel(name))));
});

test('fields of Go programs and of ours', () => {
  const entry = create(LogEntrySchema, {
    fields: [{ Key: 'err', String: 'gone' }, { revision: 4 }, { Key: 'n', Integer: 2, String: '' }],
  });
  assert.equal(toLogLine(entry).fields, ' err=gone revision=4 n=2');
});

test('filter by level and text', () => {
  const all = { levels: new Set(levels), text: '' };
  const one = line(1, 1, 'Server started', 'warn');
  assert.equal(matchesFilter(one, all), true);
  assert.equal(matchesFilter(one, { ...all, text: ' STARTED ' }), true);
  assert.equal(matchesFilter(one, { ...all, text: 'stopped' }), false);
  assert.equal(matchesFilter(one, { ...all, levels: new Set(['error'] as const) }), false);
});
