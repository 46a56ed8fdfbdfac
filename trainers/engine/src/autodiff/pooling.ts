/** Tape operations that summarize positions. NCHW. */
import { reshape } from './operations.ts';
import { shape4 } from './tape.ts';
import type { Tape, Value } from './tape.ts';

/** Mean of each block of size × size positions; the size divides height and width. */
export function averagePool(tape: Tape, x: Value, size: number): Value {
  const g = tape.graph;
  const [n, c, height, width] = shape4(x);
  const [h, w] = [height / size, width / size];
  const name = g.op('AveragePool', [x.name], { kernel_shape: [size, size], strides: [size, size] });
  return tape.derive({ name, shape: [n, c, h, w], trained: x.trained }, (dy) => {
    const share = g.op('Reshape', [g.op('Mul', [dy, g.scalar(1 / size ** 2)]), g.ints([n, c, h, 1, w, 1])]);
    const everywhere = g.op('Expand', [share, g.ints([n, c, h, size, w, size])]);
    tape.accumulate(x, g.op('Reshape', [everywhere, g.ints(x.shape)]));
  });
}

/** Concatenates along the channels. */
export function concatChannels(tape: Tape, values: readonly Value[]): Value {
  const g = tape.graph;
  const shapes = values.map(shape4);
  const ends = shapes.map((_, i) => shapes.slice(0, i + 1).reduce((sum, [, c]) => sum + c, 0));
  const [[n, , h, w] = [0, 0, 0, 0]] = shapes;
  const name = g.op(
    'Concat',
    values.map((one) => one.name),
    { axis: 1 },
  );
  const trained = values.some((one) => one.trained);
  return tape.derive({ name, shape: [n, ends.at(-1) ?? 0, h, w], trained }, (dy) => {
    for (const [i, value] of values.entries()) {
      if (!value.trained) continue;
      tape.accumulate(value, g.op('Slice', [dy, g.ints([ends[i - 1] ?? 0]), g.ints([ends[i] ?? 0]), g.ints([1])]));
    }
  });
}

/** Over height and width, which become 1. */
export function meanOfPositions(tape: Tape, x: Value): Value {
  const [n, c] = shape4(x);
  return reshape(tape, tape.averagePool(x), [n, c, 1, 1]);
}

/** [positions, windows]: each column averages the positions of one square window on a map of edge × edge. */
function windowMeans(sizes: readonly number[], edge: number): { values: Float32Array; count: number } {
  const windows = sizes.flatMap((size) => {
    const columns = edge - size + 1;
    return Array.from({ length: columns ** 2 }, (_, i) => ({ size, top: Math.floor(i / columns), left: i % columns }));
  });
  const values = new Float32Array(edge ** 2 * windows.length);
  for (const [i, { size, top, left }] of windows.entries()) {
    for (let y = top; y < top + size; y++) {
      for (let x = left; x < left + size; x++) values[(y * edge + x) * windows.length + i] = 1 / size ** 2;
    }
  }
  return { values, count: windows.length };
}
function transposed(values: Float32Array, rows: number): Float32Array {
  const columns = values.length / rows;
  return Float32Array.from(values, (_, i) => values[(i % rows) * columns + Math.floor(i / rows)] ?? 0);
}

/** The layer of this name. [N,C,edge,edge] → [N,C,1,1] */
export function windowEvidence(tape: Tape, x: Value, sizes: readonly number[], sharpness: number): Value {
  const g = tape.graph;
  const [n, c, edge] = shape4(x);
  const means = windowMeans(sizes, edge);
  const matrix = g.constant(means.values, [edge ** 2, means.count]);
  const flat = g.op('Reshape', [x.name, g.ints([n * c, edge ** 2])]);
  const sharp = g.op('Mul', [g.op('MatMul', [flat, matrix]), g.scalar(sharpness)]);
  const sum = g.op('ReduceLogSumExp', [sharp], { axes: [1], keepdims: 1 });
  const mean = g.op('Mul', [g.op('Sub', [sum, g.scalar(Math.log(means.count))]), g.scalar(1 / sharpness)]);
  const shape = [n, c, 1, 1];
  return tape.derive({ name: g.op('Reshape', [mean, g.ints(shape)]), shape, trained: x.trained }, (dy) => {
    const shares = g.op('Mul', [g.op('Softmax', [sharp], { axis: 1 }), g.op('Reshape', [dy, g.ints([n * c, 1])])]);
    const back = g.constant(transposed(means.values, edge ** 2), [means.count, edge ** 2]);
    tape.accumulate(x, g.op('Reshape', [g.op('MatMul', [shares, back]), g.ints(x.shape)]));
  });
}
