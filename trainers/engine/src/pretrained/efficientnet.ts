/** The pretrained backbones: EfficientNet-Lite0 and Lite2 without their last layer, trained on ImageNet (Apache-2.0). */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { ConvLayer, Dims4, Layer } from '../network/layers.ts';
import { halfToFloat } from './half.ts';
import { WeightsError } from './weights-error.ts';

export type Variant = 'Lite0' | 'Lite2';

interface VariantFacts {
  weightsFile: string;
  sha256: string;
  /** Blocks and channels of each stage. */
  blocks: readonly number[];
  channels: readonly number[];
}
const variants: Readonly<Record<Variant, VariantFacts>> = {
  Lite0: {
    weightsFile: '@platform/trainer-weights/efficientnet-lite0.f16.bin',
    sha256: 'a3aebf4020d16ed95102892db82df6f80fd72b22181048cd1fce10da04a8f0f1',
    blocks: [1, 2, 2, 3, 3, 4, 1],
    channels: [16, 24, 40, 80, 112, 192, 320],
  },
  Lite2: {
    weightsFile: '@platform/trainer-weights/efficientnet-lite2.f16.bin',
    sha256: 'a250028f31eb295b73d0ce1fe8038bd457e23fb654c427080ba28b45fbd584d2',
    blocks: [1, 3, 3, 4, 4, 5, 1],
    channels: [16, 24, 48, 88, 120, 208, 352],
  },
};

export interface Backbone {
  name: string;
  license: string;
  /** Hash of the file with the weights. */
  sha256: string;
  /** The first layer scales the image; the last one's output has `features` channels. */
  layers: readonly Layer[];
  features: number;
  /** Numbers of inner values by stride in image pixels; Lite0 has 40 channels at 8, 112 at 16, 192 at 32. */
  taps: Readonly<Record<8 | 16 | 32, number>>;
}

/** The network's input is (x − 127) / 128, x = 0..255. */
const mean = 127;
const spread = 128;
const stemChannels = 32;
const features = 1280;
/**
 * Stages of inverted residual blocks: expansion, depthwise convolution, projection. The first block of a stage has its
 * stride.
 */
const stages = [
  { kernel: 3, stride: 1, widening: 1 },
  { kernel: 3, stride: 2, widening: 6 },
  { kernel: 5, stride: 2, widening: 6 },
  { kernel: 3, stride: 2, widening: 6 },
  { kernel: 5, stride: 1, widening: 6 },
  { kernel: 5, stride: 2, widening: 6 },
  { kernel: 3, stride: 1, widening: 6 },
] as const;
const lastOf = { 8: 2, 16: 4, 32: 5 } as const;

type Shape = Pick<ConvLayer, 'stride' | 'relu'> & { dims: Dims4; depthwise?: boolean };

/** @param path - file with the weights; default: this repository's. Throws WeightsError when its hash differs. */
export function readEfficientnet(variant: Variant = 'Lite0', path?: string): Backbone {
  const { weightsFile, sha256: expectedSha256, ...sizes } = variants[variant];
  const from = path ?? createRequire(import.meta.url).resolve(weightsFile);
  const bytes = Uint8Array.from(readFileSync(from));
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (sha256 !== expectedSha256) {
    throw new WeightsError(
      `The pretrained weights in ${from} have sha256 ${sha256}, expected ${expectedSha256}. Check the file out anew.`,
    );
  }
  const network = networkOf(halfToFloat(new Uint16Array(bytes.buffer)), sizes);
  return {
    name: `EfficientNet-${variant}, pretrained on ImageNet`,
    license: 'Apache-2.0',
    sha256,
    features,
    ...network,
  };
}

/** @param values - for each convolution its weights, then its biases. */
function networkOf(
  values: Float32Array,
  sizes: Pick<VariantFacts, 'blocks' | 'channels'>,
): Pick<Backbone, 'layers' | 'taps'> {
  const layers: Layer[] = [{ is: 'scale', input: 0, output: 1, factor: 1 / spread, offset: -mean / spread }];
  let at = 0;
  const take = (count: number): Float32Array => values.slice(at, (at += count));
  const conv = (input: number, { dims, stride, relu, depthwise = false }: Shape): number => {
    const output = layers.length + 1;
    const weights = take(dims[0] * dims[1] * dims[2] * dims[3]);
    layers.push({ is: 'conv', input, output, depthwise, stride, relu, dims, weights, bias: take(dims[0]) });
    return output;
  };
  let last = conv(1, { dims: [stemChannels, 3, 3, 3], stride: 2, relu: 6 });
  let channels = stemChannels;
  const ends: number[] = [];
  for (const [i, { kernel, widening, ...stage }] of stages.entries()) {
    const [blocks = 0, after = 0] = [sizes.blocks[i], sizes.channels[i]];
    for (let block = 0; block < blocks; block++) {
      const start = last;
      const stride = block === 0 ? stage.stride : 1;
      const wide = channels * widening;
      if (widening > 1) last = conv(last, { dims: [wide, channels, 1, 1], stride: 1, relu: 6 });
      last = conv(last, { dims: [wide, 1, kernel, kernel], stride, relu: 6, depthwise: true });
      last = conv(last, { dims: [after, wide, 1, 1], stride: 1, relu: false });
      if (stride === 1 && channels === after) {
        layers.push({ is: 'add', inputs: [start, last], output: layers.length + 1 });
        last = layers.length;
      }
      channels = after;
    }
    ends.push(last);
  }
  conv(last, { dims: [features, channels, 1, 1], stride: 1, relu: 6 });
  const end = (stage: number): number => ends[stage] ?? 0;
  return { layers, taps: { 8: end(lastOf[8]), 16: end(lastOf[16]), 32: end(lastOf[32]) } };
}
