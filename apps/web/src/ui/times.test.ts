import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ago, earlierTime, span, utcMoment, versionStamp } from './times.ts';

const now = 1_795_000_000_000;

test('how long ago', () => {
  const table: [passedMs: number, text: string][] = [
    [-5000, 'now'],
    [0, 'now'],
    [1499, 'now'],
    [3000, '3 s ago'],
    [59_000, '59 s ago'],
    [61_000, '1 min ago'],
    [3_600_000, '1 h ago'],
    [26 * 3_600_000, '26 h ago'],
    [50 * 3_600_000, '2 d ago'],
  ];
  for (const [passed, text] of table) assert.equal(ago(now - passed, now), text);
});

test('spans have at most two units', () => {
  const table: [ms: number, text: string][] = [
    [-1, '0 s'],
    [0, '0 s'],
    [42_400, '42 s'],
    [65_000, '1 min 5 s'],
    [3_600_000, '1 h'],
    [3_605_000, '1 h'],
    [3_900_000, '1 h 5 min'],
    [2 * 86_400_000 + 3_600_000, '2 d 1 h'],
  ];
  for (const [ms, text] of table) assert.equal(span(ms), text);
});

test('moments in UTC and as a version', () => {
  assert.equal(utcMoment(0), '1970-01-01 00:00:00.000 UTC');
  assert.equal(utcMoment(951_825_599_123), '2000-02-29 11:59:59.123 UTC');
  assert.equal(versionStamp(951_825_599_123), '2000-02-29T11-59-59');
});

test('a time of the past is as short as its day allows', () => {
  const at = (day: number, hours: number, minutes: number) => new Date(2026, 10, day, hours, minutes).getTime();
  const night = at(29, 0, 30);
  assert.equal(earlierTime(at(29, 0, 5), night), '00:05');
  assert.equal(earlierTime(at(28, 23, 59), night), 'yesterday 23:59');
  assert.equal(earlierTime(at(27, 14, 2), night), '2026-11-27 14:02');
});
