/**
 * What variants of rescoring need of each image of a development set, computed once and kept in a file: features of the
 * frozen networks and of EfficientNet-Lite2, the outputs of the trained head, and its boxes.
 */
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import type { Layer } from '@platform/trainer-engine/network/layers';
import { needed } from '@platform/trainer-engine/network/layers';
import { emitOnnx } from '@platform/trainer-engine/network/onnx';
import { FLOAT, Graph } from '@platform/trainer-engine/onnx/graph';
import { cellStride, neckChannels } from '@platform/trainer-engine/pretrained/centernet';
import { readEfficientnet } from '@platform/trainer-engine/pretrained/efficientnet';
import { seeded, shuffled } from '@platform/trainer-engine/random';
import { openSession } from '@platform/trainer-engine/runtime';
import type { Session } from '@platform/trainer-engine/runtime';
import { augment, renderAugmented } from '../src/augmentations.ts';
import type { AugmentedImage, Rectangle } from '../src/augmentations.ts';
import type { Detection } from '../src/average-precision.ts';
import type { Box, LabelledBox } from '../src/boxes.ts';
import { featureMaps, featureNames } from '../src/feature-maps.ts';
import type { CellMap, Detector, Features } from '../src/feature-maps.ts';
import { TrainedHead } from '../src/trained-head.ts';
import type { TrainingRun } from '../src/training-run.ts';
import type { TrainedDetector } from './development.ts';

/** Lite2's stages of 32 and 16 px, of the image and of the image at half its size (then 64 and 32 px). */
const secondMaps = {
  secondKind: { channels: 208, stride: 32 },
  secondPart: { channels: 120, stride: 16 },
  smallKind: { channels: 208, stride: 64 },
  smallPart: { channels: 120, stride: 32 },
} as const;
/** Lite0's. */
const cellMaps = { kindCells: featureMaps.kinds, partCells: featureMaps.parts } as const;
const cellMapNames = ['kindCells', 'partCells'] as const;
export const pooledMaps = { ...cellMaps, ...secondMaps } as const;
export type PooledMapName = keyof typeof pooledMaps;
const pooledMapNames = Object.keys(pooledMaps) as PooledMapName[];

/** whole: the image itself. mirrored, tile and scaled: other views of test images. */
export type ItemKind = 'train' | 'whole' | 'mirrored' | 'tile' | 'scaled';
export interface Item {
  kind: ItemKind;
  /** Index of the view or test image. */
  index: number;
  side: number;
  labels: number;
  truth: readonly LabelledBox[];
  /** Boxes before non-maximum suppression, 0..1 of this view. */
  peaks: readonly Detection[];
  /** Part of the test image that the view shows. */
  part: Rectangle;
  /** Start and number of values of each array in the file of the group. */
  arrays: Record<string, readonly [number, number]>;
  group: Group;
}

/** Other sizes of the test images. */
const scaledSides = [320, 384, 512, 576];
const tileEdge = 0.625;
/** Training views; the first 240 are those of the trainer. */
const trainViews = 480;
export const usualViews = 240;
const whole: Rectangle = { left: 0, top: 0, width: 1, height: 1 };
const tiles: readonly Rectangle[] = [0, 1 - tileEdge].flatMap((top) =>
  [0, 1 - tileEdge].map((left) => ({ left, top, width: tileEdge, height: tileEdge })),
);

/** The image as it is, or at half its size. */
export type SecondSize = 'whole' | 'half';
/** The frozen networks in one graph, with Lite2 in these sizes. Input: image [1,S,S,3] 0..255. */
export function featuresGraph(detector: Detector, side: number, sizes: readonly SecondSize[]): Buffer {
  const g = new Graph();
  g.inputs.push({ name: 'image', type: FLOAT, dims: [1, side, side, 3] });
  const image = g.op('Transpose', ['image'], { perm: [0, 3, 1, 2] });
  const emit = (layers: readonly Layer[], from: string, taps: Readonly<Record<string, number>>): void => {
    const values = new Map([[0, from]]);
    emitOnnx(g, needed(layers, Object.values(taps)), values);
    for (const [name, tap] of Object.entries(taps)) {
      g.op('Identity', [values.get(tap) ?? ''], {}, name);
      g.outputs.push({ name, type: FLOAT });
    }
  };
  const names = [...featureNames, 'distances'] as const;
  emit(detector.layers, image, {
    ...Object.fromEntries(names.map((name) => [name, detector.taps[name]])),
    ...Object.fromEntries(detector.cells.map(({ value }, i) => [cellMapNames[i] ?? '', value])),
  });
  const { layers, taps } = readEfficientnet('Lite2');
  if (sizes.includes('whole')) emit(layers, image, { secondKind: taps[32], secondPart: taps[16] });
  if (sizes.includes('half')) {
    const half = g.op('AveragePool', [image], { kernel_shape: [2, 2], strides: [2, 2] });
    emit(layers, half, { smallKind: taps[32], smallPart: taps[16] });
  }
  return g.encode();
}

/** Depth of a strip inside or outside an edge, and the part of the edge that it covers, as shares of the box. */
const stripDepth = 0.1;
const stripLength = 0.8;
/** Strips of a box: for each edge (left, top, right, bottom) the one inside, then the one outside. */
function stripsOf({ left, top, right, bottom }: Box): Box[] {
  const [width, height] = [right - left, bottom - top];
  const [dx, dy] = [stripDepth * width, stripDepth * height];
  const [mx, my] = [((1 - stripLength) / 2) * width, ((1 - stripLength) / 2) * height];
  const across = { left: left + mx, right: right - mx };
  const down = { top: top + my, bottom: bottom - my };
  return [
    { left, right: left + dx, ...down },
    { left: left - dx, right: left, ...down },
    { top, bottom: top + dy, ...across },
    { top: top - dy, bottom: top, ...across },
    { left: right - dx, right, ...down },
    { left: right, right: right + dx, ...down },
    { top: bottom - dy, bottom, ...across },
    { top: bottom, bottom: bottom + dy, ...across },
  ];
}
/** Means of the neck over the strips of the boxes: [boxes, 8, channels]. At least one cell, the nearest one. */
function stripMeans(neck: Float32Array, boxes: readonly Box[], side: number): Float32Array {
  const h = side / cellStride;
  const cell = (share: number): number => Math.min(h - 1, Math.max(0, Math.round(share * h)));
  const means: number[] = [];
  for (const box of boxes) {
    for (const strip of stripsOf(box)) {
      const [x0, x1] = [cell(strip.left), Math.max(cell(strip.left), cell(strip.right) - 1)];
      const [y0, y1] = [cell(strip.top), Math.max(cell(strip.top), cell(strip.bottom) - 1)];
      const count = (x1 - x0 + 1) * (y1 - y0 + 1);
      for (let channel = 0; channel < neckChannels; channel++) {
        let sum = 0;
        for (let y = y0; y <= y1; y++) {
          for (let x = x0; x <= x1; x++) sum += neck[(channel * h + y) * h + x] ?? 0;
        }
        means.push(sum / count);
      }
    }
  }
  return Float32Array.from(means);
}

/** Writes arrays in half precision, one after the other. */
class ArrayWriter {
  readonly #file: number;
  #at = 0;
  constructor(file: string) {
    this.#file = openSync(file, 'w');
  }
  write(arrays: Readonly<Record<string, Float32Array>>): Item['arrays'] {
    const places: Item['arrays'] = {};
    for (const [name, values] of Object.entries(arrays)) {
      const halves = Float16Array.from(values);
      writeSync(this.#file, new Uint8Array(halves.buffer), 0, halves.byteLength, 2 * this.#at);
      places[name] = [this.#at, values.length];
      this.#at += values.length;
    }
    return places;
  }
  close(): void {
    closeSync(this.#file);
  }
}

/** Runs the networks of one image size. */
class Extractor {
  readonly #run: TrainingRun;
  readonly #side: number;
  readonly #session: Session;
  readonly #head: TrainedHead;
  private constructor(run: TrainingRun, side: number, session: Session, head: TrainedHead) {
    this.#run = run;
    this.#side = side;
    this.#session = session;
    this.#head = head;
  }
  static async open({ run, weights }: TrainedDetector, side: number, sizes: readonly SecondSize[]): Promise<Extractor> {
    const resized = { ...run, recipe: { ...run.recipe, side } };
    const session = await openSession(featuresGraph(run.detector, side, sizes), run.training.threads);
    return new Extractor(run, side, session, await TrainedHead.open(resized, weights));
  }
  /** @param pixelsOf - of the images that the view names, with the recipe's side. */
  async item(
    view: AugmentedImage,
    pixelsOf: (image: number) => Uint8Array,
    { kind, index, part }: Pick<Item, 'kind' | 'index' | 'part'>,
    writer: ArrayWriter,
  ): Promise<Omit<Item, 'group'>> {
    const side = this.#side;
    const image = new Float32Array(side * side * 3);
    renderAugmented(view, { pixelsOf, from: this.#run.recipe.side, side }, image, 0);
    const results = await this.#session.run({ image: { data: image, dims: [1, side, side, 3] } });
    const features = Object.fromEntries(featureNames.map((name) => [name, results(name)])) as Features;
    const { heat, edges } = await this.#head.maps(features);
    const peaks = await this.#head.peaks(features);
    const boxes = kind === 'train' ? [...view.boxes, ...peaks] : peaks;
    const full = kind === 'train' || kind === 'whole';
    const arrays = {
      ...Object.fromEntries((full ? pooledMapNames : cellMapNames).map((name) => [name, results(name)])),
      ...(full || kind === 'mirrored' ? { heat, edges } : {}),
      ...(full ? { distances: results('distances'), strips: stripMeans(results('neck'), boxes, side) } : {}),
    };
    const labels = this.#run.prepared.labels.length;
    return { kind, index, side, labels, part, truth: view.boxes, peaks, arrays: writer.write(arrays) };
  }
  async release(): Promise<void> {
    await this.#head.release();
    await this.#session.release();
  }
}

type Extraction = (trained: TrainedDetector, writer: ArrayWriter) => Promise<Omit<Item, 'group'>[]>;
/** Adds the first views of the training images in the trainer's order. */
async function addTraining(
  { run: { prepared, training } }: TrainedDetector,
  by: Extractor,
  { kind, count }: { kind: ItemKind; count: number },
  writer: ArrayWriter,
): Promise<Omit<Item, 'group'>[]> {
  const { seed } = training.job;
  const order = shuffled([...prepared.train.keys()], seeded('rescored', seed));
  const pixelsOf = (image: number): Uint8Array => {
    const sample = prepared.train[image];
    if (!sample) throw new Error(`there is no training image ${image}`);
    return prepared.pixels(sample);
  };
  const items: Omit<Item, 'group'>[] = [];
  for (let index = 0; index < count; index++) {
    const [image, round] = [order[index % order.length] ?? 0, Math.floor(index / order.length)];
    const view = augment(prepared.train, image, round, seeded('rescored', seed, index));
    items.push(await by.item(view, pixelsOf, { kind, index, part: whole }, writer));
  }
  return items;
}
/** Adds a view of a test image. */
function addTest(
  { run: { prepared } }: TrainedDetector,
  by: Extractor,
  { kind, index, part }: Pick<Item, 'kind' | 'index' | 'part'>,
  writer: ArrayWriter,
): Promise<Omit<Item, 'group'>> {
  const sample = prepared.test[index];
  if (!sample) throw new Error(`there is no test image ${index}`);
  const pixels = prepared.pixels(sample);
  const jitter = { brightness: 1, contrast: 1, saturation: 1 };
  const patch = { image: 0, from: part, to: whole, mirrored: kind === 'mirrored', jitter };
  return by.item({ patches: [patch], boxes: sample.boxes }, () => pixels, { kind, index, part }, writer);
}

async function extractViews(trained: TrainedDetector, writer: ArrayWriter): ReturnType<Extraction> {
  const { side } = trained.run.recipe;
  const full = await Extractor.open(trained, side, ['whole', 'half']);
  const usual = await Extractor.open(trained, side, []);
  const items = await addTraining(trained, full, { kind: 'train', count: trainViews }, writer);
  for (const index of trained.run.prepared.test.keys()) {
    items.push(await addTest(trained, full, { kind: 'whole', index, part: whole }, writer));
    items.push(await addTest(trained, usual, { kind: 'mirrored', index, part: whole }, writer));
    for (const part of tiles) items.push(await addTest(trained, usual, { kind: 'tile', index, part }, writer));
  }
  await full.release();
  await usual.release();
  return items;
}
const extractScales: Extraction = (trained, writer) => extractSides(trained, scaledSides, writer);
const extractHalf: Extraction = (trained, writer) => extractSides(trained, [trained.run.recipe.side / 2], writer);
async function extractSides(
  trained: TrainedDetector,
  sides: readonly number[],
  writer: ArrayWriter,
): ReturnType<Extraction> {
  const items: Omit<Item, 'group'>[] = [];
  for (const side of sides) {
    const scaled = await Extractor.open(trained, side, []);
    for (const index of trained.run.prepared.test.keys()) {
      items.push(await addTest(trained, scaled, { kind: 'scaled', index, part: whole }, writer));
    }
    await scaled.release();
  }
  return items;
}

/** The views of a set, by what they are needed for; a file for each. */
const groups = { items: extractViews, scales: extractScales, half: extractHalf } as const;
export type Group = keyof typeof groups;

/** The images of a development set with what is stored of them. */
export class StoredFeatures {
  readonly items: readonly Item[];
  readonly #files: ReadonlyMap<Group, number>;
  private constructor(items: readonly Item[], files: ReadonlyMap<Group, number>) {
    this.items = items;
    this.#files = files;
  }
  static async open(trained: TrainedDetector, folder: string, wanted: readonly Group[]): Promise<StoredFeatures> {
    mkdirSync(folder, { recursive: true });
    const items: Item[] = [];
    const files = new Map<Group, number>();
    for (const group of wanted) {
      const [itemFile, arrayFile] = [path.join(folder, `${group}.json`), path.join(folder, `${group}.f16`)];
      if (!existsSync(itemFile)) {
        const writer = new ArrayWriter(arrayFile);
        const made = await groups[group](trained, writer);
        writer.close();
        writeFileSync(`${itemFile}.tmp`, JSON.stringify(made));
        renameSync(`${itemFile}.tmp`, itemFile);
      }
      const found = JSON.parse(readFileSync(itemFile, 'utf8')) as Omit<Item, 'group'>[];
      items.push(...found.map((one): Item => ({ ...one, group })));
      files.set(group, openSync(arrayFile, 'r'));
    }
    return new StoredFeatures(items, files);
  }
  of(kind: ItemKind): Item[] {
    return this.items.filter((one) => one.kind === kind);
  }
  read(item: Item, name: string): Float32Array {
    const [at, length] = item.arrays[name] ?? [0, 0];
    if (length === 0) throw new Error(`nothing named ${name} is stored`);
    const halves = new Float16Array(length);
    readSync(this.#files.get(item.group) ?? -1, new Uint8Array(halves.buffer), 0, halves.byteLength, 2 * at);
    return Float32Array.from(halves);
  }
  map(item: Item, name: PooledMapName): CellMap {
    const { channels, stride } = pooledMaps[name];
    return { values: this.read(item, name), channels, edge: item.side / stride };
  }
  close(): void {
    for (const file of this.#files.values()) closeSync(file);
  }
}
