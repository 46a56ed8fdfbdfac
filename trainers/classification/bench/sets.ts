// Sets that the classifiers are measured on. Composites: cut-outs on photographs, by seed; training and test share no
// background. What cannot be had on a computer is undefined there.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Split } from '@platform/contract/job';
import { seeded, shuffled } from '@platform/trainer-engine/random';
import type { Random } from '@platform/trainer-engine/random';
import sharp from 'sharp';
import { debianPackage } from '../../detection/bench/debian.ts';
import { qtResources } from '../../detection/bench/qt-resources.ts';
import { solarCells } from './solar-cells.ts';

export interface LabelledImage {
  name: string;
  split: Exclude<Split, 'validation'>;
  labels: readonly string[];
  bytes: Buffer;
}
type Part = LabelledImage['split'];
export interface Order {
  seed: number;
  /** Images, per class where classes are composed one by one. */
  train: number;
  test: number;
}
export type Images = AsyncIterable<LabelledImage> | Iterable<LabelledImage>;
export interface TestSet {
  kind: 'single_label_classification' | 'multi_label_classification';
  train: number;
  test: number;
  images(order: Order): Promise<Images | undefined> | Images | undefined;
}

/** Pixels of both edges of composites. */
const side = 320;
interface Thing {
  label: string;
  file: string;
}
interface Material {
  things: readonly Thing[];
  backgrounds: Readonly<Record<Part, readonly (string | Buffer)[]>>;
  /** Edge of a thing as a share of the image's, least and most. */
  size: readonly [number, number];
  /** Degrees, either way. */
  turn: number;
}

const stamps = (): string | undefined => {
  const root = debianPackage('tuxpaint-stamps-default');
  return root === undefined ? undefined : path.join(root, 'usr/share/tuxpaint/stamps');
};
const named = (root: string, files: Readonly<Record<string, string>>): Thing[] =>
  Object.entries(files).map(([label, file]) => ({ label, file: path.join(root, file) }));

/** Thin or transparent things: kept apart from every choice that the recipe is made of. */
const keptApart = {
  glass: 'household/dishes/glass.png',
  key: 'household/key.png',
  lightbulb: 'household/Lightbulb.png',
  racket: 'sports/tennis_racket.png',
  saw: 'household/tools/saw.png',
  thermometer: 'medical/mercurythermometer.png',
  violin: 'hobbies/music/string/violin.png',
  wrench: 'household/tools/wrench.png',
};
/** Similar objects, used to choose the recipe. */
const development = {
  guitar: 'hobbies/music/string/guitar_electric.png',
  hammer: 'household/tools/hammer.png',
  mug: 'household/dishes/mug.png',
  pitcher: 'household/dishes/pitcher_small.png',
  plyers: 'household/tools/plyers.png',
  scissors: 'household/arttools/scissors_small_open.png',
  stethoscope: 'medical/stethoscope.png',
  trumpet: 'hobbies/music/brass/trumpet.png',
};
const nineCategories = {
  bird: 'animals/birds',
  clothes: 'clothes',
  flower: 'plants/flowers',
  fruit: 'food/fruit',
  household: 'household',
  insect: 'animals/insects',
  mammal: 'animals/mammals',
  vegetable: 'food/vegetables',
  vehicle: 'vehicles',
};

async function photographs(): Promise<Record<Part, Buffer[]> | undefined> {
  const root = debianPackage('gcompris-qt-data');
  if (root === undefined) return undefined;
  const found: [string, Buffer][] = [];
  for (const file of ['details.rcc', 'explore_monuments.rcc']) {
    for (const [name, bytes] of qtResources(readFileSync(path.join(root, 'usr/share/gcompris-qt/rcc', file)))) {
      if (!name.endsWith('.webp')) continue;
      const { width, height } = await sharp(bytes).metadata();
      if (Math.min(width, height) >= 300) found.push([name, bytes]);
    }
  }
  const sorted = found.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, bytes]) => bytes);
  return { train: sorted.filter((_, i) => i % 2 === 0), test: sorted.filter((_, i) => i % 2 === 1) };
}

function pick<T>(items: readonly T[], random: Random): T {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new RangeError('nothing to pick from');
  return item;
}

async function backdrop(photo: string | Buffer, random: Random): Promise<Buffer> {
  const { width, height } = await sharp(photo).metadata();
  const edge = Math.floor(Math.min(width, height) * (0.5 + 0.5 * random()));
  const left = Math.floor(random() * (width - edge));
  const top = Math.floor(random() * (height - edge));
  return sharp(photo)
    .extract({ left, top, width: edge, height: edge })
    .resize(side, side, { fit: 'fill' })
    .flatten()
    .toColourspace('srgb')
    .png({ compressionLevel: 0 })
    .toBuffer();
}

async function thing(
  { file }: Thing,
  edge: number,
  turn: number,
  random: Random,
): Promise<{ png: Buffer; width: number; height: number }> {
  const upright = await sharp(file)
    .ensureAlpha()
    .trim()
    .flop(random() < 0.5)
    .resize(edge, edge, { fit: 'inside' })
    .png({ compressionLevel: 0 })
    .toBuffer();
  const angle = (random() * 2 - 1) * turn;
  const { data, info } = await sharp(upright)
    .rotate(angle, { background: '#00000000' })
    .resize(side, side, { fit: 'inside', withoutEnlargement: true })
    .png({ compressionLevel: 0 })
    .toBuffer({ resolveWithObject: true });
  return { png: data, width: info.width, height: info.height };
}

interface Layer {
  input: Buffer;
  left: number;
  top: number;
  width: number;
  height: number;
}
/** Common area as a share of the smaller one's. */
function overlap(a: Layer, b: Layer): number {
  const width = Math.min(a.left + a.width, b.left + b.width) - Math.max(a.left, b.left);
  const height = Math.min(a.top + a.height, b.top + b.height) - Math.max(a.top, b.top);
  if (width <= 0 || height <= 0) return 0;
  return (width * height) / Math.min(a.width * a.height, b.width * b.height);
}

async function composed(things: readonly Thing[], material: Material, part: Part, random: Random): Promise<Buffer> {
  const [least, most] = material.size;
  const layers: Layer[] = [];
  for (const one of things) {
    // What is covered could not be named: things may touch, not hide each other.
    for (let tries = 0; tries < 20; tries++) {
      const edge = Math.round(side * (least + (most - least) * random()));
      const { png, width, height } = await thing(one, edge, material.turn, random);
      const left = Math.floor(random() * (side - width));
      const top = Math.floor(random() * (side - height));
      const layer = { input: png, left, top, width, height };
      const isHidden = layers.some((other) => overlap(layer, other) > 0.2);
      if (isHidden && tries < 19) continue;
      layers.push(layer);
      break;
    }
  }
  return sharp(await backdrop(pick(material.backgrounds[part], random), random))
    .composite(layers.map(({ input, left, top }) => ({ input, left, top })))
    .jpeg({ quality: 90 })
    .toBuffer();
}

/** So many images of each thing. */
async function* oneByOne(material: Material, name: string, { seed, ...counts }: Order): AsyncGenerator<LabelledImage> {
  for (const split of ['train', 'test'] as const) {
    for (let number = 1; number <= counts[split]; number++) {
      for (const one of material.things) {
        const random = seeded(name, seed, split, one.label, number);
        const bytes = await composed([one], material, split, random);
        yield { name: `${split}-${one.label}-${number}.jpg`, split, labels: [one.label], bytes };
      }
    }
  }
}
/** So many images, each of one to three things. */
async function* together(material: Material, { seed, ...counts }: Order): AsyncGenerator<LabelledImage> {
  for (const split of ['train', 'test'] as const) {
    for (let number = 1; number <= counts[split]; number++) {
      const random = seeded('together', seed, split, number);
      const things = shuffled(material.things, random).slice(0, 1 + Math.floor(random() * 3));
      const bytes = await composed(things, material, split, random);
      yield { name: `${split}-${number}.jpg`, split, labels: things.map(({ label }) => label), bytes };
    }
  }
}

async function ofStamps(
  files: Readonly<Record<string, string>>,
  size: Material['size'],
  compose: (material: Material) => Images,
): Promise<Images | undefined> {
  const root = stamps();
  const backgrounds = await photographs();
  if (root === undefined || backgrounds === undefined) return undefined;
  return compose({ things: named(root, files), backgrounds, size, turn: 15 });
}
const alone: Material['size'] = [0.4, 0.85];
const amongOthers: Material['size'] = [0.3, 0.6];

/** The repository's own cut-outs; its own backgrounds where the photographs cannot be had. */
async function objects10(): Promise<Material> {
  const sources = fileURLToPath(new URL('../../../datasets/objects-10/sources', import.meta.url));
  const files = (folder: string): string[] =>
    readdirSync(path.join(sources, folder))
      .filter((file) => file !== 'LICENSE')
      .toSorted()
      .map((file) => path.join(sources, folder, file));
  const own = files('backgrounds');
  return {
    things: files('cut-outs').map((file) => ({ label: path.basename(file, '.png'), file })),
    backgrounds: (await photographs()) ?? {
      train: own.filter((_, i) => i % 2 === 0),
      test: own.filter((_, i) => i % 2 === 1),
    },
    size: amongOthers,
    turn: 0,
  };
}

/** Cut-outs on white squares: every thing is in one image, so test things were never seen. */
async function* stampCategories({ seed }: Order): AsyncGenerator<LabelledImage> {
  const root = stamps() ?? '';
  for (const [label, folder] of Object.entries(nineCategories)) {
    const files = readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.png') && !/_mirror|cartoon|toys/.test(file))
      .toSorted();
    const order = shuffled(files, seeded('nine categories', seed, label));
    const trainCount = Math.round(order.length * 0.7);
    for (const [i, file] of order.entries()) {
      const bytes = await sharp(path.join(root, folder, file))
        .ensureAlpha()
        .resize(side, side, { fit: 'contain', background: '#ffffff00' })
        .flatten({ background: '#fff' })
        .png()
        .toBuffer();
      yield { name: `${label}-${i}.png`, split: i < trainCount ? 'train' : 'test', labels: [label], bytes };
    }
  }
}

const folder = process.env['BENCH_IMAGES'];

/** Images of one's own: a folder of folders, each named for its label. Three quarters are learnt from. */
function* ofFolder({ seed }: Order): Generator<LabelledImage> {
  if (folder === undefined) return;
  for (const label of readdirSync(folder, 'utf8').toSorted()) {
    const files: string[] = readdirSync(path.join(folder, label), 'utf8').toSorted();
    const order = shuffled(files, seeded('folder', seed, label));
    const trainCount = Math.round(order.length * 0.75);
    for (const [i, file] of order.entries()) {
      const bytes = readFileSync(path.join(folder, label, file));
      yield { name: `${label}-${file}`, split: i < trainCount ? 'train' : 'test', labels: [label], bytes };
    }
  }
}

const single = 'single_label_classification';
/** `development` and `development-multi` are what recipes are chosen by. */
export const testSets: Readonly<Record<string, TestSet>> = {
  'kept-apart': {
    kind: single,
    train: 12,
    test: 20,
    images: (order) => ofStamps(keptApart, alone, (material) => oneByOne(material, 'kept apart', order)),
  },
  development: {
    kind: single,
    train: 12,
    test: 20,
    images: (order) => ofStamps(development, alone, (material) => oneByOne(material, 'development', order)),
  },
  'development-multi': {
    kind: 'multi_label_classification',
    train: 120,
    test: 200,
    images: (order) => ofStamps(development, amongOthers, (material) => together(material, order)),
  },
  'stamps-9': {
    kind: single,
    train: 0,
    test: 0,
    images: (order) => (stamps() === undefined ? undefined : stampCategories(order)),
  },
  'objects-10-multi': {
    kind: 'multi_label_classification',
    train: 120,
    test: 200,
    images: async (order) => together(await objects10(), order),
  },
  elpv: { kind: single, train: 0, test: 0, images: solarCells },
  folder: {
    kind: single,
    train: 0,
    test: 0,
    images: (order) => (folder === undefined ? undefined : ofFolder(order)),
  },
};
