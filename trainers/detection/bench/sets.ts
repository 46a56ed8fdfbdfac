// Detection sets with exact boxes: cut-outs pasted on photographs, 1 to 3 per image, by seed. Test images share no
// background with training ones, and in detect-5 no cut-out either.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BoxAnnotation, Split } from '@platform/contract/job/job';
import { seeded, shuffled } from '@platform/trainer-engine/random';
import type { Random } from '@platform/trainer-engine/random';
import sharp from 'sharp';
import { debianPackage } from '../../engine/bench/debian.ts';
import { qtResources } from '../../engine/bench/qt-resources.ts';

export interface BoxedImage {
  name: string;
  split: Split;
  bytes: Buffer;
  boxes: BoxAnnotation[];
}
type Part = Exclude<Split, 'validation'>;
export interface Sprite {
  label: string;
  file: string;
}
/** What images are made of, by part. */
export interface Material {
  sprites: Readonly<Record<Part, readonly Sprite[]>>;
  backgrounds: Readonly<Record<Part, readonly (string | Buffer)[]>>;
}
/** Pixels of both edges. */
const side = 320;

const stampsOf = (root: string): string => path.join(root, 'usr/share/tuxpaint/stamps');
const sixObjects: readonly Sprite[] = [
  { label: 'apricot', file: 'food/fruit/apricot.png' },
  { label: 'bear', file: 'animals/mammals/bears/bear.png' },
  { label: 'crane', file: 'animals/birds/crowned_crane.png' },
  { label: 'flower', file: 'plants/flowers/daffodil.png' },
  { label: 'scissors', file: 'household/arttools/scissors_small_closed.png' },
  { label: 'truck', file: 'vehicles/auto/truck.png' },
];
const fiveCategories: Readonly<Record<string, string>> = {
  bird: 'animals/birds',
  flower: 'plants/flowers',
  fruit: 'food/fruit',
  household: 'household',
  mammal: 'animals/mammals',
};
const backgroundFiles = ['details.rcc', 'explore_monuments.rcc'];

/** Every other one is for tests. */
function halves<T>(items: readonly T[]): Record<Part, T[]> {
  return { train: items.filter((_, i) => i % 2 === 0), test: items.filter((_, i) => i % 2 === 1) };
}

async function photographs(): Promise<Record<Part, Buffer[]> | undefined> {
  const root = debianPackage('gcompris-qt-data');
  if (root === undefined) return undefined;
  const found: [string, Buffer][] = [];
  for (const file of backgroundFiles) {
    const raw = readFileSync(path.join(root, 'usr/share/gcompris-qt/rcc', file));
    for (const [name, bytes] of qtResources(raw)) {
      if (!name.endsWith('.webp')) continue;
      const { width, height } = await sharp(bytes).metadata();
      if (Math.min(width, height) >= 300) found.push([name, bytes]);
    }
  }
  return halves(found.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, bytes]) => bytes));
}

/** detect-6: the same six objects in training and test. Undefined where Debian's packages cannot be had. */
export async function sixStamps(): Promise<Material | undefined> {
  const root = debianPackage('tuxpaint-stamps-default');
  const backgrounds = await photographs();
  if (root === undefined || backgrounds === undefined) return undefined;
  const sprites = sixObjects.map(({ label, file }) => ({ label, file: path.join(stampsOf(root), file) }));
  return { sprites: { train: sprites, test: sprites }, backgrounds };
}

/** detect-5: five categories, 7 of 10 cut-outs for training, the rest for the test. */
export async function fiveKinds(seed: number): Promise<Material | undefined> {
  const root = debianPackage('tuxpaint-stamps-default');
  const backgrounds = await photographs();
  if (root === undefined || backgrounds === undefined) return undefined;
  const sprites: Record<Part, Sprite[]> = { train: [], test: [] };
  for (const [label, folder] of Object.entries(fiveCategories)) {
    const files = readdirSync(path.join(stampsOf(root), folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.png') && !/_mirror|cartoon|toys/.test(file))
      .toSorted()
      .map((file) => ({ label, file: path.join(stampsOf(root), folder, file) }));
    const order = shuffled(files, seeded('five kinds', seed, label));
    const trainCount = Math.round(order.length * 0.7);
    sprites.train.push(...order.slice(0, trainCount));
    sprites.test.push(...order.slice(trainCount));
  }
  return { sprites, backgrounds };
}

/** Number of development sets. */
export const developmentSets = 3;
/**
 * For choices of the recipe: the training cut-outs and training backgrounds of detect-5 with seed 1 alone. A third of
 * both, another one for each set, is for the test.
 */
export async function fiveKindsForDevelopment(set: number): Promise<Material | undefined> {
  const material = await fiveKinds(1);
  if (material === undefined) return undefined;
  const { sprites, backgrounds } = material;
  const labels = Object.keys(fiveCategories);
  const ordered = labels.flatMap((label) => sprites.train.filter((one) => one.label === label));
  const partOf = (i: number): Part => (i % developmentSets === set % developmentSets ? 'test' : 'train');
  const split = <T>(items: readonly T[]): Record<Part, T[]> => ({
    train: items.filter((_, i) => partOf(i) === 'train'),
    test: items.filter((_, i) => partOf(i) === 'test'),
  });
  return { sprites: split(ordered), backgrounds: split(backgrounds.train) };
}

/** Six of the repository's own cut-outs, for machines without Debian's packages. */
export function sixOfOurs(): Material {
  const sources = fileURLToPath(new URL('../../../datasets/objects-10/sources', import.meta.url));
  const labels = ['balloon', 'bear', 'corn', 'mushroom', 'penguin', 'rabbit'];
  const sprites = labels.map((label) => ({ label, file: path.join(sources, 'cut-outs', `${label}.png`) }));
  const photos = readdirSync(path.join(sources, 'photographs'))
    .filter((file) => file.endsWith('.jpg'))
    .toSorted()
    .map((file) => path.join(sources, 'photographs', file));
  return { sprites: { train: sprites, test: sprites }, backgrounds: halves(photos) };
}

async function backdrop(photo: string | Buffer, random: Random, isFixed: boolean): Promise<Buffer> {
  const { width, height } = await sharp(photo).metadata();
  const edge = Math.floor(Math.min(width, height) * (isFixed ? 1 : 0.5 + 0.5 * random()));
  const [left, top] = isFixed
    ? [0, 0]
    : [Math.floor(random() * (width - edge)), Math.floor(random() * (height - edge))];
  const square = sharp(photo).extract({ left, top, width: edge, height: edge }).resize(side, side, { fit: 'fill' });
  const { data } = await square
    .flatten()
    .toColourspace('srgb')
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  if (data.length === side * side * 3) return data;
  const rgb = Buffer.alloc(side * side * 3);
  for (let i = 0; i < rgb.length; i++) rgb[i] = data[Math.floor(i / 3)] ?? 0;
  return rgb;
}

type Range = readonly [least: number, most: number];
export interface Scene {
  /** Objects per image. */
  objects: Range;
  /** Sizes of the objects, as shares of the image's edge. */
  sizes: Range;
  /** Every image has the whole background, as of a fixed camera; else a random part. */
  isFixed: boolean;
}
const usualScene: Scene = { objects: [1, 3], sizes: [0.15, 0.55], isFixed: false };

interface Pasted {
  png: Buffer;
  left: number;
  top: number;
  /** Corners in pixels of what is more than half opaque. */
  box: readonly [number, number, number, number];
}
async function pasted({ file }: Sprite, random: Random, [least, most]: Range): Promise<Pasted | undefined> {
  const edge = Math.round(side * (least + (most - least) * random()));
  const thing = sharp(file)
    .ensureAlpha()
    .flop(random() < 0.5)
    .resize(edge, edge, { fit: 'inside' });
  const { data, info } = await thing.raw().toBuffer({ resolveWithObject: true });
  const { width, height } = info;
  const box: [number, number, number, number] = [width, height, 0, 0];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if ((data[(y * width + x) * 4 + 3] ?? 0) <= 127) continue;
      box[0] = Math.min(box[0], x);
      box[1] = Math.min(box[1], y);
      box[2] = Math.max(box[2], x + 1);
      box[3] = Math.max(box[3], y + 1);
    }
  }
  const left = Math.floor(random() * (side - width));
  const top = Math.floor(random() * (side - height));
  if (box[2] <= box[0] || box[3] <= box[1]) return undefined;
  const png = await sharp(data, { raw: { width, height, channels: 4 } })
    .png({ compressionLevel: 0 })
    .toBuffer();
  return { png, left, top, box: [left + box[0], top + box[1], left + box[2], top + box[3]] };
}
function overlap(a: Pasted['box'], b: Pasted['box']): number {
  const width = Math.max(0, Math.min(a[2], b[2]) - Math.max(a[0], b[0]));
  const height = Math.max(0, Math.min(a[3], b[3]) - Math.max(a[1], b[1]));
  const areas = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]);
  return (width * height) / (areas - width * height);
}

export async function* composeDetection(
  { sprites, backgrounds }: Material,
  counts: Readonly<Record<Part, number>>,
  seed: number,
  { objects: [fewest, most], sizes, isFixed }: Scene = usualScene,
): AsyncGenerator<BoxedImage> {
  for (const split of ['train', 'test'] as const) {
    for (let number = 1; number <= counts[split]; number++) {
      const random = seeded('detection', seed, split, number);
      const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(random() * items.length)];
      const background = pick(backgrounds[split]);
      if (background === undefined) throw new Error(`no background for ${split}`);
      const placed: (Pasted & { label: string })[] = [];
      const wanted = fewest + Math.floor(random() * (most - fewest + 1));
      for (let tries = 0; placed.length < wanted && tries < 20; tries++) {
        const sprite = pick(sprites[split]);
        const one = sprite === undefined ? undefined : await pasted(sprite, random, sizes);
        if (sprite && one && placed.every(({ box }) => overlap(box, one.box) < 0.1)) {
          placed.push({ ...one, label: sprite.label });
        }
      }
      const bytes = await sharp(await backdrop(background, random, isFixed), {
        raw: { width: side, height: side, channels: 3 },
      })
        .composite(placed.map(({ png, left, top }) => ({ input: png, left, top })))
        .jpeg({ quality: 90 })
        .toBuffer();
      const boxes = placed.map(({ label, box }) => ({
        annotation_label: label,
        x_min_normalized: box[0] / side,
        y_min_normalized: box[1] / side,
        x_max_normalized: box[2] / side,
        y_max_normalized: box[3] / side,
      }));
      yield { name: `${split}-${String(number).padStart(3, '0')}.jpg`, split, bytes, boxes };
    }
  }
}
