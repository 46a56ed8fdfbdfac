/**
 * Emits a network in ONNX's quantize-dequantize form: what computes with int8 reads DequantizeLinear and is read by
 * QuantizeLinear. Runtimes replace such groups by integer operators.
 */
import type { Graph } from '../onnx/graph.ts';
import { inputsOf } from '../network/layers.ts';
import type { ConvLayer, Layer } from '../network/layers.ts';
import { activated, convolve, emitOnnx } from '../network/onnx.ts';
import type { Int8Plan } from './plan.ts';
import type { Quantization } from '../quantization.ts';
import { quantizeConvolution, quantizeWeights } from './weights.ts';
import type { Int8Weights } from './weights.ts';

/** Emits the layers whose inputs are in `values`, as `emitOnnx`; the values are float32. */
export function emitInt8Onnx(
  g: Graph,
  layers: readonly Layer[],
  values: Map<number, string>,
  { computed, weights, stored }: Int8Plan,
): void {
  const int8 = new Map<number, string>();
  const parameters = ({ scale, zeroPoint }: Quantization): string[] => [
    g.scalar(scale),
    g.constant(Int8Array.of(zeroPoint), []),
  ];
  const quantizationOf = (value: number): Quantization => {
    const found = stored.get(value);
    if (!found) throw new Error(`value ${value} has no quantization`);
    return found;
  };
  const quantized = (value: number): string => {
    const before = int8.get(value);
    if (before !== undefined) return before;
    const name = g.op('QuantizeLinear', [values.get(value) ?? '', ...parameters(quantizationOf(value))]);
    int8.set(value, name);
    return name;
  };
  const dequantized = (value: number): string =>
    g.op('DequantizeLinear', [quantized(value), ...parameters(quantizationOf(value))]);
  for (const layer of layers) {
    const { output } = layer;
    if (!computed.has(output)) {
      for (const input of inputsOf(layer)) if (!values.has(input)) values.set(input, dequantized(input));
      if (layer.is === 'conv' && weights.has(output)) values.set(output, fromInt8Weights(g, layer, values));
      else emitOnnx(g, [layer], values);
      continue;
    }
    const result =
      layer.is === 'conv'
        ? convolution(g, layer, dequantized(layer.input), quantizationOf(layer.input).scale)
        : g.op('Add', inputsOf(layer).map(dequantized));
    int8.set(output, g.op('QuantizeLinear', [result, ...parameters(quantizationOf(output))]));
  }
  // Readers after these layers get float32.
  for (const value of int8.keys()) if (!values.has(value)) values.set(value, dequantized(value));
}

/** Without its activation: `Int8Plan` bounds the range of the output. */
function convolution(g: Graph, layer: ConvLayer, x: string, inputScale: number): string {
  const { values, scales, bias } = quantizeConvolution(layer, inputScale);
  const { length } = bias;
  const biasScales = scales.map((scale) => scale * inputScale);
  const inputs = [g.constant(bias, [length]), g.constant(biasScales, [length])];
  return convolve(g, layer, [
    x,
    weightsOf(g, layer, { values, scales }),
    g.op('DequantizeLinear', inputs, { axis: 0 }),
  ]);
}

/** Computes with float32; only the file has int8. */
function fromInt8Weights(g: Graph, layer: ConvLayer, values: ReadonlyMap<number, string>): string {
  const { input, bias } = layer;
  const weights = weightsOf(g, layer, quantizeWeights(layer));
  const y = convolve(g, layer, [values.get(input) ?? '', weights, g.constant(bias, [bias.length])]);
  return activated(g, y, layer.relu);
}

const weightsOf = (g: Graph, { dims }: ConvLayer, { values, scales }: Int8Weights): string =>
  g.op(
    'DequantizeLinear',
    [
      g.constant(values, dims),
      g.constant(scales, [scales.length]),
      g.constant(new Int8Array(scales.length), [scales.length]),
    ],
    { axis: 0 },
  );
