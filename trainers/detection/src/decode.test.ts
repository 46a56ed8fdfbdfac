/** The reference decoder, and the same operations in both exported files. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seeded } from '@platform/trainer-engine/random';
import { openSession } from '@platform/trainer-engine/runtime';
import { decodeBoxes, aboveMinScore, maxBoxes } from './decode.ts';
import { boxCount, exportOnnx, exportTflite } from './export.ts';
import { initialWeights, detectorNetwork } from './head.ts';
import { boxesOf } from '@platform/contract/job/model-output';
import { compareDetections } from './measure.ts';
import { addSecondNetwork, readDetector } from './feature-maps.ts';
import { runTflite } from '../../engine/test/run-tflite.ts';

const grid = { side: 64, labels: 2 };
const h = 16;
const cells = h * h;

interface Peak {
  label?: number;
  x: number;
  y: number;
  score: number;
  /** Left, top, right, bottom in px. */
  reach?: readonly [number, number, number, number];
}
function values(peaks: readonly Peak[]): [Float32Array, Float32Array] {
  const heat = new Float32Array(grid.labels * cells);
  const edges = new Float32Array(4 * cells);
  for (const { label = 0, x, y, score, reach = [8, 8, 8, 8] } of peaks) {
    heat[label * cells + y * h + x] = score;
    for (const [k, px] of reach.entries()) edges[k * cells + y * h + x] = px / 16;
  }
  return [heat, edges];
}
const rounded = (peaks: readonly Peak[]): string[] =>
  decodeBoxes(...values(peaks), grid).map(
    ({ label, score, left, top, right, bottom }) =>
      `${label} ${score.toFixed(2)} [${[left, top, right, bottom].map((one) => (one * 64).toFixed(0)).join(' ')}]`,
  );

const table: [string, Peak[], string[]][] = [
  ['nothing', [], []],
  ['a peak', [{ x: 5, y: 6, score: 0.8 }], ['0 0.80 [12 16 28 32]']],
  [
    'its neighbour is not a peak',
    [
      { x: 5, y: 6, score: 0.8 },
      { x: 6, y: 7, score: 0.7 },
    ],
    ['0 0.80 [12 16 28 32]'],
  ],
  ['hardly anything', [{ x: 5, y: 6, score: 0.0019 }], []],
  ['cut off at the edge of the image', [{ x: 0, y: 15, score: 0.8 }], ['0 0.80 [0 52 8 64]']],
  ['a distance below zero is none', [{ x: 5, y: 6, score: 0.8, reach: [-4, 8, 8, 8] }], ['0 0.80 [20 16 28 32]']],
  [
    'the surest first, over all labels',
    [
      { x: 2, y: 2, score: 0.3 },
      { label: 1, x: 12, y: 12, score: 0.9 },
    ],
    ['1 0.90 [40 40 56 56]', '0 0.30 [0 0 16 16]'],
  ],
  [
    'a box on a surer one of its label is dropped',
    [
      { x: 5, y: 6, score: 0.8 },
      { x: 5, y: 8, score: 0.5, reach: [8, 15, 8, 1] },
    ],
    ['0 0.80 [12 16 28 32]', '0 0.00 [12 17 28 33]'],
  ],
  [
    'but not one of another label',
    [
      { x: 5, y: 6, score: 0.8 },
      { label: 1, x: 5, y: 6, score: 0.5 },
    ],
    ['0 0.80 [12 16 28 32]', '1 0.50 [12 16 28 32]'],
  ],
  [
    'nor one that overlaps by half at most',
    [
      { x: 5, y: 6, score: 0.8 },
      { x: 5, y: 8, score: 0.5 },
    ],
    ['0 0.80 [12 16 28 32]', '0 0.50 [12 24 28 40]'],
  ],
];
for (const [name, peaks, wanted] of table) test(`boxes of ${name}`, () => assert.deepEqual(rounded(peaks), wanted));

test('no more boxes than agreed, and none that are dropped', () => {
  const peaks = Array.from({ length: 64 }, (_, i) => ({
    x: (i % 8) * 2,
    y: 2 * Math.floor(i / 8),
    score: 0.1 + i / 100,
    reach: [16, 16, 16, 16] as const,
  }));
  const found = decodeBoxes(...values(peaks), grid);
  assert.equal(found.length, maxBoxes);
  assert.ok(aboveMinScore(found).length < found.length && aboveMinScore(found).every(({ score }) => score > 0));
  assert.equal(boxCount(64, 2), maxBoxes);
});

for (const by of ['the heatmap', 'Lite0', 'Lite2']) {
  test(`both delivered files find the same boxes in an image, scored by ${by}`, async () => {
    const shape = { side: 96, labels: 3, hidden: 16 };
    const detector = by === 'Lite2' ? addSecondNetwork(readDetector()) : readDetector();
    const random = seeded('weights');
    const weights = new Map(
      [...initialWeights(shape, 1)].map(([name, numbers]) => [
        name,
        numbers.map((value) => value + (random() - 0.5) * (name === 'heat' ? 1.5 : 0.02)),
      ]),
    );
    const rescoring = {
      weights: detector.cells.map(({ channels }) =>
        Float32Array.from({ length: 9 * channels }, () => (random() - 0.5) * 0.05),
      ),
      bias: Float32Array.of(1, 2, 3),
    };
    const network = detectorNetwork(detector, weights, shape, by === 'the heatmap' ? undefined : rescoring);
    const ports = { side: 96, labels: 3, metadata: { labels: 'a\nb\nc', task: 'object_detection' } };
    const pixels = Uint8Array.from(
      { length: 96 * 96 * 3 },
      (_, i) => 127 + 120 * Math.sin(i / 700) * Math.cos(i / 11) * random(),
    );
    const session = await openSession(exportOnnx(network, ports), 1);
    const results = await session.run({ image: { data: pixels, dims: [1, 96, 96, 3] } });
    await session.release();
    const onnx = boxesOf(results('location'), results('category'), results('score'));
    const outputs = await runTflite(exportTflite(network, ports), pixels);
    const empty = new Float32Array();
    const tflite = boxesOf(outputs['location'] ?? empty, outputs['category'] ?? empty, outputs['score'] ?? empty);
    assert.deepEqual([onnx.length, tflite.length], [maxBoxes, maxBoxes]);
    assert.ok(
      onnx.some(({ score }) => score === 0) && new Set(onnx.map(({ label }) => label)).size > 1,
      'a rich example',
    );
    for (const [a, b] of [
      [onnx, tflite],
      [tflite, onnx],
    ] as const) {
      const { missing, maxDifference, compared } = compareDetections(a, b);
      assert.equal(missing, 0);
      assert.ok(maxDifference < 1e-4 && compared > 10, `${maxDifference} in ${compared}`);
    }
  });
}

test('a comparison reports what is missing and how far the others are', () => {
  const box = { label: 0, score: 0.9, left: 0.1, top: 0.1, right: 0.4, bottom: 0.4 };
  assert.deepEqual(compareDetections([box], [box]), { maxDifference: 0, compared: 1, missing: 0 });
  const near = compareDetections([box], [{ ...box, left: 0.1004 }]);
  assert.ok(Math.abs(near.maxDifference - 0.0004) < 1e-9 && near.missing === 0);
  for (const other of [
    { ...box, label: 1 },
    { ...box, score: 0 },
    { ...box, right: 0.5 },
  ]) {
    assert.equal(compareDetections([box], [other]).missing, 1);
  }
  assert.equal(compareDetections([{ ...box, score: 0.01 }], []).compared, 0);
});
