/**
 * Feature maps of the frozen backbones. Two pretrained networks process the same image: CenterNet, trained to locate
 * objects, and EfficientNet-Lite0, trained to classify a thousand kinds of objects.
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
/** EfficientNet's features of each cell, before the means over the box: for rescoring. */
export const cellMaps = { kindCells: featureMaps.kinds, partCells: featureMaps.parts } as const;
export type CellMapName = keyof typeof cellMaps;
export const cellMapNames = Object.keys(cellMaps) as CellMapName[];
export type Cells = Record<CellMapName, Float32Array>;

/** Buffers for all outputs of the frozen networks. */
export function emptyFeatures(side: number): Features & Cells {
  const empty = (name: FeatureName): Float32Array => new Float32Array(sizeOf(name, side));
  const cells = { kindCells: empty('kinds'), partCells: empty('parts') };
  return { neck: empty('neck'), deep: empty('deep'), kinds: empty('kinds'), parts: empty('parts'), ...cells };
}

export interface Detector {
  name: string;
  license: string;
  /** Hash over one line per weight file. */
  sha256: string;
  layers: readonly Layer[];
  /**
   * Numbers of the values: the feature maps, and the outputs of CenterNet's own heads. classView and boxView [128, S/4,
   * S/4] are the heads' inner features. distances [4, S/4, S/4] start at the cell's upper left corner. They lead to the
   * left, upper, right and lower edge of the box, in units of 16 px. kindCells and partCells are EfficientNet's
   * features before the means over the box.
   */
  taps: Readonly<Record<FeatureName | CellMapName | 'classView' | 'boxView' | 'distances', number>>;
}

/** @throws WeightsError when the weights have an unexpected hash. */
export function readDetector(): Detector {
  const finder = readCenternet();
  const namer = readEfficientnet();
  const start = finder.layers.length;
  const moved = (value: number): number => (value === 0 ? 0 : value + start);
  const { neck, deep, classView, boxView, distances } = finder.taps;
  const sha256 = createHash('sha256').update(`${finder.sha256}\n${namer.sha256}\n`).digest('hex');
  const [kindCells, partCells] = [moved(namer.taps[32]), moved(namer.taps[16])];
  const { layers, means } = addBoxPooling(
    [...finder.layers, ...namer.layers.map((layer) => renumbered(layer, moved))],
    distances,
    [
      { value: kindCells, ...featureMaps.kinds },
      { value: partCells, ...featureMaps.parts },
    ],
  );
  const [kinds = 0, parts = 0] = means;
  return {
    name: `${finder.name}; ${namer.name}`,
    license: `${finder.license}; ${namer.license}`,
    sha256,
    layers,
    taps: { neck, deep, classView, boxView, distances, kinds, parts, kindCells, partCells },
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
