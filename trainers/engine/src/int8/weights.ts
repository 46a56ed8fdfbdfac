/** Weights of a convolution as int8, with a scale for each output channel. */
import type { ConvLayer } from '../network/layers.ts';

export interface Int8Weights {
  /** In the order of the float32 weights. */
  values: Int8Array;
  /** By output channel; symmetric: 0 is stored as 0. */
  scales: Float32Array;
}
export interface Int8Convolution extends Int8Weights {
  /** In units of the input's scale times the channel's. */
  bias: Int32Array;
}
type Convolution = Pick<ConvLayer, 'weights' | 'bias'>;
/**
 * The largest stored weight. Seven bits where products are added as integers: processors without VNNI add pairs of them
 * in 16 bits, which 255 · 127 · 2 exceeds. So a file computes the same on all of them.
 */
export const largestWeight = { int8: 64, float32: 127 } as const;
/** A bias is added to sums of products in int32: it may take half of that range. */
const largestBias = 2 ** 30;

/** For a convolution that computes with int8. @param inputScale - of its input. */
export function quantizeConvolution({ weights, bias }: Convolution, inputScale: number): Int8Convolution {
  // A channel whose bias is large beside its weights has a scale that lets the bias fit.
  const least = bias.map((offset) => Math.abs(offset) / inputScale / largestBias);
  const { values, scales } = quantizeChannels(weights, bias.length, largestWeight.int8, least);
  return { values, scales, bias: Int32Array.from(bias, (one, c) => Math.round(one / (inputScale * (scales[c] ?? 1)))) };
}

/** For a convolution that computes with float32. */
export const quantizeWeights = ({ weights, bias }: Convolution): Int8Weights =>
  quantizeChannels(weights, bias.length, largestWeight.float32);

/** @param least - the least scale of each channel. */
function quantizeChannels(
  weights: Float32Array,
  channels: number,
  largest: number,
  least: Float32Array = new Float32Array(channels),
): Int8Weights {
  const size = weights.length / channels;
  const values = new Int8Array(weights.length);
  const scales = least.map((lowest, channel) => {
    const own = weights.subarray(channel * size, (channel + 1) * size);
    const highest = own.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
    // A channel of zeros has a scale, too.
    const scale = Math.fround(Math.max(highest / largest, lowest)) || 1;
    for (const [i, one] of own.entries()) {
      values[channel * size + i] = Math.min(largest, Math.max(-largest, Math.round(one / scale)));
    }
    return scale;
  });
  return { values, scales };
}
