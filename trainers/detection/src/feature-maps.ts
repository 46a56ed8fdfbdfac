/**
 * Feature maps of the frozen backbones. Two pretrained networks process the same image: CenterNet, trained to locate
 * objects, and EfficientNet-Lite0, trained to classify a thousand kinds of objects. With the recipe `accurate`
 * EfficientNet-Lite2 is the third.
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
import { shifted } from '@platform/trainer-engine/pretrained/side-by-side';
import { addBoxPooling } from './box-pooling.ts';

/**
 * Features of an image, [channels, S/stride, S/stride]. neck and deep come from CenterNet. kinds and parts come from
 * EfficientNet; parts is finer and less abstract. Both are means over the box that CenterNet predicts at the cell.
 * EfficientNet's last layers are not used: they are specialized for ImageNet's classes.
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
/** Number of values per image. */
export function sizeOf(name: FeatureName, side: number): number {
  const { channels, stride } = featureMaps[name];
  return channels * (side / stride) ** 2;
}
export function dimsOf(name: FeatureName, batch: number, side: number): readonly [number, number, number, number] {
  const { channels, stride } = featureMaps[name];
  return [batch, channels, side / stride, side / stride];
}
/** Buffers for the feature maps of an image. */
export function emptyFeatures(side: number): Features {
  const empty = (name: FeatureName): Float32Array => new Float32Array(sizeOf(name, side));
  return { neck: empty('neck'), deep: empty('deep'), kinds: empty('kinds'), parts: empty('parts') };
}

/** Features of each cell, before the means over the box that CenterNet predicts: for rescoring. */
export interface CellTap {
  /** Number of the value [channels, S/stride, S/stride]. */
  value: number;
  channels: number;
  stride: number;
}
/** A map [channels, edge, edge]. */
export interface CellMap {
  values: Float32Array;
  channels: number;
  edge: number;
}
export const emptyCells = (taps: readonly CellTap[], side: number): readonly CellMap[] =>
  taps.map(({ channels, stride }): CellMap => {
    const edge = side / stride;
    return { values: new Float32Array(channels * edge ** 2), channels, edge };
  });
/** All outputs of the frozen networks for an image. The cells are in the order of the detector's. */
export type FrozenFeatures = Features & { cells: readonly CellMap[] };

export interface Detector {
  name: string;
  license: string;
  /** Hash over one line per weight file. */
  sha256: string;
  /** Hash of each weight file. */
  fileHashes: readonly string[];
  layers: readonly Layer[];
  /** Number of CenterNet's layers, which come first. */
  finderLayers: number;
  /**
   * Numbers of the values: the feature maps, and the outputs of CenterNet's own heads. classView and boxView [128, S/4,
   * S/4] are the heads' inner features. distances [4, S/4, S/4] start at the cell's upper left corner. They lead to the
   * left, upper, right and lower edge of the box, in units of 16 px.
   */
  taps: Readonly<Record<FeatureName | 'classView' | 'boxView' | 'distances', number>>;
  /** What rescoring looks at: two stages of an EfficientNet. */
  cells: readonly CellTap[];
}

const hashOf = (fileHashes: readonly string[]): string =>
  createHash('sha256')
    .update(fileHashes.map((hash) => `${hash}\n`).join(''))
    .digest('hex');

/** @throws WeightsError when the weights have an unexpected hash. */
export function readDetector(): Detector {
  const finder = readCenternet();
  const namer = readEfficientnet();
  const start = finder.layers.length;
  const { neck, deep, classView, boxView, distances } = finder.taps;
  const fileHashes = [finder.sha256, namer.sha256];
  const cells: readonly CellTap[] = [
    { value: namer.taps[32] + start, ...featureMaps.kinds },
    { value: namer.taps[16] + start, ...featureMaps.parts },
  ];
  const { layers, means } = addBoxPooling(
    [...finder.layers, ...namer.layers.map((layer) => shifted(layer, start))],
    distances,
    cells,
  );
  const [kinds = 0, parts = 0] = means;
  return {
    name: `${finder.name}; ${namer.name}`,
    license: `${finder.license}; ${namer.license}`,
    sha256: hashOf(fileHashes),
    fileHashes,
    layers,
    finderLayers: start,
    taps: { neck, deep, classView, boxView, distances, kinds, parts },
    cells,
  };
}

/** Channels of Lite2's stages by stride. */
const secondChannels = { 32: 208, 16: 120 } as const;

/**
 * The same detector, whose rescoring looks at EfficientNet-Lite2 instead of Lite0. The head stays as it is: Lite2's
 * layers come after the others, so their values keep their numbers.
 *
 * @throws WeightsError when the weights have an unexpected hash.
 */
export function addSecondNetwork(detector: Detector): Detector {
  const second = readEfficientnet('Lite2');
  const start = detector.layers.length;
  const fileHashes = [...detector.fileHashes, second.sha256];
  return {
    ...detector,
    name: `${detector.name}; ${second.name}`,
    license: `${detector.license}; ${second.license}`,
    sha256: hashOf(fileHashes),
    fileHashes,
    layers: [...detector.layers, ...second.layers.map((layer) => shifted(layer, start))],
    cells: ([32, 16] as const).map((stride) => ({
      value: second.taps[stride] + start,
      channels: secondChannels[stride],
      stride,
    })),
  };
}
