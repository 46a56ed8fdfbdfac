/**
 * What the frozen part of the detector sees. Two pretrained networks look at the same image: CenterNet, which has learned
 * where things are, and EfficientNet-Lite0, which has learned to tell a thousand kinds of things apart.
 */
import { createHash } from 'node:crypto';
import type { Layer } from '@platform/trainer-engine/network/layers';
import {
  cellStride,
  deepChannels,
  deepStride,
  neckChannels,
  readCenternet,
} from '@platform/trainer-engine/pretrained/centernet';
import { readEfficientnet } from '@platform/trainer-engine/pretrained/efficientnet';
import { addBoxPooling } from './box-pooling.ts';

/**
 * Features of an image, [channels, S/stride, S/stride]. neck and deep: of CenterNet. kinds and parts: of EfficientNet, the
 * latter finer and less abstract, both as means over the box that CenterNet expects around the cell. Not of its last layers:
 * those know ImageNet's kinds of things best, and others less well.
 */
export const featureMaps = {
  neck: { channels: neckChannels, stride: cellStride },
  deep: { channels: deepChannels, stride: deepStride },
  kinds: { channels: 192, stride: 32 },
  parts: { channels: 112, stride: 16 },
} as const;
export type FeatureName = keyof typeof featureMaps;
export const featureNames = Object.keys(featureMaps) as FeatureName[];

export type Features = Record<FeatureName, Float32Array>;
/** Values of one image. */
export function sizeOf(sight: FeatureName, side: number): number {
  const { channels, stride } = featureMaps[sight];
  return channels * (side / stride) ** 2;
}
export function dimsOf(sight: FeatureName, batch: number, side: number): readonly [number, number, number, number] {
  const { channels, stride } = featureMaps[sight];
  return [batch, channels, side / stride, side / stride];
}
export function emptyFeatures(side: number): Features {
  const empty = (sight: FeatureName): Float32Array => new Float32Array(sizeOf(sight, side));
  return { neck: empty('neck'), deep: empty('deep'), kinds: empty('kinds'), parts: empty('parts') };
}

export interface Detector {
  name: string;
  license: string;
  /** Of the files with the weights: of one line per file. */
  sha256: string;
  layers: readonly Layer[];
  /**
   * Numbers of values: the sights, and what CenterNet's own heads make of the neck. classView and boxView [128, S/4, S/4]:
   * what they see of it; distances [4, S/4, S/4]: from the cell's upper left corner to the left, upper, right and lower edge
   * of the box, in units of 16 px.
   */
  taps: Readonly<Record<FeatureName | 'classView' | 'boxView' | 'distances', number>>;
}

/** Throws WeightsError where the weights are not those that this trainer was made for. */
export function readDetector(): Detector {
  const finder = readCenternet();
  const namer = readEfficientnet();
  const start = finder.layers.length;
  const moved = (value: number): number => (value === 0 ? 0 : value + start);
  const { neck, deep, classView, boxView, distances } = finder.taps;
  const sha256 = createHash('sha256').update(`${finder.sha256}\n${namer.sha256}\n`).digest('hex');
  const { layers, means } = addBoxPooling(
    [...finder.layers, ...namer.layers.map((layer) => renumbered(layer, moved))],
    distances,
    [
      { value: moved(namer.taps[32]), ...featureMaps.kinds },
      { value: moved(namer.taps[16]), ...featureMaps.parts },
    ],
  );
  const [kinds = 0, parts = 0] = means;
  return {
    name: `${finder.name}; ${namer.name}`,
    license: `${finder.license}; ${namer.license}`,
    sha256,
    layers,
    taps: { neck, deep, classView, boxView, distances, kinds, parts },
  };
}
function renumbered(layer: Layer, moved: (value: number) => number): Layer {
  const output = moved(layer.output);
  switch (layer.is) {
    case 'concat':
      return { ...layer, output, inputs: layer.inputs.map(moved) };
    case 'add':
    case 'multiply':
      return { ...layer, output, inputs: [moved(layer.inputs[0]), moved(layer.inputs[1])] };
    default:
      return { ...layer, output, input: moved(layer.input) };
  }
}
