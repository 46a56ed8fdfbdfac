/** Both files of one classifier: their weights and their results. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEfficientnet } from '@platform/trainer-engine/pretrained/efficientnet';
import type { Backbone } from '@platform/trainer-engine/pretrained/efficientnet';
import { seeded } from '@platform/trainer-engine/random';
import { openSession } from '@platform/trainer-engine/runtime';
import { readTflite } from '@platform/trainer-engine/tflite/reader';
import * as ort from 'onnxruntime-node';
import { FLOAT, Graph } from '@platform/trainer-engine/onnx/graph';
import { emitUnlikeOnnx } from './unlike-output.ts';
import { classifierOf, exportOnnx, exportTflite, meanOf } from './classifier.ts';
import type { Classifier } from './classifier.ts';
import { unlikeReferenceOf, unlikeScore } from './unlike.ts';
import type { UnlikeReference } from './unlike.ts';
import { headOf } from './head.ts';
import { runTflite } from '../../engine/test/run-tflite.ts';

const labels = ['ant', 'bee', 'cat'];
const compact = readEfficientnet();
const second = readEfficientnet('Lite2');
/** The mean of two networks, at a temperature. */
const accurate = (side: number, output: Classifier['output'], reference?: UnlikeReference): Classifier =>
  meanOf(example(side, output, { reference }), example(side, output, { backbone: second }), 0.8);

/** A reference by made-up features of two images per label. */
const unlike = unlikeReferenceOf(
  labels.flatMap((_, label) =>
    [1, 2].map((image) => {
      const random = seeded('unlike', label, image);
      return { label, feature: Float32Array.from({ length: compact.features }, () => random()) };
    }),
  ),
  labels.length,
);

function example(
  side: number,
  output: Classifier['output'],
  { backbone = compact, reference }: { backbone?: Backbone; reference?: UnlikeReference | undefined } = {},
): Classifier {
  const random = seeded('classifier', side);
  const values = (n: number, scale: number): Float32Array =>
    Float32Array.from({ length: n }, () => (random() - 0.5) * scale);
  const layer = backbone.layers.filter((one) => one.is === 'conv').at(46);
  const { parameters } = headOf(backbone, output, { side, classes: labels.length });
  const weights = new Map([
    ...parameters.map(({ name, shape }) => [name, values(shape[0] * shape[1], 0.5)] as const),
    ['T', Float32Array.of(0.8)],
    ['B', values(labels.length, 1)],
    ['w46', (layer?.weights ?? new Float32Array()).map((w) => w * (0.9 + 0.2 * random()))],
    ['b46', (layer?.bias ?? new Float32Array()).map((b) => b + 0.02)],
  ]);
  return classifierOf(backbone, weights, { side, output, metadata: { labels: labels.join('\n') }, unlike: reference });
}

// 96 → 3 and 160 → 5 cells at the end: even and odd sizes have different padding.
for (const [side, output, network] of [
  [96, 'softmax', 'compact'],
  [160, 'sigmoid', 'compact'],
  [288, 'sigmoid', 'compact'],
  [96, 'softmax', 'accurate'],
  [96, 'sigmoid', 'accurate'],
] as const) {
  test(`the ONNX and the TFLite file say the same: ${output}, ${side} px, ${network}`, async () => {
    const reference = output === 'softmax' ? unlike : undefined;
    const classifier = network === 'compact' ? example(side, output, { reference }) : accurate(side, output, reference);
    const random = seeded('image', side);
    const session = await openSession(exportOnnx(classifier), 2);
    const tflite = exportTflite(classifier);
    for (let i = 0; i < (side > 200 ? 1 : 2); i++) {
      const image = Uint8Array.from({ length: side * side * 3 }, () => random() * 256);
      const results = await session.run({ image: { data: image, dims: [1, side, side, 3] } });
      const expected = results('probability');
      const { probability: found = new Float32Array(), unlike: score } = await runTflite(tflite, image);
      if (output === 'softmax') {
        const [wanted = Number.NaN] = results('unlike');
        assert.ok(wanted > 0 && wanted < 2 && Math.abs(wanted - (score?.[0] ?? 9)) < 1e-5, `${wanted}; ${score?.[0]}`);
      } else assert.equal(score, undefined);
      assert.equal(found.length, labels.length);
      for (const [k, p] of expected.entries())
        assert.ok(Math.abs(p - (found[k] ?? 9)) < 1e-5, `${expected.join()}; ${found.join()}`);
      const sum = found.reduce((a, b) => a + b, 0);
      assert.equal(Math.abs(sum - 1) < 1e-5, output === 'softmax');
    }
    await session.release();
  });
}

test('the score "unlike" is the second output of both files, and equals its definition', async () => {
  const classifier = example(96, 'softmax', { reference: unlike });
  const { tensors, outputs } = readTflite(exportTflite(classifier));
  assert.deepEqual(
    outputs.map((at) => [tensors[at]?.name, tensors[at]?.type, tensors[at]?.shape]),
    [
      ['probability', 'float32', [1, 3]],
      ['unlike', 'float32', [1, 1]],
    ],
  );
  const file = await ort.InferenceSession.create(exportOnnx(classifier));
  assert.deepEqual(file.outputNames, ['probability', 'unlike']);
  await file.release();

  // The layers alone, on a feature that is not an image's.
  const graph = new Graph();
  graph.inputs.push({ name: 'feature', type: FLOAT, dims: [1, compact.features, 1, 1] });
  graph.outputs.push({ name: emitUnlikeOnnx(graph, 'feature', unlike), type: FLOAT, dims: [1, 1] });
  const session = await openSession(graph.encode(), 1);
  const random = seeded('feature');
  for (const scale of [0, 1, 6]) {
    const data = Float32Array.from({ length: compact.features }, () => random() * scale);
    const [score = 9] = (await session.run({ feature: { data, dims: [1, compact.features, 1, 1] } }))('unlike');
    assert.ok(Math.abs(score - unlikeScore(unlike, data)) < 1e-5, `${scale}: ${score}`);
  }
  await session.release();
});

test('the mean of two networks has the mean of their logits', async () => {
  const image = Uint8Array.from({ length: 96 * 96 * 3 }, (_, i) => (i * 7) % 256);
  const [first, other] = [example(96, 'softmax'), example(96, 'softmax', { backbone: second })];
  const logitsOf = async (one: Classifier): Promise<number[]> =>
    [...((await runTflite(exportTflite(one), image))['probability'] ?? [])].map(Math.log);
  const [a, b, both] = [await logitsOf(first), await logitsOf(other), await logitsOf(meanOf(first, other, 0.8))];
  // Softmax removes what all logits have in common.
  const expected = a.map((z, k) => (z + (b[k] ?? 0)) / 2 / 0.8);
  for (const k of [1, 2]) {
    const [found, wanted] = [both, expected].map((z) => (z[k] ?? 0) - (z[0] ?? 0));
    assert.ok(Math.abs((found ?? 0) - (wanted ?? 9)) < 1e-3, `${both.join()}; ${expected.join()}`);
  }
});

test('the TFLite file: ports, operators, labels, and the trained weights to the bit', () => {
  const classifier = example(96, 'softmax');
  const { tensors, operators, inputs, outputs, metadata } = readTflite(exportTflite(classifier));
  const ports = [...inputs, ...outputs].map((at) => [tensors[at]?.name, tensors[at]?.type, tensors[at]?.shape]);
  assert.deepEqual(ports, [
    ['image', 'uint8', [1, 96, 96, 3]],
    ['probability', 'float32', [1, 3]],
  ]);
  assert.equal(metadata['labels'], 'ant\nbee\ncat');
  const kinds = Map.groupBy(operators, ({ op }) => op);
  const counts = Object.fromEntries([...kinds].map(([op, { length }]) => [op, length]));
  assert.deepEqual(counts, {
    CAST: 1,
    MUL: 2,
    ADD: 10,
    CONV_2D: 34,
    DEPTHWISE_CONV_2D: 16,
    MEAN: 1,
    RESHAPE: 1,
    SOFTMAX: 1,
  });
  const convolutions = [...classifier.backbone.layers, ...classifier.head.layers].filter(
    (layer) => layer.is === 'conv',
  );
  const written = operators.filter(({ op }) => op.endsWith('CONV_2D'));
  const floats = (at = -1): Float32Array => new Float32Array(Uint8Array.from(tensors[at]?.data ?? []).buffer);
  for (const [i, { weights, bias, stride, dims, depthwise }] of convolutions.entries()) {
    const { inputs: [, kernel, added] = [], options = {} } = written[i] ?? {};
    assert.deepEqual(floats(added), bias);
    assert.deepEqual([options['strideWidth'], options['padding']], [stride, 0]);
    const found = floats(kernel);
    assert.deepEqual(found.toSorted(), weights.toSorted());
    // One weight by its position: filter 1, second row, last column.
    const [, depth, height, width] = dims;
    const own = weights[((1 * depth + 0) * height + Math.min(1, height - 1)) * width + width - 1];
    const row = Math.min(1, height - 1) * width + width - 1;
    assert.equal(depthwise ? found[row * bias.length + 1] : found[(1 * height * width + row) * depth], own);
  }
});
