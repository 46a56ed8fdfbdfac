// Features of frozen networks for the benches, cached in .cache/features by what they were computed from.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { emitOnnx } from '@platform/trainer-engine/network/onnx';
import { FLOAT, Graph } from '@platform/trainer-engine/onnx/graph';
import type { Backbone } from '@platform/trainer-engine/pretrained/efficientnet';
import { openSession } from '@platform/trainer-engine/runtime';
import { toNchw } from '../src/network.ts';

const cache = fileURLToPath(new URL('../../../.cache/features', import.meta.url));

/** What a frozen network says about one image. */
export interface ImageFeatures {
  /** Means of the last layer. */
  last: Float32Array;
  /** [channels of stride 16 and 32, cells of 32 × 32 px]; stride 16 averaged over 2 × 2. */
  cells: Float32Array;
}

function frozenGraph({ layers, taps }: Backbone, side: number): Buffer {
  const graph = new Graph();
  graph.inputs.push({ name: 'image', type: FLOAT, dims: [1, side, side, 3] });
  const values = new Map([[0, toNchw(graph, 'image')]]);
  emitOnnx(graph, layers, values);
  const at = (value: number): string => values.get(value) ?? '';
  graph.op('ReduceMean', [at(layers.length)], { axes: [2, 3], keepdims: 0 }, 'last');
  const halved = graph.op('AveragePool', [at(taps[16])], { kernel_shape: [2, 2], strides: [2, 2] });
  graph.op('Concat', [halved, at(taps[32])], { axis: 1 }, 'cells');
  for (const name of ['last', 'cells']) graph.outputs.push({ name, type: FLOAT });
  return graph.encode();
}

/** CPU time of one image in milliseconds: one thread, mean of 20 after one to warm up. */
export async function cpuMsOf(backbone: Backbone, side: number): Promise<number> {
  const session = await openSession(frozenGraph(backbone, side), 1);
  const image = { data: new Float32Array(side * side * 3).fill(100), dims: [1, side, side, 3] };
  await session.run({ image });
  const count = 20;
  const before = process.cpuUsage();
  for (let i = 0; i < count; i++) await session.run({ image });
  const { user, system } = process.cpuUsage(before);
  await session.release();
  return Math.round((user + system) / count / 100) / 10;
}

/**
 * @param key - names what `draw` makes; the same key must draw the same.
 * @param draw - writes image `i`, side × side × 3 values 0..255.
 */
export async function featuresOf(
  backbone: Backbone,
  side: number,
  key: string,
  count: number,
  draw: (i: number, into: Float32Array) => Promise<void> | void,
): Promise<ImageFeatures[]> {
  const hash = createHash('sha256').update([backbone.sha256, side, count, key].join('\n')).digest('hex').slice(0, 24);
  const file = path.join(cache, `${hash}.f32`);
  if (!existsSync(file)) {
    const session = await openSession(frozenGraph(backbone, side), 1);
    const image = new Float32Array(side * side * 3);
    const parts: Float32Array[] = [];
    for (let i = 0; i < count; i++) {
      await draw(i, image);
      const results = await session.run({ image: { data: image, dims: [1, side, side, 3] } });
      parts.push(results('last'), results('cells'));
    }
    await session.release();
    mkdirSync(cache, { recursive: true });
    writeFileSync(file, Buffer.concat(parts.map((one) => Buffer.from(one.buffer, one.byteOffset, one.byteLength))));
  }
  const bytes = readFileSync(file);
  const all = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
  const size = all.length / count;
  return Array.from({ length: count }, (_, i) => ({
    last: all.subarray(i * size, i * size + backbone.features),
    cells: all.subarray(i * size + backbone.features, (i + 1) * size),
  }));
}
