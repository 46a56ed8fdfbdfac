import assert from 'node:assert/strict';
import test from 'node:test';
import { batchLoader } from './batch-loader.ts';

test('requests during a batch form the next batch, and each gets its own result', async () => {
  const asked: number[][] = [];
  const doubled = batchLoader(async (items: readonly number[]) => {
    asked.push([...items]);
    await Promise.resolve();
    return items.map((item) => item * 2);
  }, 3);
  const answers = await Promise.all([1, 2, 3, 4, 5].map(doubled));
  assert.deepEqual(answers, [2, 4, 6, 8, 10]);
  assert.deepEqual(asked, [[1], [2, 3, 4], [5]]);
  assert.equal(await doubled(6), 12);
});

test('a strange item fails alone; a database that is away fails all at once', async () => {
  const state = { calls: 0 };
  const checked = batchLoader(async (items: readonly string[]) => {
    state.calls++;
    await Promise.resolve();
    if (items.includes('strange')) throw new Error('a strange item');
    if (items.includes('away')) throw Object.assign(new Error('gone'), { code: '57P01' });
    return items;
  });
  const outcome = async (items: string[]): Promise<string[]> =>
    (await Promise.allSettled(items.map(checked))).map((one) => (one.status === 'fulfilled' ? one.value : 'failed'));
  assert.deepEqual(await outcome(['a', 'b', 'strange', 'c']), ['a', 'b', 'failed', 'c']);
  state.calls = 0;
  assert.deepEqual(await outcome(['a', 'b', 'away', 'c']), ['a', 'failed', 'failed', 'failed']);
  assert.equal(state.calls, 2, 'a database that is away is not queried again for each item');
});
