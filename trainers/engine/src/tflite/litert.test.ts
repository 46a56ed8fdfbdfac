import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTflite } from './litert.ts';
import { elementTypes } from './schema.ts';
import { TfliteGraph } from './writer.ts';

const never = new AbortController().signal;

/** Adds to each value of a 1 × 2 × 2 × 1 image. */
function addition(added: number): Uint8Array {
  const graph = new TfliteGraph();
  const shape = [1, 2, 2, 1];
  const cast = { from: elementTypes.uint8, to: elementTypes.float32 };
  const x = graph.op('CAST', [graph.input('image', 'uint8', shape)], { shape }, cast);
  graph.outputs.push(graph.op('ADD', [x, graph.constant(Float32Array.of(added), [1])], { shape, name: 'sum' }));
  return graph.encode();
}

test('a file runs in LiteRT, image after image, and two files at once', async () => {
  await using one = await openTflite(addition(0.5), never);
  await using other = await openTflite(addition(-1), never);
  for (const first of [1, 255]) {
    const image = Uint8Array.of(first, 2, 3, 4);
    assert.deepEqual((await one.run(image)).outputs, { sum: Float32Array.of(first + 0.5, 2.5, 3.5, 4.5) });
    assert.deepEqual((await other.run(image)).outputs, { sum: Float32Array.of(first - 1, 1, 2, 3) });
  }
});

test('bytes without a model, and an image of another size, are refused', async () => {
  await assert.rejects(openTflite(new Uint8Array(64), never));
  await using session = await openTflite(addition(1), never);
  await assert.rejects(session.run(new Uint8Array(3)));
});

test('a cancelled job does not wait for LiteRT', async () => {
  const job = new AbortController();
  await using session = await openTflite(addition(1), job.signal);
  const reason = new Error('cancelled');
  const running = session.run(new Uint8Array(4));
  job.abort(reason);
  await assert.rejects(running, reason);
  await assert.rejects(openTflite(addition(1), job.signal), reason);
});
