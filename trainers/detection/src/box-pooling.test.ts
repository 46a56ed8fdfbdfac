import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emitOnnx } from '@platform/trainer-engine/network/onnx';
import { FLOAT, Graph } from '@platform/trainer-engine/onnx/graph';
import { seeded } from '@platform/trainer-engine/random';
import { openSession } from '@platform/trainer-engine/runtime';
import { addBoxPooling } from './box-pooling.ts';

const channels = 2;
/** Width and height in cells of 16 px. */
const size = 20;
const random = seeded('windows');
const values = Float32Array.from({ length: channels * size * size }, () => random());

/** Means of `values`, where every box extends by `reach` units of 16 px to the left, up, right and down. */
async function means(reach: readonly number[]): Promise<Float32Array> {
  const given = ([1, 2] as const).map((output) => ({ is: 'relu', input: 0, output }) as const);
  const { layers, means: found } = addBoxPooling(given, 1, [{ value: 2, channels, stride: 16 }]);
  const g = new Graph();
  const fine = 4 * size;
  g.inputs.push({ name: 'distances', type: FLOAT, dims: [1, 4, fine, fine] });
  g.inputs.push({ name: 'seen', type: FLOAT, dims: [1, channels, size, size] });
  const names = new Map([
    [1, 'distances'],
    [2, 'seen'],
  ]);
  emitOnnx(g, layers, names);
  g.op('Identity', [names.get(found[0] ?? 0) ?? ''], {}, 'means');
  g.outputs.push({ name: 'means', type: FLOAT });
  const session = await openSession(g.encode(), 1);
  try {
    const distances = Float32Array.from({ length: 4 * fine * fine }, (_, i) => reach[Math.floor(i / fine / fine)] ?? 0);
    const results = await session.run({
      distances: { data: distances, dims: [1, 4, fine, fine] },
      seen: { data: values, dims: [1, channels, size, size] },
    });
    return Float32Array.from(results('means'));
  } finally {
    await session.release();
  }
}
/** Mean over a window with odd edges and zero padding. */
function mean(channel: number, x: number, y: number, width: number, height: number): number {
  let sum = 0;
  for (let row = y - (height - 1) / 2; row <= y + (height - 1) / 2; row++) {
    for (let column = x - (width - 1) / 2; column <= x + (width - 1) / 2; column++) {
      if (Math.min(row, column) < 0 || Math.max(row, column) >= size) continue;
      sum += values[(channel * size + row) * size + column] ?? 0;
    }
  }
  return sum / width / height;
}

const cases: readonly [string, readonly number[], readonly (readonly [number, number])[]][] = [
  ['a box smaller than a cell: the cell', [0.2, 0.1, 0.3, 0.4], [[1, 1]]],
  ['five cells wide, three tall', [1, 1.5, 4, 1.5], [[5, 3]]],
  [
    'half way between two widths: half of each',
    [3.5, 0.5, 3.5, 0.5],
    [
      [5, 1],
      [9, 1],
    ],
  ],
  ['wider than the widest', [30, 2.5, 30, 2.5], [[17, 5]]],
];
for (const [what, reach, windows] of cases) {
  test(what, async () => {
    const found = await means(reach);
    for (const [x, y] of [
      [10, 10],
      [0, 3],
      [19, 19],
    ] as const) {
      for (let channel = 0; channel < channels; channel++) {
        const parts = windows.map(([width, height]) => mean(channel, x, y, width, height));
        const wanted = parts.reduce((sum, part) => sum + part, 0) / parts.length;
        const got = found[(channel * size + y) * size + x] ?? 0;
        assert.ok(Math.abs(got - wanted) < 1e-5, `channel ${channel} at ${x}, ${y}: ${got} instead of ${wanted}`);
      }
    }
  });
}
