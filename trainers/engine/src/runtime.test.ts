import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FLOAT, Graph } from './onnx/graph.ts';
import { openSession } from './runtime.ts';

const size = 1 << 20;
const valueBytes = 4;

test('results go to where the caller keeps them, and no copy of them stays', async () => {
  const g = new Graph();
  g.inputs.push({ name: 'x', type: FLOAT, dims: [size] });
  g.op('Mul', ['x', g.scalar(2)], {}, 'y');
  g.op('Add', ['x', g.scalar(1)], {}, 'z');
  for (const name of ['y', 'z']) g.outputs.push({ name, type: FLOAT, dims: [size] });
  const session = await openSession(g.encode(), 1);
  const x = { data: new Float32Array(size), dims: [size] };
  const into = {
    y: { data: new Float32Array(size), dims: [size] },
    z: { data: new Float32Array(size), dims: [size] },
  };
  const before = process.memoryUsage().arrayBuffers;
  for (let i = 1; i <= 6; i++) {
    x.data.fill(i);
    const results = await session.run({ x }, into);
    assert.equal(results('y'), into.y.data);
    assert.deepEqual([into.y.data[0], into.y.data[size - 1], into.z.data[size >> 1]], [2 * i, 2 * i, i + 1]);
    assert.throws(() => results('w'), /no float32 output "w"/);
  }
  const more = process.memoryUsage().arrayBuffers - before;
  assert.ok(more < size * valueBytes, `${more} bytes more than before`);
  await session.release();
});
