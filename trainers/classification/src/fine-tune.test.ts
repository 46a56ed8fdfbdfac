import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readMobilenet } from '@platform/trainer-engine/pretrained/mobilenet';
import { seeded } from '@platform/trainer-engine/random';
import { openSession } from '@platform/trainer-engine/runtime';
import { fineTune } from './fine-tune.ts';
import type { FineTuned } from './fine-tune.ts';
import { learnerGraph } from './network.ts';
import { recipeFor, wishOf } from './recipe.ts';

const backbone = readMobilenet();
const { wish } = wishOf({ kind: 'single_label_classification', arguments: { side: '96', epochs: '2' } });
const recipe = { ...recipeFor(wish, { pictures: 12, edge: 96 }, 3600), freezeUntil: 50 };

/** Twelve pictures of noise, bright or dark. */
async function trained(rows: number): Promise<FineTuned | undefined> {
  const { model, tape } = learnerGraph(backbone, { batch: rows, side: 96, classes: 2 }, recipe.freezeUntil, 'softmax');
  const session = await openSession(model, 1);
  try {
    return await fineTune({
      recipe,
      session,
      tape,
      classes: 2,
      output: 'softmax',
      rows,
      pictures: 12,
      draw: (i, into, offset) => {
        const random = seeded('noise', i);
        for (let at = offset; at < offset + 96 * 96 * 3; at++) into[at] = (i % 2) * 128 + 127 * random();
        return { target: i % 2 === 0 ? [1, 0] : [0, 1], weights: [1] };
      },
      validate: () => Promise.resolve({ loss: 1, lossError: 0, score: 0, shown: 0 }),
      random: seeded('order'),
      signal: new AbortController().signal,
      onStep: () => {},
      onEpoch: () => {},
    });
  } finally {
    await session.release();
  }
}

test('a step in two runs of four pictures moves the weights as one of eight does', async () => {
  const [whole, parts] = [await trained(8), await trained(4)];
  let [moved, apart] = [0, 0];
  for (const [name, values] of whole?.weights ?? []) {
    const others = parts?.weights.get(name) ?? new Float32Array();
    if (name === 'W') for (const value of values) moved = Math.max(moved, Math.abs(value));
    for (const [i, value] of values.entries()) apart = Math.max(apart, Math.abs(value - (others[i] ?? Infinity)));
  }
  assert.ok(moved > 1e-4, `moved by ${moved}`);
  assert.ok(apart < moved / 10, `${apart} apart, moved by ${moved}`);
});
