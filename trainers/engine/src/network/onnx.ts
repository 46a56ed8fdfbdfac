import type { Graph } from '../onnx/graph.ts';
import { windowsOf } from './layers.ts';
import type { ConvLayer, Layer, LayerOf, UpsampleLayer } from './layers.ts';

const onnxOps = { relu: 'Relu', sigmoid: 'Sigmoid' } as const;

function upsample(g: Graph, x: string, { factor, anchor }: UpsampleLayer): string {
  const scales = g.constant(Float32Array.of(1, 1, factor, factor), [4]);
  const mode = anchor === 'center' ? 'half_pixel' : 'asymmetric';
  return g.op('Resize', [x, '', scales], { mode: 'linear', coordinate_transformation_mode: mode });
}
/** @param inputs - image, weights and bias. */
export const convolve = (g: Graph, { dims, stride, depthwise }: ConvLayer, inputs: readonly string[]): string =>
  g.op('Conv', inputs, {
    auto_pad: 'SAME_UPPER',
    strides: [stride, stride],
    group: depthwise ? dims[0] : 1,
    kernel_shape: [dims[2], dims[3]],
  });
export function activated(g: Graph, y: string, relu: ConvLayer['relu']): string {
  if (relu === 6) return g.op('Clip', [y, g.scalar(0), g.scalar(6)]);
  return relu ? g.op('Relu', [y]) : y;
}
/** min(1, max(0, x/6 + 1/2)) */
const hardSigmoid = (g: Graph, x: string): string =>
  g.op('HardSigmoid', [x], { alpha: { float: 1 / 6 }, beta: { float: 0.5 } });

/** The highest position bounds the means of all windows, so no power overflows. */
function windowEvidence(g: Graph, x: string, layer: LayerOf<'window-evidence'>): string {
  const highest = g.op('ReduceMax', [x], { axes: [2, 3], keepdims: 1 });
  const parts = windowsOf(layer).map(({ size, share }) => {
    const means = g.op('AveragePool', [x], { kernel_shape: [size, size] });
    const powers = g.op('Exp', [g.op('Mul', [g.op('Sub', [means, highest]), g.scalar(layer.sharpness)])]);
    return g.op('Mul', [g.op('ReduceMean', [powers], { axes: [2, 3], keepdims: 1 }), g.scalar(share)]);
  });
  const mean = parts.reduce((sum, part) => g.op('Add', [sum, part]));
  return g.op('Add', [g.op('Mul', [g.op('Log', [mean]), g.scalar(1 / layer.sharpness)]), highest]);
}

/** Emits the layers whose inputs are in `values`, NCHW, and adds their outputs to it. */
export function emitOnnx(g: Graph, layers: readonly Layer[], values: Map<number, string>): void {
  const of = (value: number): string => {
    const name = values.get(value);
    if (name === undefined) throw new Error(`value ${value} is used before it is made`);
    return name;
  };
  for (const layer of layers) if (!values.has(layer.output)) values.set(layer.output, emit(g, layer, of));
}
function emit(g: Graph, layer: Layer, of: (value: number) => string): string {
  switch (layer.is) {
    case 'conv': {
      const { dims, weights, bias } = layer;
      const inputs = [of(layer.input), g.constant(weights, dims), g.constant(bias, [dims[0]])];
      return activated(g, convolve(g, layer, inputs), layer.relu);
    }
    case 'add':
      return g.op('Add', layer.inputs.map(of));
    case 'multiply':
      return g.op('Mul', layer.inputs.map(of));
    case 'scale': {
      const { input, factor, offset = 0 } = layer;
      const y = g.op('Mul', [of(input), g.scalar(factor)]);
      return offset === 0 ? y : g.op('Add', [y, g.scalar(offset)]);
    }
    case 'concat':
      return g.op('Concat', layer.inputs.map(of), { axis: 1 });
    case 'average-pool': {
      const { input, size } = layer;
      return g.op('AveragePool', [of(input)], { kernel_shape: [size, size], strides: [size, size] });
    }
    case 'window-evidence':
      return windowEvidence(g, of(layer.input), layer);
    case 'mean':
      return g.op('ReduceMean', [of(layer.input)], { axes: [2, 3], keepdims: 1 });
    case 'upsample':
      return upsample(g, of(layer.input), layer);
    case 'hard-sigmoid':
      return hardSigmoid(g, of(layer.input));
    case 'hard-swish':
      return g.op('Mul', [of(layer.input), hardSigmoid(g, of(layer.input))]);
    case 'dropout':
      return of(layer.input);
    case 'relu':
    case 'sigmoid':
      return g.op(onnxOps[layer.is], [of(layer.input)]);
  }
}
