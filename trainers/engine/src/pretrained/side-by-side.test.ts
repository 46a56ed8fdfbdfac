import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emitOnnx } from '../network/onnx.ts';
import { FLOAT, Graph } from '../onnx/graph.ts';
import { seeded } from '../random.ts';
import { openSession } from '../runtime.ts';
import { readEfficientnet } from './efficientnet.ts';
import type { Backbone } from './efficientnet.ts';
import { sideBySide } from './side-by-side.ts';

const side = 64;
const random = seeded('side by side');
const data = Float32Array.from({ length: 3 * side * side }, () => random() * 255);

async function valuesOf({ layers, taps }: Backbone): Promise<readonly Float32Array[]> {
  const graph = new Graph();
  graph.inputs.push({ name: 'image', type: FLOAT, dims: [1, 3, side, side] });
  const values = new Map([[0, 'image']]);
  emitOnnx(graph, layers, values);
  const wanted = [taps[8], taps[16], taps[32], layers.length];
  for (const [i, value] of wanted.entries()) {
    graph.op('Identity', [values.get(value) ?? ''], {}, `value${i}`);
    graph.outputs.push({ name: `value${i}`, type: FLOAT });
  }
  const session = await openSession(graph.encode(), 1);
  const results = await session.run({ image: { data, dims: [1, 3, side, side] } });
  const found = wanted.map((_, i) => Float32Array.from(results(`value${i}`)));
  await session.release();
  return found;
}

test('two networks side by side compute what each computes alone', async () => {
  const [first, second] = [readEfficientnet(), readEfficientnet('Lite2')];
  const both = sideBySide(first, second);
  assert.equal(both.features, 2560);
  assert.match(both.name, /Lite0.*Lite2/);
  const [left, right, joined] = [await valuesOf(first), await valuesOf(second), await valuesOf(both)];
  for (const [i, values] of joined.entries()) {
    const expected = [...(left[i] ?? []), ...(right[i] ?? [])];
    assert.equal(values.length, expected.length);
    assert.ok(
      values.every((value, at) => Math.abs(value - (expected[at] ?? Number.NaN)) < 1e-4),
      `value ${i}`,
    );
  }
});
