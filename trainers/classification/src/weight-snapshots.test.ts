import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '../../engine/test/temp-folder.ts';
import { WeightSnapshot } from './weight-snapshots.ts';
import type { Weights } from './head.ts';

const weights = (...values: number[]): Weights =>
  // Like a network's weights, some are views of larger arrays.
  new Map([
    ['w', Float32Array.from([9, ...values]).subarray(1)],
    ['b', Float32Array.from(values, (x) => x / 3)],
  ]);

test('what was kept last comes back to the bit', async () => {
  await using folder = await tempFolder();
  const kept = new WeightSnapshot(path.join(folder.path, 'best'));
  kept.save(weights(1, 2, 3));
  const last = weights(0.1, -0, Infinity);
  kept.save(last);
  const into = weights(7, 7, 7);
  kept.readInto(into);
  assert.deepEqual(into, last);
  assert.throws(() => kept.readInto(weights(7, 7, 7, 7)), /the weights b were not kept whole/);
  kept.close();
});
