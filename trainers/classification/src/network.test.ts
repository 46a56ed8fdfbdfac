import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEfficientnet } from '@platform/trainer-engine/pretrained/efficientnet';
import { seeded } from '@platform/trainer-engine/random';
import { openSession } from '@platform/trainer-engine/runtime';
import type { Feed } from '@platform/trainer-engine/runtime';
import { headOf } from './head.ts';
import type { OutputKind } from './head.ts';
import { trainingGraph, pretrainedWeights, inferenceGraph, weightColumns } from './network.ts';

const backbone = readEfficientnet();
const [side, classes] = [64, 3];
const random = seeded('network');
function headValues(output: OutputKind): Map<string, Float32Array> {
  const noise = seeded('head', output);
  const { parameters } = headOf(backbone, output, { side, classes });
  const made = (length: number): Float32Array => Float32Array.from({ length }, () => noise() - 0.5);
  return new Map([
    ...parameters.map(({ name, shape }): [string, Float32Array] => [name, made(shape[0] * shape[1])]),
    ['B', made(classes)],
  ]);
}
const images = Array.from({ length: 4 }, () => Float32Array.from({ length: side * side * 3 }, () => random() * 255));

/** Logits of each image, computed in batches. */
async function logitsOf(batch: number, freezeUntil: number, output: OutputKind): Promise<number[][]> {
  const { tape } = trainingGraph(backbone, { batch, side, classes }, freezeUntil, output);
  const head = headValues(output);
  const values = new Map([...pretrainedWeights(backbone), ...head]);
  const feeds: Record<string, Feed> = {};
  for (const [name, { shape }] of tape.parameters)
    feeds[name] = { data: values.get(name) ?? new Float32Array(), dims: shape };
  const session = await openSession(inferenceGraph(backbone, { batch, side, classes }, freezeUntil, output), 1);
  const found: number[][] = [];
  for (let from = 0; from < images.length; from += batch) {
    const data = Float32Array.from(images.slice(from, from + batch).flatMap((one) => [...one]));
    const logits = (await session.run({ ...feeds, image: { data, dims: [batch, side, side, 3] } }))('logits');
    for (let i = 0; i < batch; i++) found.push(Array.from(logits.subarray(i * classes, (i + 1) * classes)));
  }
  await session.release();
  return found;
}

// 27 and 29 are in a block with a residual connection: two layers use the frozen value.
for (const [batch, freezeUntil, trained, output] of [
  [1, 49, 0, 'sigmoid'],
  [4, 49, 0, 'softmax'],
  [2, 24, 17, 'softmax'],
  [2, 24, 17, 'sigmoid'],
  [4, 27, 15, 'softmax'],
  [4, 29, 14, 'sigmoid'],
  [4, 0, 33, 'softmax'],
] as const) {
  test(`the network says the same: ${output}, ${batch} at a time, ${freezeUntil} convolutions frozen`, async () => {
    const { tape } = trainingGraph(backbone, { batch, side, classes }, freezeUntil, output);
    assert.equal([...tape.parameters.keys()].filter((name) => name.startsWith('w')).length, trained);
    const wanted = await logitsOf(1, 49, output);
    for (const [i, logits] of (await logitsOf(batch, freezeUntil, output)).entries()) {
      const expected = wanted[i] ?? [];
      const differences = logits.map((z, k) => Math.abs(z - (expected[k] ?? Number.NaN)));
      assert.ok(Math.max(...differences) < 1e-3, `image ${i}: ${logits.join()} instead of ${expected.join()}`);
    }
    assert.notDeepEqual(wanted[0], wanted[1]);
  });
}

/** Gradients of all parameters for the loss of these images. */
async function gradientsOf(
  batch: number,
  edge: number,
  from: number,
  output: OutputKind,
): Promise<Map<string, Float32Array>> {
  const { model, tape } = trainingGraph(backbone, { batch, side: edge, classes }, 0, output);
  const columns = weightColumns(output, classes);
  const head = headValues(output);
  const targets = Float32Array.from({ length: batch * classes }, (_, i) =>
    i % classes === (from + Math.floor(i / classes)) % classes ? 1 : 0,
  );
  const size = edge * edge * 3;
  const noise = seeded('images');
  const all = Float32Array.from({ length: 2 * size }, () => noise() * 255);
  const feeds: Record<string, Feed> = {
    image: { data: all.slice(from * size, (from + batch) * size), dims: [batch, edge, edge, 3] },
    targets: { data: targets, dims: [batch, classes] },
    weights: { data: new Float32Array(batch * columns).fill(1), dims: [batch, columns] },
  };
  for (const [name, { values, shape }] of tape.parameters) {
    feeds[name] = { data: head.get(name) ?? values, dims: shape };
  }
  const session = await openSession(model, 1);
  const results = await session.run(feeds);
  const found = new Map([...tape.parameters.keys()].map((name) => [name, Float32Array.from(results(`d_${name}`))]));
  await session.release();
  return found;
}

for (const output of ['softmax', 'sigmoid'] as const)
  test(`${output}: images that are taken in parts teach the mean of what each of them teaches`, async () => {
    // At this size the first half of the network processes them one by one.
    const edge = 128;
    const both = await gradientsOf(2, edge, 0, output);
    const [one, other] = [await gradientsOf(1, edge, 0, output), await gradientsOf(1, edge, 1, output)];
    for (const [name, gradient] of both) {
      const expected = gradient.map((_, i) => ((one.get(name)?.[i] ?? Number.NaN) + (other.get(name)?.[i] ?? 0)) / 2);
      const length = Math.sqrt(expected.reduce((sum, d) => sum + d * d, 0));
      const difference = Math.sqrt(gradient.reduce((sum, d, i) => sum + (d - (expected[i] ?? 0)) ** 2, 0));
      assert.ok(length > 0 && difference < 1e-3 * length, `${name}: ${difference} of ${length}`);
    }
  });
