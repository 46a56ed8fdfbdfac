// Sets that the classifiers are measured on. Composites: cut-outs on photographs, by seed; training and test share no
// background. What cannot be had on a computer is undefined there.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { seeded, shuffled } from '@platform/trainer-engine/random';
import sharp from 'sharp';
import { debianPackage } from '../../engine/bench/debian.ts';
import { composed, photographs, side } from './composites.ts';
import type { Material, Part, Thing } from './composites.ts';
import { clipArt, foldsByGroup, stampCutOuts } from './cut-outs.ts';
import type { CutOut } from './cut-outs.ts';
import { solarCells, solarCellsForDevelopment } from './solar-cells.ts';

export interface LabelledImage {
  name: string;
  split: Part;
  labels: readonly string[];
  bytes: Buffer;
}
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

/** Share of the groups that only the test shows: one of this number. */
const groupFolds = 3;
/**
 * So many images, each of one to three categories, each shown by one of its cut-outs. Test images share neither
 * objects nor backgrounds with training ones.
 */
async function* categoriesTogether(
  cutOuts: readonly CutOut[],
  { seed, ...counts }: Order,
): AsyncGenerator<LabelledImage> {
  const backgrounds = await photographs();
  if (!backgrounds) throw new Error('the photographs of gcompris-qt-data are missing');
  const folds = foldsByGroup(cutOuts, groupFolds, seed);
  const labels = [...new Set(cutOuts.map(({ label }) => label))];
  for (const split of ['train', 'test'] as const) {
    const own = cutOuts.filter((_, i) => (folds[i] === 0) === (split === 'test'));
    const byLabel = Map.groupBy(own, ({ label }) => label);
    for (let number = 1; number <= counts[split]; number++) {
      const random = seeded('categories together', seed, split, number);
      const chosen = shuffled(labels, random).slice(0, 1 + Math.floor(random() * 3));
      const things = chosen.flatMap((label) => {
        const some = byLabel.get(label) ?? [];
        return some.slice(Math.floor(random() * some.length)).slice(0, 1);
      });
      const bytes = await composed(things, { things, backgrounds, size: amongOthers, turn: 15 }, split, random);
      yield { name: `${split}-${number}.jpg`, split, labels: things.map(({ label }) => label), bytes };
    }
  }
}
const sixStamps = ['bird', 'flower', 'fruit', 'insect', 'mammal', 'vehicle'];

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
  const own = files('photographs');
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
/** `development`, `development-multi`, `stamps-6-multi` and `elpv-development` are what recipes are chosen by. */
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
  'objects-10': {
    kind: single,
    train: 12,
    test: 20,
    images: async (order) => oneByOne(await objects10(), 'objects-10', order),
  },
  'objects-10-multi': {
    kind: 'multi_label_classification',
    train: 120,
    test: 200,
    images: async (order) => together(await objects10(), order),
  },
  // What several labels with unseen objects are chosen by; the drawings below are their named test.
  'stamps-6-multi': {
    kind: 'multi_label_classification',
    train: 150,
    test: 200,
    images: (order) => {
      const cutOuts = stampCutOuts(sixStamps);
      return cutOuts && categoriesTogether(cutOuts, order);
    },
  },
  'drawings-8-multi': {
    kind: 'multi_label_classification',
    train: 150,
    test: 200,
    images: (order) => {
      const cutOuts = clipArt(8);
      return cutOuts && categoriesTogether(cutOuts, order);
    },
  },
  elpv: { kind: single, train: 0, test: 0, images: solarCells },
  'elpv-development': { kind: single, train: 0, test: 0, images: solarCellsForDevelopment },
  folder: {
    kind: single,
    train: 0,
    test: 0,
    images: (order) => (folder === undefined ? undefined : ofFolder(order)),
  },
};
