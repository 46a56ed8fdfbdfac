import { permute4 } from './permute.ts';
import { activations, padding } from '../tflite/schema.ts';
import type { OperatorName } from '../tflite/schema.ts';
import type { Result, TfliteGraph } from '../tflite/writer.ts';
import { windowsOf } from './layers.ts';
import type { ConvLayer, Layer, LayerOf } from './layers.ts';

/** A tensor of the graph, [1,H,W,C]. */
export interface TensorRef {
  tensor: number;
  shape: readonly [1, number, number, number];
}

/** Emits the layers whose inputs are in `values`, and adds their outputs to it. */
export function emitTflite(g: TfliteGraph, layers: readonly Layer[], values: Map<number, TensorRef>): void {
  const of = (value: number): TensorRef => {
    const placed = values.get(value);
    if (placed === undefined) throw new Error(`value ${value} is used before it is made`);
    return placed;
  };
  for (const layer of layers) if (!values.has(layer.output)) values.set(layer.output, emit(g, layer, of));
}

function emit(g: TfliteGraph, layer: Layer, of: (value: number) => TensorRef): TensorRef {
  const scalar = (value: number): number => g.constant(Float32Array.of(value), []);
  const like = (name: OperatorName, { tensor, shape }: TensorRef): TensorRef => ({
    tensor: g.op(name, [tensor], { shape }),
    shape,
  });
  switch (layer.is) {
    case 'conv':
      return convolution(g, layer, of(layer.input));
    case 'add':
    case 'multiply': {
      const [a, b] = [of(layer.inputs[0]), of(layer.inputs[1])];
      const name = layer.is === 'add' ? 'ADD' : 'MUL';
      return { tensor: g.op(name, [a.tensor, b.tensor], { shape: a.shape }), shape: a.shape };
    }
    case 'scale': {
      const { factor, offset = 0 } = layer;
      const { tensor, shape } = of(layer.input);
      const scaled = g.op('MUL', [tensor, scalar(factor)], { shape });
      return { tensor: offset === 0 ? scaled : g.op('ADD', [scaled, scalar(offset)], { shape }), shape };
    }
    case 'concat': {
      const parts = layer.inputs.map(of);
      const [, height, width] = parts[0]?.shape ?? [1, 0, 0, 0];
      const channels = parts.reduce((sum, { shape }) => sum + shape[3], 0);
      const shape = [1, height, width, channels] as const;
      const tensors = parts.map(({ tensor }) => tensor);
      return { tensor: g.op('CONCATENATION', tensors, { shape }, { axis: 3 }), shape };
    }
    case 'average-pool':
      return averagePool(g, of(layer.input), layer.size, layer.size);
    case 'window-evidence':
      return windowEvidence(g, layer, of(layer.input));
    case 'mean':
      return overPositions(g, 'MEAN', of(layer.input));
    case 'upsample': {
      const { tensor, shape: from } = of(layer.input);
      const [height, width] = [from[1] * layer.factor, from[2] * layer.factor];
      const shape = [1, height, width, from[3]] as const;
      const size = g.constant(Int32Array.of(height, width), [2]);
      const options = { alignCorners: 0, halfPixelCenters: layer.anchor === 'center' ? 1 : 0 };
      return { tensor: g.op('RESIZE_BILINEAR', [tensor, size], { shape }, options), shape };
    }
    case 'hard-sigmoid': {
      const { tensor, shape } = of(layer.input);
      const raised = g.op('ADD', [tensor, scalar(3)], { shape }, { activation: activations.relu6 });
      return { tensor: g.op('MUL', [raised, scalar(1 / 6)], { shape }), shape };
    }
    case 'hard-swish':
      return like('HARD_SWISH', of(layer.input));
    case 'dropout':
      return of(layer.input);
    case 'relu':
      return like('RELU', of(layer.input));
    case 'sigmoid':
      return like('LOGISTIC', of(layer.input));
  }
}

function overPositions(g: TfliteGraph, name: 'MEAN' | 'REDUCE_MAX', { tensor, shape: from }: TensorRef): TensorRef {
  const shape = [1, 1, 1, from[3]] as const;
  const axes = g.constant(Int32Array.of(1, 2), [2]);
  return { tensor: g.op(name, [tensor, axes], { shape }, { keepDims: 1 }), shape };
}

function averagePool(
  g: TfliteGraph,
  { tensor, shape: [, h, w, c] }: TensorRef,
  size: number,
  stride: number,
): TensorRef {
  const shape = [1, Math.floor((h - size) / stride) + 1, Math.floor((w - size) / stride) + 1, c] as const;
  const options = { padding: padding.valid, strideWidth: stride, strideHeight: stride };
  const filter = { filterWidth: size, filterHeight: size, activation: activations.none };
  return { tensor: g.op('AVERAGE_POOL_2D', [tensor], { shape }, { ...options, ...filter }), shape };
}

/** The highest position bounds the means of all windows, so no power overflows. */
function windowEvidence(g: TfliteGraph, layer: LayerOf<'window-evidence'>, x: TensorRef): TensorRef {
  const scalar = (value: number): number => g.constant(Float32Array.of(value), []);
  const highest = overPositions(g, 'REDUCE_MAX', x);
  const { shape } = highest;
  const parts = windowsOf(layer).map(({ size, share }) => {
    const means = averagePool(g, x, size, 1);
    const above = g.op('SUB', [means.tensor, highest.tensor], { shape: means.shape });
    const powers = g.op('EXP', [g.op('MUL', [above, scalar(layer.sharpness)], { shape: means.shape })], {
      shape: means.shape,
    });
    const mean = overPositions(g, 'MEAN', { tensor: powers, shape: means.shape });
    return g.op('MUL', [mean.tensor, scalar(share)], { shape });
  });
  const mean = parts.reduce((sum, part) => g.op('ADD', [sum, part], { shape }));
  const log = g.op('MUL', [g.op('LOG', [mean], { shape }), scalar(1 / layer.sharpness)], { shape });
  return { tensor: g.op('ADD', [log, highest.tensor], { shape }), shape };
}

function convolution(g: TfliteGraph, layer: ConvLayer, x: TensorRef): TensorRef {
  const { dims, weights, bias, depthwise } = layer;
  const [o, c, h, w] = dims;
  const kernel = depthwise
    ? g.constant(permute4(weights, dims, [1, 2, 3, 0]), [c, h, w, o])
    : g.constant(permute4(weights, dims, [0, 2, 3, 1]), [o, h, w, c]);
  const inputs = [x.tensor, kernel, g.constant(bias, [o])];
  const shape = shapeAfter(layer, x);
  return { tensor: convolve(g, layer, inputs, { shape }), shape };
}

export const shapeAfter = ({ stride, dims }: ConvLayer, { shape: [, h, w] }: TensorRef): TensorRef['shape'] => [
  1,
  Math.ceil(h / stride),
  Math.ceil(w / stride),
  dims[0],
];

/**
 * TensorFlow Lite's SAME padding matches that of the layers: the odd pixel at the end.
 *
 * @param inputs - image, weights and bias.
 */
export function convolve(
  g: TfliteGraph,
  { stride, relu, depthwise }: ConvLayer,
  inputs: readonly number[],
  result: Result,
): number {
  const common = {
    padding: padding.same,
    strideWidth: stride,
    strideHeight: stride,
    activation: relu === 6 ? activations.relu6 : relu ? activations.relu : activations.none,
  };
  return depthwise
    ? g.op('DEPTHWISE_CONV_2D', inputs, result, { ...common, depthMultiplier: 1 })
    : g.op('CONV_2D', inputs, result, common);
}
