/** Which layers of a network compute with int8, and how its values are stored. */
import { inputsOf, sizesOf } from '../network/layers.ts';
import type { Layer } from '../network/layers.ts';
import { quantizationOf } from '../quantization.ts';
import type { Quantization, Range } from '../quantization.ts';

/**
 * How a convolution is stored and computed. `weights`: with float32, from weights of int8; for networks whose inner
 * numbers need more steps than int8 has.
 */
export type ConvolutionForm = 'int8' | 'weights' | 'float32';

export interface Int8Plan {
  /** Outputs of the layers that compute with int8. */
  computed: ReadonlySet<number>;
  /** Outputs of the convolutions whose weights alone are int8. */
  weights: ReadonlySet<number>;
  /** How the inputs and outputs of those layers are stored. */
  stored: ReadonlyMap<number, Quantization>;
}

/**
 * Outputs of the layers that compute with int8: convolutions of maps, and sums of what these compute.
 *
 * @param side - of the image in pixels.
 * @param formOf - of the convolution with this output.
 */
export function int8Layers(
  layers: readonly Layer[],
  side: number,
  formOf: (value: number) => ConvolutionForm,
): ReadonlySet<number> {
  const sizes = sizesOf(layers, { channels: 3, height: side, width: side });
  const computed = new Set<number>();
  for (const layer of layers) {
    const { output } = layer;
    // What is computed once per image, such as the factors of channels, costs nothing and is sensitive.
    const isMap = (sizes.get(output)?.height ?? 1) > 1;
    const isSum = layer.is === 'add' && layer.inputs.every((input) => computed.has(input));
    if (isSum || (layer.is === 'conv' && isMap && formOf(output) === 'int8')) computed.add(output);
  }
  return computed;
}

/** Values whose range is needed. */
export const int8Values = (layers: readonly Layer[], computed: ReadonlySet<number>): number[] => [
  ...new Set(
    layers.filter(({ output }) => computed.has(output)).flatMap((layer) => [...inputsOf(layer), layer.output]),
  ),
];

/** @param ranges - of the values. */
export function int8Plan(
  layers: readonly Layer[],
  computed: ReadonlySet<number>,
  { ranges, formOf }: { ranges: ReadonlyMap<number, Range>; formOf: (value: number) => ConvolutionForm },
): Int8Plan {
  const stored = new Map<number, Quantization>();
  for (const value of int8Values(layers, computed)) {
    const range = ranges.get(value);
    if (!range) throw new Error(`the range of value ${value} is not known`);
    stored.set(
      value,
      quantizationOf(
        bounded(
          layers.find(({ output }) => output === value),
          range,
        ),
      ),
    );
  }
  const weights = layers.filter((layer) => layer.is === 'conv' && formOf(layer.output) === 'weights');
  return { computed, weights: new Set(weights.map(({ output }) => output)), stored };
}

/** Storing a number limits it to the range, so an activation needs no operator of its own. */
function bounded(layer: Layer | undefined, { low, high }: Range): Range {
  if (layer?.is !== 'conv' || !layer.relu) return { low, high };
  return { low: 0, high: Math.min(high, layer.relu === 6 ? 6 : Infinity) };
}
