/**
 * Runs a .tflite file according to TensorFlow Lite's reference kernels, slowly, with float64 sums. It reads the
 * exported bytes and shares only the schema's numbers with the writer. A training can therefore check its file on hosts
 * without TensorFlow Lite.
 */
import { readTflite } from './reader.ts';
import type { TfliteModel, TfliteOperator, TfliteTensor } from './reader.ts';
import { dequantize, quantize } from '../quantization.ts';
import { applyActivation, at, input, plainKernels, sizeOf } from './kernels.ts';
import type { Array4, Kernel } from './kernels.ts';
import { padding } from './schema.ts';

/** Output size and padding at the start. */
function placed(size: number, filter: number, stride: number, scheme: number): { out: number; before: number } {
  if (scheme === padding.valid) return { out: Math.ceil((size - filter + 1) / stride), before: 0 };
  const out = Math.ceil(size / stride);
  return { out, before: Math.max((out - 1) * stride + filter - size, 0) >> 1 };
}

/** Calls `visit` with the positions in output, input and filter for every pair of pixels. */
function slide(
  { shape }: Array4,
  filter: readonly [number, number],
  { options }: TfliteOperator,
  visit: (out: number, from: number, tap: number) => void,
): void {
  const [height, width] = [at(shape, 1), at(shape, 2)];
  const [strideHeight, strideWidth] = [options['strideHeight'] ?? 1, options['strideWidth'] ?? 1];
  const scheme = options['padding'] ?? padding.same;
  const rows = placed(height, filter[0], strideHeight, scheme);
  const columns = placed(width, filter[1], strideWidth, scheme);
  for (let y = 0; y < rows.out; y++) {
    for (let i = 0; i < filter[0]; i++) {
      const row = y * strideHeight - rows.before + i;
      if (row < 0 || row >= height) continue;
      for (let x = 0; x < columns.out; x++) {
        for (let j = 0; j < filter[1]; j++) {
          const column = x * strideWidth - columns.before + j;
          if (column < 0 || column >= width) continue;
          visit(y * columns.out + x, row * width + column, i * filter[1] + j);
        }
      }
    }
  }
}

function convolution(inputs: readonly Array4[], operator: TfliteOperator, shape: readonly number[]): Float32Array {
  const [x, w, b] = [input(inputs, 0), input(inputs, 1), input(inputs, 2)];
  const [filters, fh, fw, depth] = [at(w.shape, 0), at(w.shape, 1), at(w.shape, 2), at(w.shape, 3)];
  const sums = new Float64Array(sizeOf(shape));
  for (let i = 0; i < sums.length; i++) sums[i] = b.values[i % filters] ?? 0;
  slide(x, [fh, fw], operator, (out, from, tap) => {
    for (let o = 0; o < filters; o++) {
      let sum = 0;
      const weights = (o * fh * fw + tap) * depth;
      for (let c = 0; c < depth; c++) sum += (x.values[from * depth + c] ?? 0) * (w.values[weights + c] ?? 0);
      sums[out * filters + o] = (sums[out * filters + o] ?? 0) + sum;
    }
  });
  return applyActivation(rounded(sums), operator.options['activation'] ?? 0);
}

function depthwise(inputs: readonly Array4[], operator: TfliteOperator, shape: readonly number[]): Float32Array {
  const [x, w, b] = [input(inputs, 0), input(inputs, 1), input(inputs, 2)];
  const [fh, fw, channels] = [at(w.shape, 1), at(w.shape, 2), at(w.shape, 3)];
  const sums = new Float64Array(sizeOf(shape));
  for (let i = 0; i < sums.length; i++) sums[i] = b.values[i % channels] ?? 0;
  slide(x, [fh, fw], operator, (out, from, tap) => {
    for (let c = 0; c < channels; c++) {
      const product = (x.values[from * channels + c] ?? 0) * (w.values[tap * channels + c] ?? 0);
      sums[out * channels + c] = (sums[out * channels + c] ?? 0) + product;
    }
  });
  return applyActivation(rounded(sums), operator.options['activation'] ?? 0);
}
/** Frees the sums at once instead of by garbage collection: those of a large image take tens of megabytes. */
function rounded(sums: Float64Array<ArrayBuffer>): Float32Array {
  const values = Float32Array.from(sums);
  sums.buffer.transfer(0);
  return values;
}

function maxPool(inputs: readonly Array4[], operator: TfliteOperator, shape: readonly number[]): Float32Array {
  const x = input(inputs, 0);
  const channels = at(x.shape, 3);
  const { filterHeight = 1, filterWidth = 1, activation = 0 } = operator.options;
  const out = new Float32Array(sizeOf(shape)).fill(-Infinity);
  slide(x, [filterHeight, filterWidth], operator, (to, from) => {
    for (let c = 0; c < channels; c++) {
      const value = x.values[from * channels + c] ?? 0;
      if (value > (out[to * channels + c] ?? 0)) out[to * channels + c] = value;
    }
  });
  return applyActivation(out, activation);
}

/** Without padding alone: with it, runtimes count the pixels of the image only. */
function averagePool(inputs: readonly Array4[], operator: TfliteOperator, shape: readonly number[]): Float32Array {
  const x = input(inputs, 0);
  const channels = at(x.shape, 3);
  const { filterHeight = 1, filterWidth = 1, activation = 0, padding: scheme = padding.same } = operator.options;
  if (scheme !== padding.valid) throw new Error('AVERAGE_POOL_2D with padding');
  const sums = new Float64Array(sizeOf(shape));
  slide(x, [filterHeight, filterWidth], operator, (to, from) => {
    for (let c = 0; c < channels; c++) {
      sums[to * channels + c] = (sums[to * channels + c] ?? 0) + (x.values[from * channels + c] ?? 0);
    }
  });
  return applyActivation(
    Float32Array.from(sums, (sum) => sum / (filterHeight * filterWidth)),
    activation,
  );
}

/** Mean of [1,H,W,C] over H and W. */
function meanOverPixels(inputs: readonly Array4[], operator: TfliteOperator): Float32Array {
  const { shape, values } = input(inputs, 0);
  const axes = [...input(inputs, 1).values];
  if (axes.join(',') !== '1,2' || at(shape, 0) !== 1) throw new Error(`MEAN over the axes ${axes.join(', ')}`);
  if (operator.options['keepDims'] === undefined) throw new Error('MEAN without options');
  const channels = at(shape, 3);
  const sums = new Float64Array(channels);
  for (const [i, value] of values.entries()) sums[i % channels] = (sums[i % channels] ?? 0) + value;
  return Float32Array.from(sums, (sum) => (sum * channels) / values.length);
}

function fullyConnected(inputs: readonly Array4[], { options }: TfliteOperator): Float32Array {
  const [x, w, b] = [input(inputs, 0), input(inputs, 1), input(inputs, 2)];
  const [rows, size] = [at(w.shape, 0), at(w.shape, 1)];
  const out = Float32Array.from({ length: rows }, (_, row) => {
    let sum = b.values[row] ?? 0;
    for (let i = 0; i < size; i++) sum += (x.values[i] ?? 0) * (w.values[row * size + i] ?? 0);
    return sum;
  });
  return applyActivation(out, options['activation'] ?? 0);
}

function softmax(inputs: readonly Array4[], { options }: TfliteOperator): Float32Array {
  const { values } = input(inputs, 0);
  const beta = options['beta'] ?? 1;
  const max = values.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = Float64Array.from(values, (x) => Math.exp(beta * (x - max)));
  const sum = powers.reduce((a, b) => a + b, 0);
  return Float32Array.from(powers, (power) => power / sum);
}

const kernels: Readonly<Partial<Record<TfliteOperator['op'], Kernel>>> = {
  ...plainKernels,
  CAST: (inputs) => Float32Array.from(input(inputs, 0).values),
  RESHAPE: (inputs) => Float32Array.from(input(inputs, 0).values),
  QUANTIZE: (inputs) => Float32Array.from(input(inputs, 0).values),
  DEQUANTIZE: (inputs) => Float32Array.from(input(inputs, 0).values),
  CONV_2D: convolution,
  DEPTHWISE_CONV_2D: depthwise,
  MEAN: meanOverPixels,
  FULLY_CONNECTED: fullyConnected,
  SOFTMAX: softmax,
  LOGISTIC: (inputs) => input(inputs, 0).values.map((x) => 1 / (1 + Math.exp(-x))),
  MAX_POOL_2D: maxPool,
  AVERAGE_POOL_2D: averagePool,
};

function constantValues(model: TfliteModel, index: number): Float32Array | undefined {
  const tensor = model.tensors[index];
  if (!tensor || tensor.data.byteLength === 0) return undefined;
  const bytes = Uint8Array.from(tensor.data);
  switch (tensor.type) {
    case 'float32':
      return new Float32Array(bytes.buffer);
    case 'int32':
      return realNumbers(new Int32Array(bytes.buffer), tensor);
    case 'int8':
      return realNumbers(new Int8Array(bytes.buffer), tensor);
    case 'uint8':
      return Float32Array.from(bytes);
    default:
      throw new Error(`constant ${tensor.name} has the type ${tensor.type}`);
  }
}

/** What the stored numbers of a constant stand for. */
function realNumbers(stored: Int8Array | Int32Array, { shape, quantization }: TfliteTensor): Float32Array {
  if (!quantization) return Float32Array.from(stored);
  const { scales, zeroPoints, dimension } = quantization;
  const inner = sizeOf(shape.slice(dimension + 1));
  return Float32Array.from(stored, (value, i) => {
    const slice = scales.length === 1 ? 0 : Math.floor(i / inner) % scales.length;
    return (value - (zeroPoints[slice] ?? 0)) * (scales[slice] ?? 1);
  });
}

/** Rounds a computed tensor of int8 to the numbers that it can hold; runtimes do so in integer arithmetic. */
function roundToStored(values: Float32Array, { type, quantization }: TfliteTensor): void {
  if (type !== 'int8') return;
  const [scale, zeroPoint] = [quantization?.scales[0], quantization?.zeroPoints[0]];
  if (scale === undefined || zeroPoint === undefined) throw new Error('a computed int8 tensor has no scale');
  const stored = { scale, zeroPoint };
  for (let i = 0; i < values.length; i++) values[i] = dequantize(quantize(values[i] ?? 0, stored), stored);
}

/** Results by the names of the output tensors. Throws if the file uses an unsupported operator. */
export function runTflite(file: Uint8Array, image: Uint8Array): Record<string, Float32Array> {
  const run = steps(file, image);
  for (;;) {
    const { done, value } = run.next();
    if (done === true) return value;
  }
}

/** The same as `runTflite`, but calls `pause` between operators: a large network takes seconds. */
export async function runTfliteInSteps(
  file: Uint8Array,
  image: Uint8Array,
  pause: () => Promise<void>,
): Promise<Record<string, Float32Array>> {
  const run = steps(file, image);
  for (;;) {
    const { done, value } = run.next();
    if (done === true) return value;
    await pause();
  }
}

/** DEQUANTIZE is for weights in half precision, too, which no file of this engine has. */
const hasKnownType = ({ op, inputs }: TfliteOperator, { tensors }: TfliteModel): boolean =>
  op !== 'DEQUANTIZE' || tensors[inputs[0] ?? -1]?.type === 'int8';

/** Yields after each operator. */
function* steps(file: Uint8Array, image: Uint8Array): Generator<undefined, Record<string, Float32Array>> {
  const model = readTflite(file);
  const computed = new Map<number, Float32Array>([[model.inputs[0] ?? -1, Float32Array.from(image)]]);
  const array = (index: number): Array4 => {
    const values = computed.get(index) ?? constantValues(model, index);
    if (!values) throw new Error(`tensor ${index} is used before it is computed`);
    return { shape: model.tensors[index]?.shape ?? [], values };
  };
  for (const [step, operator] of model.operators.entries()) {
    const kernel = kernels[operator.op];
    if (!kernel || !hasKnownType(operator, model))
      throw new Error(`operator ${step}, ${operator.op}, is not known here`);
    const shapes = operator.outputs.map((index) => model.tensors[index]?.shape ?? []);
    const result = kernel(operator.inputs.map(array), operator, shapes[0] ?? []);
    const results = result instanceof Float32Array ? [result] : result;
    for (const [i, output] of operator.outputs.entries()) {
      const [values = new Float32Array(), shape = []] = [results[i], shapes[i]];
      if (values.length !== sizeOf(shape)) {
        throw new Error(
          `operator ${step}, ${operator.op}, gave ${values.length} values for the shape ${shape.join(' × ')}`,
        );
      }
      const tensor = model.tensors[output];
      if (tensor) roundToStored(values, tensor);
      computed.set(output, values);
    }
    for (const index of operator.inputs) {
      const isNeeded =
        model.outputs.includes(index) || model.operators.slice(step + 1).some(({ inputs }) => inputs.includes(index));
      if (isNeeded) continue;
      const { buffer } = computed.get(index) ?? new Float32Array();
      if (buffer instanceof ArrayBuffer) buffer.transfer(0);
      computed.delete(index);
    }
    yield;
  }
  return Object.fromEntries(model.outputs.map((index) => [model.tensors[index]?.name ?? '', array(index).values]));
}
