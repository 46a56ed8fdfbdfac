/** Reference kernels without a filter: element-wise operations and data movement. */
import type { TfliteOperator } from './reader.ts';
import { activations } from './schema.ts';

export interface Array4 {
  shape: readonly number[];
  values: Float32Array;
}
/** @param shape - shape of the first result. */
export type Kernel = (
  inputs: readonly Array4[],
  operator: TfliteOperator,
  shape: readonly number[],
) => Float32Array | readonly Float32Array[];

export const sizeOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);
export const at = (shape: readonly number[], axis: number): number => shape[axis] ?? 1;

export function input(inputs: readonly Array4[], index: number): Array4 {
  const found = inputs[index];
  if (!found) throw new Error(`input ${index} of an operator is missing`);
  return found;
}

export function applyActivation(values: Float32Array, code: number): Float32Array {
  if (code === activations.none) return values;
  const top = code === activations.relu6 ? 6 : Infinity;
  for (let i = 0; i < values.length; i++) values[i] = Math.min(top, Math.max(0, values[i] ?? 0));
  return values;
}

/** Stride of an operand along each axis of the result; 0 along broadcast axes. */
function steps(operand: readonly number[], shape: readonly number[]): number[] {
  const found: number[] = [];
  let step = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const size = operand[axis - shape.length + operand.length] ?? 1;
    found[axis] = size === 1 ? 0 : step;
    step *= size;
  }
  return found;
}

/** Broadcasts axes of size 1 and missing leading axes, as NumPy does. */
function elementwise(combine: (a: number, b: number) => number): Kernel {
  return (inputs, { options }, shape) => {
    const [a, b] = [input(inputs, 0), input(inputs, 1)];
    const out = new Float32Array(sizeOf(shape));
    if (a.values.length === out.length && out.length % b.values.length === 0 && isTail(b.shape, shape)) {
      const period = b.values.length;
      for (let i = 0; i < out.length; i++) out[i] = combine(a.values[i] ?? 0, b.values[i % period] ?? 0);
      return applyActivation(out, options['activation'] ?? 0);
    }
    const [stepsA, stepsB] = [steps(a.shape, shape), steps(b.shape, shape)];
    for (let i = 0; i < out.length; i++) {
      let [rest, fromA, fromB] = [i, 0, 0];
      for (let axis = shape.length - 1; axis >= 0; axis--) {
        const position = rest % at(shape, axis);
        rest = Math.floor(rest / at(shape, axis));
        fromA += position * at(stepsA, axis);
        fromB += position * at(stepsB, axis);
      }
      out[i] = combine(a.values[fromA] ?? 0, b.values[fromB] ?? 0);
    }
    return applyActivation(out, options['activation'] ?? 0);
  };
}
/** Whether the operand's values repeat in order: its shape is the tail of the result's shape. */
function isTail(operand: readonly number[], shape: readonly number[]): boolean {
  const sizes = operand.slice(operand.findIndex((size) => size !== 1));
  if (sizeOf(operand) === 1) return true;
  return sizes.every((size, i) => size === shape[shape.length - sizes.length + i]);
}

const mapped =
  (change: (x: number) => number): Kernel =>
  (inputs) =>
    input(inputs, 0).values.map(change);

/** For [1,H,W,C]; a pixel's position is its upper left corner or, with half pixels, its centre. */
function resizeBilinear(
  inputs: readonly Array4[],
  { options }: TfliteOperator,
  shape: readonly number[],
): Float32Array {
  const x = input(inputs, 0);
  const [height, width, channels] = [at(x.shape, 1), at(x.shape, 2), at(x.shape, 3)];
  const [tall, wide] = [at(shape, 1), at(shape, 2)];
  if (options['alignCorners']) throw new Error('RESIZE_BILINEAR with aligned corners');
  const half = options['halfPixelCenters'] ? 0.5 : 0;
  const place = (i: number, from: number, to: number): readonly [number, number, number] => {
    const position = Math.max(0, ((i + half) * from) / to - half);
    const low = Math.min(from - 1, Math.floor(position));
    return [low, Math.min(from - 1, low + 1), position - low];
  };
  const out = new Float32Array(sizeOf(shape));
  for (let i = 0; i < tall; i++) {
    const [upper, lower, down] = place(i, height, tall);
    for (let j = 0; j < wide; j++) {
      const [left, right, across] = place(j, width, wide);
      for (let c = 0; c < channels; c++) {
        const value = (row: number, column: number): number => x.values[(row * width + column) * channels + c] ?? 0;
        const top = value(upper, left) * (1 - across) + value(upper, right) * across;
        const bottom = value(lower, left) * (1 - across) + value(lower, right) * across;
        out[(i * wide + j) * channels + c] = top * (1 - down) + bottom * down;
      }
    }
  }
  return out;
}

/** Concatenates along the last axis. */
function concatenation(inputs: readonly Array4[], { options }: TfliteOperator, shape: readonly number[]): Float32Array {
  const axis = options['axis'] ?? 0;
  if (axis !== shape.length - 1) throw new Error(`CONCATENATION along axis ${axis}`);
  const width = at(shape, axis);
  const out = new Float32Array(sizeOf(shape));
  let from = 0;
  for (const { shape: own, values } of inputs) {
    const part = at(own, axis);
    for (let row = 0; row * part < values.length; row++) {
      out.set(values.subarray(row * part, (row + 1) * part), row * width + from);
    }
    from += part;
  }
  return out;
}

/** Gathers along the first or the last axis of the first operand. */
function gather(inputs: readonly Array4[], { options }: TfliteOperator, shape: readonly number[]): Float32Array {
  const [x, rows] = [input(inputs, 0), input(inputs, 1)];
  const axis = options['axis'] ?? 0;
  const out = new Float32Array(sizeOf(shape));
  if (axis > 0) {
    if (axis !== x.shape.length - 1) throw new Error('GATHER along a middle axis');
    const [columns, from] = [rows.values.length, at(x.shape, axis)];
    for (let i = 0; i < out.length; i++) {
      out[i] = x.values[Math.floor(i / columns) * from + (rows.values[i % columns] ?? 0)] ?? 0;
    }
    return out;
  }
  const width = sizeOf(x.shape.slice(1));
  for (const [i, row] of rows.values.entries()) out.set(x.values.subarray(row * width, (row + 1) * width), i * width);
  return out;
}

function topK(inputs: readonly Array4[], _: TfliteOperator, shape: readonly number[]): Float32Array[] {
  const { values } = input(inputs, 0);
  if (shape.length !== 1) throw new Error('TOPK_V2 of more than a list');
  const order = [...values.keys()].toSorted((a, b) => (values[b] ?? 0) - (values[a] ?? 0) || a - b);
  const indices = order.slice(0, at(shape, 0));
  return [Float32Array.from(indices, (i) => values[i] ?? 0), Float32Array.from(indices)];
}

/** Splits [n, count] into columns. */
function split(inputs: readonly Array4[], { options }: TfliteOperator): Float32Array[] {
  const [axis, x] = [input(inputs, 0), input(inputs, 1)];
  const count = options['count'] ?? 0;
  if (axis.values[0] !== 1 || at(x.shape, 1) !== count) throw new Error('SPLIT of other than columns');
  return Array.from({ length: count }, (_, column) => x.values.filter((__, i) => i % count === column));
}

/** Maximum of each row of [n, m], or over H and W of [1,H,W,C]. */
function maxima(inputs: readonly Array4[], _: TfliteOperator, shape: readonly number[]): Float32Array {
  const [x, axes] = [input(inputs, 0), input(inputs, 1)];
  if ([...axes.values].join() === '1,2' && x.shape.length === 4) {
    const channels = at(x.shape, 3);
    const out = new Float32Array(channels).fill(-Infinity);
    for (const [i, value] of x.values.entries()) out[i % channels] = Math.max(out[i % channels] ?? 0, value);
    return out;
  }
  const width = at(x.shape, 1);
  if (axes.values[0] !== 1 || x.shape.length !== 2) throw new Error('REDUCE_MAX of other than rows');
  return Float32Array.from({ length: sizeOf(shape) }, (__, row) =>
    Math.max(...x.values.subarray(row * width, (row + 1) * width)),
  );
}

export const plainKernels = {
  ADD: elementwise((a, b) => a + b),
  SUB: elementwise((a, b) => a - b),
  MUL: elementwise((a, b) => a * b),
  DIV: elementwise((a, b) => a / b),
  MAXIMUM: elementwise(Math.max),
  MINIMUM: elementwise(Math.min),
  GREATER: elementwise((a, b) => (a > b ? 1 : 0)),
  EQUAL: elementwise((a, b) => (a === b ? 1 : 0)),
  FLOOR_DIV: elementwise((a, b) => Math.floor(a / b)),
  FLOOR_MOD: elementwise((a, b) => a - Math.floor(a / b) * b),
  EXP: mapped(Math.exp),
  LOG: mapped(Math.log),
  SQRT: mapped(Math.sqrt),
  RELU: mapped((x) => Math.max(0, x)),
  HARD_SWISH: mapped((x) => (x * Math.min(6, Math.max(0, x + 3))) / 6),
  RESIZE_BILINEAR: resizeBilinear,
  CONCATENATION: concatenation,
  GATHER: gather,
  TOPK_V2: topK,
  SPLIT: split,
  REDUCE_MAX: maxima,
} satisfies Readonly<Partial<Record<TfliteOperator['op'], Kernel>>>;
