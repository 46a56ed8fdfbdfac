/** MobileNetV2 with made-up weights: of what TensorFlow brings, the network that a step is measured with beside ours. */
import type { Layer } from '@platform/trainer-engine/network/layers';
import type { Backbone } from '@platform/trainer-engine/pretrained/efficientnet';
import { seeded } from '@platform/trainer-engine/random';

const stages = [
  { blocks: 1, stride: 1, widening: 1, channels: 16 },
  { blocks: 2, stride: 2, widening: 6, channels: 24 },
  { blocks: 3, stride: 2, widening: 6, channels: 32 },
  { blocks: 4, stride: 2, widening: 6, channels: 64 },
  { blocks: 3, stride: 1, widening: 6, channels: 96 },
  { blocks: 3, stride: 2, widening: 6, channels: 160 },
  { blocks: 1, stride: 1, widening: 6, channels: 320 },
] as const;

export function mobilenet(): Backbone {
  const random = seeded('mobilenet');
  const layers: Layer[] = [{ is: 'scale', input: 0, output: 1, factor: 1 / 127.5, offset: -1 }];
  const made = (length: number, spread: number): Float32Array =>
    Float32Array.from({ length }, () => (random() - 0.5) * spread);
  const conv = (dims: readonly [number, number, number, number], stride: 1 | 2, relu: false | 6, depthwise = false) => {
    const fanIn = dims[1] * dims[2] * dims[3];
    const weights = made(dims[0] * fanIn, 3 / Math.sqrt(fanIn));
    const [input, output] = [layers.length, layers.length + 1];
    layers.push({ is: 'conv', input, output, depthwise, stride, relu, dims, weights, bias: made(dims[0], 0.1) });
  };
  conv([32, 3, 3, 3], 2, 6);
  let channels = 32;
  for (const { blocks, widening, channels: after, ...stage } of stages) {
    for (let block = 0; block < blocks; block++) {
      const [start, stride, wide] = [layers.length, block === 0 ? stage.stride : 1, channels * widening];
      if (widening > 1) conv([wide, channels, 1, 1], 1, 6);
      conv([wide, 1, 3, 3], stride, 6, true);
      conv([after, wide, 1, 1], 1, false);
      if (stride === 1 && channels === after) {
        layers.push({ is: 'add', inputs: [start, layers.length], output: layers.length + 1 });
      }
      channels = after;
    }
  }
  conv([1280, channels, 1, 1], 1, 6);
  return {
    name: 'MobileNetV2, made up',
    license: '',
    sha256: '',
    layers,
    features: 1280,
    taps: { 8: 0, 16: 0, 32: layers.length },
  };
}
