import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conflictsOf, mergedText, mergeTexts, type Side } from './merge.ts';

const base = '{\n  "a": 1,\n  "b": 2,\n  "c": 3,\n  "d": 4\n}\n';
const rows: [what: string, theirs: string, mine: string, sides: Side[], merged: string][] = [
  ['no change', base, base, [], base],
  ['they alone', base.replace('1', '10'), base, [], base.replace('1', '10')],
  ['I alone', base, base.replace('4', '40'), [], base.replace('4', '40')],
  ['both, apart', base.replace('1', '10'), base.replace('4', '40'), [], base.replace('1', '10').replace('4', '40')],
  ['both, the same', base.replace('2', '20'), base.replace('2', '20'), [], base.replace('2', '20')],
  ['the same line, theirs', base.replace('2', '20'), base.replace('2', '21'), ['theirs'], base.replace('2', '20')],
  ['the same line, mine', base.replace('2', '20'), base.replace('2', '21'), ['mine'], base.replace('2', '21')],
  ['removed and changed', base.replace('  "c": 3,\n', ''), base.replace('3', '30'), ['mine'], base.replace('3', '30')],
  ['an empty text', '', base, [], ''],
];
for (const [what, theirs, mine, sides, merged] of rows) {
  test(`merge: ${what}`, () => {
    const parts = mergeTexts({ base, theirs, mine });
    assert.equal(conflictsOf(parts).length, sides.length);
    assert.equal(mergedText(parts, sides), merged);
  });
}
