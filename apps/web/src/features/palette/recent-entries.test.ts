import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addRecent, readRecent } from './recent-entries.ts';

const entry = (n: number) => ({ text: `m${n}`, path: `/machines/${n}` });

test('the newest six are kept, each path once', () => {
  const all = [1, 2, 3, 4, 5, 6, 7, 2].reduce((before, n) => addRecent(before, entry(n)), [entry(0)]);
  assert.deepEqual(
    all.map(({ text }) => text),
    ['m2', 'm7', 'm6', 'm5', 'm4', 'm3'],
  );
  assert.deepEqual(readRecent(JSON.stringify(all)), all);
});

test('what is not a list of paths of this app is left out', () => {
  for (const stored of [
    null,
    'x',
    '{}',
    '[1,null]',
    '[{"text":"a","path":"https://b"}]',
    '[{"text":"a","path":"//b"}]',
  ])
    assert.deepEqual(readRecent(stored), [], String(stored));
});
