import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Content, differenceOf, oldMajor, roomFor } from './plan.ts';

const of = { path: '/d', own: '18' };

for (const [name, names, expected] of [
  ['the one before', ['17', 'owner', 'postgres.log'], '17'],
  ['one of years ago', ['9', 'upgrade', 'upgraded.json'], '9'],
  ['an upgrade that was cut off', ['17', 'upgrade'], '17'],
  ['one that was upgraded before', ['17', '16-old'], '17'],
  ['the same', ['18'], 'DATABASE_UPGRADE_NEEDLESS'],
  ['the same beside an older one', ['17', '18'], 'DATABASE_UPGRADE_NEEDLESS'],
  ['a newer one', ['19'], 'DATABASE_OF_OTHER_MAJOR'],
  ['a newer one beside an older one', ['17', '19'], 'DATABASE_OF_OTHER_MAJOR'],
  ['none', ['owner'], 'DATABASE_UPGRADE_FAILED'],
  ['several', ['16', '17'], 'DATABASE_UPGRADE_FAILED'],
  ['one whose kept name is taken', ['17', '17-old'], 'DATABASE_UPGRADE_FAILED'],
] as const)
  test(`upgrade from: ${name}`, () => {
    const run = (): string => oldMajor(names, of);
    if (/^\d/.test(expected)) assert.equal(run(), expected);
    else assert.throws(run, { code: expected });
  });

test('room: rows, database and log; the log has a limit', () => {
  assert.deepEqual(
    [roomFor(0), roomFor(2 ** 20), roomFor(2 ** 40)],
    [256, 260, 2 ** 21 + 1024 + 256].map((n) => n * 2 ** 20),
  );
});

const content = (tables: Content['tables'], sequences: Content['sequences'] = {}): Content => ({ tables, sequences });
for (const [name, old, made, expected] of [
  ['equal', content({ a: '1 2' }, { s: '3' }), content({ a: '1 2' }, { s: '3' }), undefined],
  ['other rows', content({ a: '1 2' }), content({ a: '1 3' }), /table a is "1 2" in the old.*"1 3"/],
  ['a table that is missing', content({ a: '0 0', b: '1 1' }), content({ a: '0 0' }), /table b .*"missing" in the new/],
  ['a table too many', content({}), content({ a: '0 0' }), /table a is "missing" in the old/],
  ['another position', content({}, { s: '3' }), content({}, { s: '2' }), /sequence s is "3"/],
] as const)
  test(`difference: ${name}`, () => {
    const found = differenceOf(old, made);
    if (expected === undefined) assert.equal(found, undefined);
    else assert.match(found ?? '', expected);
  });
