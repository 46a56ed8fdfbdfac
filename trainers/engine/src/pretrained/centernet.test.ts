import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '../../test/temp-folder.ts';
import { runGraph } from '../../test/graph-reference.ts';
import { needed, sizesOf } from '../network/layers.ts';
import { emitOnnx } from '../network/onnx.ts';
import { FLOAT, Graph } from '../onnx/graph.ts';
import { seeded } from '../random.ts';
import { openSession } from '../runtime.ts';
import { readGraphFile } from './centernet-file.ts';
import { readCenternet } from './centernet.ts';
import type { Tap } from './centernet.ts';
import { WeightsError } from './weights-error.ts';

const models = path.join(path.dirname(createRequire(import.meta.url).resolve('@vladmandic/human')), '../models');

test('the network of the installed package: its layers and the sizes of what is used of it', () => {
  const { layers, taps } = readCenternet();
  const sizes = sizesOf(layers, { channels: 3, height: 320, width: 256 });
  const sizeOf = (tap: Tap): number[] => {
    const { channels = 0, height = 0, width = 0 } = sizes.get(taps[tap]) ?? {};
    return [channels, height, width];
  };
  assert.deepEqual(sizeOf('neck'), [128, 80, 64]);
  assert.deepEqual(sizeOf('deep'), [480, 10, 8]);
  assert.deepEqual(sizeOf('classView'), [128, 80, 64]);
  assert.deepEqual(sizeOf('classes'), [80, 80, 64]);
  assert.deepEqual(sizeOf('distances'), [4, 80, 64]);
  const parameters = layers.reduce(
    (sum, one) => sum + (one.is === 'conv' ? one.weights.length + one.bias.length : 0),
    0,
  );
  assert.ok(parameters > 1_900_000 && parameters < 2_100_000, `${parameters} parameters`);
  assert.ok(needed(layers, [taps.deep]).length < needed(layers, [taps.neck]).length);
});

test('other weights, and another graph, are refused before they are read', async () => {
  await using folder = await tempFolder();
  for (const changed of ['centernet.json', 'centernet.bin'] as const) {
    for (const file of ['centernet.json', 'centernet.bin']) {
      await copyFile(path.join(models, file), path.join(folder.path, file));
    }
    const bytes = await readFile(path.join(folder.path, changed));
    bytes[1000] = (bytes[1000] ?? 0) ^ 1;
    await writeFile(path.join(folder.path, changed), bytes);
    assert.throws(
      () => readCenternet(folder.path),
      (e) => e instanceof WeightsError && e.message.includes(changed) && /expected [0-9a-f]{64}/.test(e.message),
    );
  }
});

test('the layers compute what the original graph says, node by node', async () => {
  const side = 64;
  const random = seeded('image');
  const image = Float32Array.from({ length: side * side * 3 }, (_, i) => 127 + 120 * Math.sin(i / 400) * random());
  const { layers, taps } = readCenternet();
  const g = new Graph();
  g.inputs.push({ name: 'image', type: FLOAT, dims: [1, side, side, 3] });
  const values = new Map([[0, g.op('Transpose', ['image'], { perm: [0, 3, 1, 2] })]]);
  const wanted: [Tap, string][] = [
    ['deep', 'tower_0/extern1/hard_swish/mul_1'],
    ['classes', 'tower_0/CenternetHead/centernet_cls_output/BiasAdd'],
    ['distances', 'tower_0/CenternetHead/centernet_wh_output/BiasAdd'],
  ];
  emitOnnx(g, layers, values);
  for (const [tap] of wanted) {
    g.op('Transpose', [values.get(taps[tap]) ?? ''], { perm: [0, 2, 3, 1] }, tap);
    g.outputs.push({ name: tap, type: FLOAT });
  }
  const session = await openSession(g.encode(), 1);
  const results = await session.run({ image: { data: image, dims: [1, side, side, 3] } });
  const file = readGraphFile(
    readFileSync(path.join(models, 'centernet.json')),
    readFileSync(path.join(models, 'centernet.bin')),
  );
  const reference = runGraph(file, { shape: [side, side, 3], values: image });
  for (const [tap, node] of wanted) {
    const [ours, theirs] = [results(tap), Float64Array.from(reference(node).values)];
    assert.equal(ours.length, theirs.length, tap);
    // The original stores 1/6 in half precision, with an error of 0.02 % in each of twenty activations.
    const size = Math.sqrt(theirs.reduce((sum, value) => sum + value * value, 0) / theirs.length);
    const error = Math.sqrt(ours.reduce((sum, value, i) => sum + (value - (theirs[i] ?? 0)) ** 2, 0) / ours.length);
    assert.ok(error < 0.01 * size, `${tap}: off by ${error} of ${size}`);
  }
  await session.release();
});
