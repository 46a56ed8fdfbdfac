import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEfficientnet } from '@platform/trainer-engine/pretrained/efficientnet';
import { seeded } from '@platform/trainer-engine/random';
import { openSession } from '@platform/trainer-engine/runtime';
import type { Feed } from '@platform/trainer-engine/runtime';
import { learnerGraph, pretrainedWeights, viewerGraph } from './network.ts';

const backbone = readEfficientnet();
const [side, classes] = [64, 3];
const random = seeded('network');
const head = {
  W: Float32Array.from({ length: classes * backbone.features }, () => random() - 0.5),
  B: Float32Array.from({ length: classes }, () => random()),
};
const pictures = Array.from({ length: 4 }, () => Float32Array.from({ length: side * side * 3 }, () => random() * 255));

/** Of each picture, looked at in batches. */
async function logitsOf(batch: number, freezeUntil: number): Promise<number[][]> {
  const { tape } = learnerGraph(backbone, { batch, side, classes }, freezeUntil, 'softmax');
  const values = new Map([...pretrainedWeights(backbone), ...Object.entries(head)]);
  const feeds: Record<string, Feed> = {};
  for (const [name, { shape }] of tape.parameters)
    feeds[name] = { data: values.get(name) ?? new Float32Array(), dims: shape };
  const session = await openSession(viewerGraph(backbone, { batch, side, classes }, freezeUntil), 1);
  const found: number[][] = [];
  for (let from = 0; from < pictures.length; from += batch) {
    const data = Float32Array.from(pictures.slice(from, from + batch).flatMap((one) => [...one]));
    const logits = (await session.run({ ...feeds, image: { data, dims: [batch, side, side, 3] } }))('logits');
    for (let i = 0; i < batch; i++) found.push(Array.from(logits.subarray(i * classes, (i + 1) * classes)));
  }
  await session.release();
  return found;
}

// 27 and 29 lie in a block whose input is added to its output: what is frozen is needed twice.
for (const [batch, freezeUntil, learned] of [
  [1, 49, 0],
  [4, 49, 0],
  [2, 24, 17],
  [4, 27, 15],
  [4, 29, 14],
  [4, 0, 33],
] as const) {
  test(`the network says the same: ${batch} at a time, the first ${freezeUntil} convolutions frozen`, async () => {
    const { tape } = learnerGraph(backbone, { batch, side, classes }, freezeUntil, 'softmax');
    assert.equal([...tape.parameters.keys()].filter((name) => name.startsWith('w')).length, learned);
    const wanted = await logitsOf(1, 49);
    for (const [i, logits] of (await logitsOf(batch, freezeUntil)).entries()) {
      const expected = wanted[i] ?? [];
      const differences = logits.map((z, k) => Math.abs(z - (expected[k] ?? Number.NaN)));
      assert.ok(Math.max(...differences) < 1e-3, `picture ${i}: ${logits.join()} instead of ${expected.join()}`);
    }
    assert.notDeepEqual(wanted[0], wanted[1]);
  });
}
