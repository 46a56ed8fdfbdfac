import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pagesOf, refreshMsOf, rowsOfPage } from './row-pages.ts';

test('the pages of visible rows', () => {
  for (const [first, last, pages] of [
    [0, 0, [0]],
    [0, rowsOfPage - 1, [0]],
    [rowsOfPage - 1, rowsOfPage, [0, 1]],
    [9_990, 9_999, [199]],
    [40, 160, [0, 1, 2, 3]],
  ] as const)
    assert.deepEqual(pagesOf({ first, last }), pages, `${first} to ${last}`);
});

test('a longer list is read less often', () => {
  assert.ok(refreshMsOf(3) < refreshMsOf(400) && refreshMsOf(400) < refreshMsOf(10_000));
});
