/** Tape operations that only some networks need. */
import { shape4 } from './tape.ts';
import type { Tape, Value } from './tape.ts';

export function relu(tape: Tape, x: Value): Value {
  const g = tape.graph;
  const name = g.op('Relu', [x.name]);
  return tape.derive({ name, shape: x.shape, trained: x.trained }, (dy) => {
    tape.accumulate(x, g.op('Where', [g.op('Greater', [name, g.scalar(0)]), dy, g.scalar(0)]));
  });
}

/** The same values in another shape. */
export function reshape(tape: Tape, x: Value, shape: readonly number[]): Value {
  const g = tape.graph;
  const name = g.op('Reshape', [x.name, g.ints(shape)]);
  return tape.derive({ name, shape, trained: x.trained }, (dy) => {
    tape.accumulate(x, g.op('Reshape', [dy, g.ints(x.shape)]));
  });
}

/** Multiplies by given factors, broadcast along axes of size 1. */
export function dropout(tape: Tape, x: Value, factors: Value): Value {
  const g = tape.graph;
  const name = g.op('Mul', [x.name, factors.name]);
  return tape.derive({ name, shape: x.shape, trained: x.trained }, (dy) => {
    tape.accumulate(x, g.op('Mul', [dy, factors.name]));
  });
}

/** Bilinear upsampling weights along one axis, with half-pixel centres: [to, from]. */
function bilinearWeights(from: number, factor: number): Float32Array {
  const to = from * factor;
  const weights = new Float32Array(to * from);
  for (let i = 0; i < to; i++) {
    const at = Math.min(from - 1, Math.max(0, (i + 0.5) / factor - 0.5));
    const low = Math.floor(at);
    const high = Math.min(from - 1, low + 1);
    const share = at - low;
    weights[i * from + low] = (weights[i * from + low] ?? 0) + 1 - share;
    weights[i * from + high] = (weights[i * from + high] ?? 0) + share;
  }
  return weights;
}
function transpose(values: Float32Array, rows: number, columns: number): Float32Array {
  return Float32Array.from(values, (_, i) => values[(i % rows) * columns + Math.floor(i / rows)] ?? 0);
}

/** Bilinear upsampling by an integer factor. As two matrix products, its gradient is two matrix products, too. */
export function upsample(tape: Tape, x: Value, factor: number): Value {
  const g = tape.graph;
  const [n, c, height, width] = shape4(x);
  const [tall, wide] = [height * factor, width * factor];
  const rows = bilinearWeights(height, factor);
  const columns = bilinearWeights(width, factor);
  const up = g.constant(rows, [tall, height]);
  const upTurned = g.constant(transpose(rows, tall, height), [height, tall]);
  const across = g.constant(columns, [wide, width]);
  const acrossTurned = g.constant(transpose(columns, wide, width), [width, wide]);
  const name = g.op('MatMul', [up, g.op('MatMul', [x.name, acrossTurned])]);
  return tape.derive({ name, shape: [n, c, tall, wide], trained: x.trained }, (dy) => {
    tape.accumulate(x, g.op('MatMul', [upTurned, g.op('MatMul', [dy, across])]));
  });
}
