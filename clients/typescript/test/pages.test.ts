import assert from 'node:assert/strict';
import test from 'node:test';
import { allPages } from '@platform/client';

for (const [what, pages] of [
  ['one empty page', [[]]],
  ['one page', [[1, 2]]],
  ['several pages, one of them empty', [[1, 2], [], [3], [4]]],
] as const)
  test(`allPages: ${what}`, async () => {
    const asked: string[] = [];
    const rows = await allPages((pageToken) => {
      asked.push(pageToken);
      const at = Number(pageToken || 0);
      return Promise.resolve({
        rows: pages[at] ?? assert.fail(`there is no page ${at}`),
        nextPageToken: at + 1 < pages.length ? String(at + 1) : '',
      });
    });
    assert.deepEqual(rows, pages.flat());
    assert.deepEqual(asked, ['', ...pages.slice(1).map((_, at) => String(at + 1))]);
  });
