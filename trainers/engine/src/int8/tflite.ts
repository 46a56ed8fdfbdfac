/** Emits a network with the operators of TensorFlow Lite that compute with int8, between QUANTIZE and DEQUANTIZE. */
import { inputsOf } from '../network/layers.ts';
import type { ConvLayer, Layer } from '../network/layers.ts';
import { permute4 } from '../network/permute.ts';
import { convolve, emitTflite, shapeAfter } from '../network/tflite.ts';
import type { TensorRef } from '../network/tflite.ts';
import type { Result, TensorQuantization, TfliteGraph } from '../tflite/writer.ts';
import type { Int8Plan } from './plan.ts';
import { quantizeConvolution, quantizeWeights } from './weights.ts';
import type { Int8Weights } from './weights.ts';

/** Emits the layers whose inputs are in `values`, as `emitTflite`; the values are float32. */
export function emitInt8Tflite(
  g: TfliteGraph,
  layers: readonly Layer[],
  values: Map<number, TensorRef>,
  { computed, weights, stored }: Int8Plan,
): void {
  const int8 = new Map<number, TensorRef>();
  const resultOf = (value: number, shape: TensorRef['shape']): Result & { quantization: TensorQuantization } => {
    const found = stored.get(value);
    if (!found) throw new Error(`value ${value} has no quantization`);
    const quantization = { scales: Float32Array.of(found.scale), zeroPoints: [found.zeroPoint] };
    return { type: 'int8', shape, quantization };
  };
  const quantized = (value: number): TensorRef => {
    const before = int8.get(value);
    if (before) return before;
    const float = values.get(value);
    if (!float) throw new Error(`value ${value} is used before it is made`);
    const { shape } = float;
    const made = { tensor: g.op('QUANTIZE', [float.tensor], resultOf(value, shape)), shape };
    int8.set(value, made);
    return made;
  };
  const makeFloat = (value: number): void => {
    if (values.has(value)) return;
    const { tensor, shape } = quantized(value);
    values.set(value, { tensor: g.op('DEQUANTIZE', [tensor], { shape }), shape });
  };
  for (const layer of layers) {
    const { output } = layer;
    if (!computed.has(output)) {
      for (const input of inputsOf(layer)) makeFloat(input);
      if (layer.is === 'conv' && weights.has(output)) values.set(output, fromInt8Weights(g, layer, values));
      else emitTflite(g, [layer], values);
    } else if (layer.is === 'conv') {
      const x = quantized(layer.input);
      const inputScale = stored.get(layer.input)?.scale ?? 1;
      const shape = shapeAfter(layer, x);
      const tensor = convolution(g, layer, x.tensor, { inputScale, result: resultOf(output, shape) });
      int8.set(output, { tensor, shape });
    } else {
      const [a, b] = inputsOf(layer).map(quantized);
      if (!a || !b) throw new Error(`a layer "${layer.is}" cannot compute with int8`);
      const tensor = g.op('ADD', [a.tensor, b.tensor], resultOf(output, a.shape));
      int8.set(output, { tensor, shape: a.shape });
    }
  }
}

function convolution(
  g: TfliteGraph,
  layer: ConvLayer,
  x: number,
  { inputScale, result }: { inputScale: number; result: Result },
): number {
  const { values, scales, bias } = quantizeConvolution(layer, inputScale);
  const kernel = kernelOf(g, layer, { values, scales });
  const biasScales = scales.map((scale) => scale * inputScale);
  const offset = g.quantizedConstant(bias, [bias.length], { scales: biasScales, zeroPoints: zeros(scales) });
  return convolve(g, layer, [x, kernel.tensor, offset], result);
}

/** Computes with float32; only the file has int8. */
function fromInt8Weights(g: TfliteGraph, layer: ConvLayer, values: ReadonlyMap<number, TensorRef>): TensorRef {
  const x = values.get(layer.input);
  if (!x) throw new Error(`value ${layer.input} is used before it is made`);
  const kernel = kernelOf(g, layer, quantizeWeights(layer));
  const weights = g.op('DEQUANTIZE', [kernel.tensor], { shape: kernel.shape });
  const shape = shapeAfter(layer, x);
  const inputs = [x.tensor, weights, g.constant(layer.bias, [layer.bias.length])];
  return { tensor: convolve(g, layer, inputs, { shape }), shape };
}

const zeros = (scales: Float32Array): number[] => Array.from(scales, () => 0);
function kernelOf(
  g: TfliteGraph,
  { dims, depthwise }: ConvLayer,
  { values, scales }: Int8Weights,
): { tensor: number; shape: readonly number[] } {
  const order = depthwise ? ([1, 2, 3, 0] as const) : ([0, 2, 3, 1] as const);
  const ordered = Int8Array.from(permute4(Float32Array.from(values), dims, order));
  const shape = order.map((axis) => dims[axis]);
  const quantization = { scales, zeroPoints: zeros(scales), dimension: depthwise ? 3 : 0 };
  return { tensor: g.quantizedConstant(ordered, shape, quantization), shape };
}
