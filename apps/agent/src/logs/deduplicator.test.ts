import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LogLine } from '@platform/kit';
import { seededRandom } from '@platform/kit/testing';
import { Deduplicator, windowMs } from './deduplicator.ts';

const line = (message: string, time = 0): LogLine => ({ time, level: 'info', logger: 'a', message, fields: {} });
const shown = (lines: readonly LogLine[]): string[] =>
  lines.map((l) => `${l.message}${l.fields['repeated'] === undefined ? '' : ` ×${Number(l.fields['repeated'])}`}`);

test('three of a text pass; the rest of the minute is one line', () => {
  const deduplicator = new Deduplicator();
  const passed = Array.from({ length: 10 }, (_, i) => deduplicator.take(line('x', i), i * 1_000)).flat();
  assert.deepEqual(shown(passed), ['x', 'x', 'x']);
  assert.equal(deduplicator.nextDue, windowMs);
  assert.deepEqual(deduplicator.due(windowMs - 1), []);
  const [one, ...more] = deduplicator.due(windowMs);
  assert.deepEqual([one?.time, shown([one!]), more], [9, ['x ×7'], []]);
  assert.equal(deduplicator.nextDue, Infinity);
});

test('a repeated line is summarised once a minute; after a quiet minute it is written again', () => {
  const deduplicator = new Deduplicator();
  const written: LogLine[] = [];
  for (let s = 0; s < 180; s++) written.push(...deduplicator.take(line('x'), s * 1_000));
  written.push(...deduplicator.due(180_000));
  assert.deepEqual(shown(written), ['x', 'x', 'x', 'x ×57', 'x ×60', 'x ×60']);
  assert.deepEqual(deduplicator.due(240_000), []);
  assert.deepEqual(shown(deduplicator.take(line('x'), 300_000)), ['x']);
});

test('another level, logger, field or text is another line', () => {
  const deduplicator = new Deduplicator();
  const others = [line('x'), { ...line('x'), level: 'warn' as const }, { ...line('x'), logger: 'b' }, line('y')];
  const all = [...others, { ...line('x'), fields: { n: 1 } }];
  const passed = Array.from({ length: 3 }, () => all.flatMap((l) => deduplicator.take(l, 1))).flat();
  assert.equal(passed.length, 15);
});

test('whatever comes, passed and counted lines together are all lines, and memory is bounded', () => {
  const [deduplicator, random] = [new Deduplicator(), seededRandom(3)];
  let stood = 0;
  const count = (lines: readonly LogLine[]) => {
    for (const { fields } of lines) stood += Number(fields['repeated'] ?? 1);
  };
  let now = 0;
  for (let i = 0; i < 20_000; i++) {
    now += random() * 200;
    count(deduplicator.take(line(`text ${Math.floor(random() ** 3 * 2_000)}`), now));
  }
  count(deduplicator.rest());
  assert.equal(stood, 20_000);
});
