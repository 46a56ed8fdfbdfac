/** Measures the ranges of a network's values on images. */
import { FLOAT, Graph, UINT8 } from '../onnx/graph.ts';
import { emitOnnx } from '../network/onnx.ts';
import { needed } from '../network/layers.ts';
import type { Layer } from '../network/layers.ts';
import type { Session } from '../runtime.ts';
import { rangeOf } from '../quantization.ts';
import type { Range } from '../quantization.ts';

/** Pixels are from 0 to 255, whatever the images hold. */
const ofImage: Range = { low: 0, high: 255 };

/** Input: image [1,S,S,3] uint8. Outputs: the lowest and the highest number of each value, `low` and `high`. */
export function rangeGraph(layers: readonly Layer[], side: number, values: readonly number[]): Buffer {
  const graph = new Graph();
  graph.inputs.push({ name: 'image', type: UINT8, dims: [1, side, side, 3] });
  const image = graph.op('Transpose', [graph.op('Cast', ['image'], { to: FLOAT })], { perm: [0, 3, 1, 2] });
  const names = new Map([[0, image]]);
  emitOnnx(graph, needed(layers, values), names);
  for (const [output, reduce] of [
    ['low', 'ReduceMin'],
    ['high', 'ReduceMax'],
  ] as const) {
    const ends = values.map((value) => graph.op(reduce, [names.get(value) ?? ''], { keepdims: 1 }));
    const listed = ends.map((end) => graph.op('Reshape', [end, graph.ints([1])]));
    graph.op('Concat', listed, { axis: 0 }, output);
    graph.outputs.push({ name: output, type: FLOAT, dims: [values.length] });
  }
  return graph.encode();
}

/** @param images - pixels of each image. */
export async function measureRanges(
  session: Session,
  { side, values, signal }: { side: number; values: readonly number[]; signal: AbortSignal },
  images: readonly (() => Uint8Array)[],
): Promise<ReadonlyMap<number, Range>> {
  const found = values.map((): Range[] => []);
  for (const pixels of images) {
    signal.throwIfAborted();
    const results = await session.run({ image: { data: pixels(), dims: [1, side, side, 3] } });
    const [low, high] = [results('low'), results('high')];
    for (const [i, ranges] of found.entries()) ranges.push({ low: low[i] ?? 0, high: high[i] ?? 0 });
  }
  return new Map(values.map((value, i) => [value, value === 0 ? ofImage : rangeOf(found[i] ?? [])]));
}
