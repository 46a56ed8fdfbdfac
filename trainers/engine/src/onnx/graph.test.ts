import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as ort from 'onnxruntime-node';
import { FLOAT, Graph, UINT8 } from './graph.ts';

test('a written graph runs: constants, attributes of every kind, an unused branch left out', async () => {
  const g = new Graph();
  g.inputs.push({ name: 'x', type: UINT8, dims: [1, 2, 3] });
  const x = g.op('Cast', ['x'], { to: FLOAT });
  const turned = g.op('Transpose', [x], { perm: [0, 2, 1] });
  const soft = g.op('LeakyRelu', [g.op('Sub', [turned, g.scalar(3)])], { alpha: { float: 0.5 } });
  const padded = g.op('Pad', [soft, g.ints([0, 0, 1, 0, 0, 0])], { mode: 'reflect' });
  g.op('Identity', [padded], {}, 'y');
  g.op('Nonsense', ['nowhere']);
  g.outputs.push({ name: 'y', type: FLOAT, dims: [1, 3, 3] });
  g.metadata['labels'] = 'a\nb';
  const model = g.encode();
  assert.ok(!model.includes('Nonsense'));
  assert.ok(model.includes('a\nb'));

  const session = await ort.InferenceSession.create(model, { logSeverityLevel: 3 });
  assert.deepEqual([session.inputNames, session.outputNames], [['x'], ['y']]);
  const { y } = await session.run({ x: new ort.Tensor('uint8', Uint8Array.of(1, 2, 3, 4, 5, 6), [1, 2, 3]) });
  assert.deepEqual(y?.dims, [1, 3, 3]);
  assert.deepEqual([...(y?.data ?? [])], [1, -1, 1, 2, -0.5, 2, 3, 0, 3]);
});

test('large and negative numbers survive', async () => {
  const g = new Graph();
  g.inputs.push({ name: 'x', type: FLOAT, dims: [300] });
  const far = -(2 ** 31);
  g.op('Slice', ['x', g.ints([-1]), g.ints([far]), g.ints([0]), g.ints([-150])], {}, 'y');
  g.outputs.push({ name: 'y', type: FLOAT });
  const session = await ort.InferenceSession.create(g.encode(), { logSeverityLevel: 3 });
  const x = Float32Array.from({ length: 300 }, (_, i) => i);
  const { y } = await session.run({ x: new ort.Tensor('float32', x, [300]) });
  assert.deepEqual([...(y?.data ?? [])], [299, 149]);
});
