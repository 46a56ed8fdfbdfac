import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlatformError } from '@platform/contract/errors/errors';
import { choice, collectList, keyValues, seconds, timeBefore, timeVersion, wholeNumber } from './values.ts';

const refused = (pattern: RegExp) => (error: unknown) =>
  error instanceof PlatformError && error.code === 'INVALID_ARGUMENT' && pattern.test(error.what);

test('spans of time', () => {
  assert.deepEqual(
    ['90s', '30m', '2h', '1h30m', '1d1s'].map((text) => seconds('--time-limit', text)),
    [90, 1800, 7200, 5400, 86_401],
  );
  for (const bad of ['', '5', '-5m', '1.5h', '0s', '5m x', 'm', '1h ', '99999999999s'])
    assert.throws(() => seconds('--time-limit', bad), refused(/--time-limit .*90s, 30m/), bad);
});

test('whole numbers', () => {
  assert.equal(wholeNumber('-n', '12', { min: 1, max: 12 }), 12);
  for (const bad of ['', '0', '13', '1.5', '1e1', ' 2', '-1', '९'])
    assert.throws(() => wholeNumber('-n', bad, { min: 1, max: 12 }), refused(/1 to 12/), bad);
});

test('key=value, each key once; the value may hold = and ,', () => {
  assert.deepEqual(keyValues('--arg', ['a=1', 'b=x=y', 'c=1,2', 'd=']), { a: '1', b: 'x=y', c: '1,2', d: '' });
  for (const bad of [['a'], ['=1'], ['a=1', 'a=2']]) assert.throws(() => keyValues('--arg', bad), refused(/--arg/));
});

test('words with - or _, upper or lower case; never a name of Object', () => {
  const of = { 'in-progress': 2, failed: 4 };
  assert.deepEqual(
    ['in-progress', 'IN_PROGRESS', 'failed'].map((word) => choice('--status', word, of)),
    [2, 2, 4],
  );
  for (const bad of ['', 'done', 'constructor', '__proto__'])
    assert.throws(() => choice('--status', bad, of), refused(/one of in-progress, failed/), bad);
});

test('lists given several times add up', () => {
  assert.deepEqual(collectList('c,, d ', collectList('a,b')), ['a', 'b', 'c', 'd']);
});

test('a version from the time', () => {
  assert.equal(timeVersion(1_772_366_405_999), '2026-03-01T12-00-05');
});

const now = Date.UTC(2026, 2, 2);
const times: readonly [string, number | 'refused'][] = [
  ['24h', Date.UTC(2026, 2, 1)],
  ['1d12h', Date.UTC(2026, 1, 28, 12)],
  ['2026-03-01', Date.UTC(2026, 2, 1)],
  ['2026-03-01T12:00:00+02:00', Date.UTC(2026, 2, 1, 10)],
  ['2026-03-01T12:00', 'refused'],
  ['yesterday', 'refused'],
  ['2026-13-01', 'refused'],
  ['', 'refused'],
];
for (const [text, ms] of times)
  test(`a time: ${text}`, () => {
    if (ms === 'refused') assert.throws(() => timeBefore('--since', text, now), /INVALID_ARGUMENT.*--since/);
    else assert.equal(timeBefore('--since', text, now), ms);
  });
