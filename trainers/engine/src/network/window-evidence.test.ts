/** The three forms of a layer that sums up windows: training, ONNX, TensorFlow Lite. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { windowEvidence } from '../autodiff/pooling.ts';
import { Tape } from '../autodiff/tape.ts';
import { FLOAT } from '../onnx/graph.ts';
import { seeded } from '../random.ts';
import { openSession } from '../runtime.ts';
import { elementTypes } from '../tflite/schema.ts';
import { TfliteGraph } from '../tflite/writer.ts';
import { windowsOf } from './layers.ts';
import type { LayerOf } from './layers.ts';
import { emitOnnx } from './onnx.ts';
import { emitTflite } from './tflite.ts';
import type { TensorRef } from './tflite.ts';
import { runTflite } from '../../test/run-tflite.ts';

const [edge, channels, sharpness] = [4, 3, 4];
const sizes = [1, 2, 4];
const layer: LayerOf<'window-evidence'> = { is: 'window-evidence', input: 0, output: 1, edge, sizes, sharpness };

/** The definition, in plain loops. [edge,edge,channels] */
function expected(map: readonly number[], channel: number): number {
  let [sum, count] = [0, 0];
  for (const size of sizes) {
    for (let top = 0; top + size <= edge; top++) {
      for (let left = 0; left + size <= edge; left++) {
        let mean = 0;
        for (let y = top; y < top + size; y++) {
          for (let x = left; x < left + size; x++) mean += (map[(y * edge + x) * channels + channel] ?? 0) / size ** 2;
        }
        sum += Math.exp(sharpness * mean);
        count++;
      }
    }
  }
  return Math.log(sum / count) / sharpness;
}

test('training, ONNX and TensorFlow Lite sum up windows as defined', async () => {
  const random = seeded('windows');
  const image = Uint8Array.from({ length: edge * edge * channels }, () => random() * 12);
  const wanted = Array.from({ length: channels }, (_, c) => expected([...image], c));

  const tape = new Tape();
  const x = tape.input('x', [1, channels, edge, edge]);
  const trained = windowEvidence(tape, x, sizes, sharpness);
  const values = new Map([[0, x.name]]);
  emitOnnx(tape.graph, [layer], values);
  tape.graph.op('Identity', [trained.name], {}, 'trained');
  tape.graph.op('Identity', [values.get(1) ?? ''], {}, 'exported');
  for (const name of ['trained', 'exported']) tape.graph.outputs.push({ name, type: FLOAT });
  const session = await openSession(tape.graph.encode(), 1);
  const planes = Float32Array.from(image, (_, i) => image[(i % edge ** 2) * channels + Math.floor(i / edge ** 2)] ?? 0);
  const results = await session.run({ x: { data: planes, dims: [1, channels, edge, edge] } });
  await session.release();

  const graph = new TfliteGraph();
  const shape = [1, edge, edge, channels] as const;
  const cast = { from: elementTypes.uint8, to: elementTypes.float32 };
  const refs = new Map<number, TensorRef>([
    [0, { tensor: graph.op('CAST', [graph.input('image', 'uint8', shape)], { shape }, cast), shape }],
  ]);
  emitTflite(graph, [layer], refs);
  graph.outputs.push(refs.get(1)?.tensor ?? -1);
  const found = await runTflite(graph.encode(), image);

  for (const [what, list] of Object.entries({
    trained: results('trained'),
    exported: results('exported'),
    tflite: Object.values(found)[0] ?? [],
  })) {
    for (const [c, value] of wanted.entries()) {
      assert.ok(Math.abs(value - (list[c] ?? Number.NaN)) < 1e-4, `${what}: ${list[c]} instead of ${value}`);
    }
  }
});

test('each window counts alike, and a window that does not fit is an error', () => {
  assert.deepEqual(windowsOf(layer), [
    { size: 1, share: 16 / 26 },
    { size: 2, share: 9 / 26 },
    { size: 4, share: 1 / 26 },
  ]);
  assert.throws(() => windowsOf({ ...layer, sizes: [5] }), /windows of 5 positions on a map of 4/);
});
