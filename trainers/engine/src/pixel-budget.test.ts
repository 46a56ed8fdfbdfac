import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { PixelBudget } from './pixel-budget.ts';

test('images are decoded together up to 50 megapixels, a larger one alone, in their order', async () => {
  const budget = new PixelBudget();
  const running = new Set<string>();
  const finish = new Map<string, () => void>();
  const start = (name: string, megapixels: number): Promise<void> =>
    budget.run(megapixels * 1e6, async () => {
      running.add(name);
      const { promise, resolve } = Promise.withResolvers<void>();
      finish.set(name, resolve);
      await promise;
      running.delete(name);
    });
  const end = async (name: string): Promise<string[]> => {
    finish.get(name)?.();
    await setImmediate();
    return [...running];
  };
  const all = [start('a', 20), start('b', 20), start('large', 120), start('c', 1), start('d', 50)];
  await setImmediate();
  assert.deepEqual([...running], ['a', 'b']);
  assert.deepEqual(await end('b'), ['a']);
  assert.deepEqual(await end('a'), ['large']);
  assert.deepEqual(await end('large'), ['c']);
  assert.deepEqual(await end('c'), ['d']);
  await end('d');
  await Promise.all(all);
});

test('an image that cannot be decoded gives its pixels back', async () => {
  const budget = new PixelBudget();
  await assert.rejects(
    budget.run(1e9, () => Promise.reject(new Error('corrupt'))),
    /corrupt/,
  );
  assert.equal(await budget.run(1e9, () => Promise.resolve(1)), 1);
});
