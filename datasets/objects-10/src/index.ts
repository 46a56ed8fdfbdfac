/**
 * objects-10: ten things, cut out of photographs, on photographed backgrounds. Images are composed by seed, so the
 * repository holds the sources alone (see ../sources: they have licences of their own).
 */
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { backgrounds, cutOuts, isPlausible } from './sources.ts';
import type { Background, CutOut, Split } from './sources.ts';

export interface ComposedImage {
  /** Unique within one call, for example `train-bear-003.jpg`. */
  name: string;
  label: string;
  split: Split;
  jpeg: Buffer;
}
export interface Objects10Options {
  /** Any whole number. */
  seed: number;
  /** Pixels of both edges; 32 … 1024. */
  side?: number;
  trainPerClass?: number;
  testPerClass?: number;
  /** Labels to compose, in the order wanted. Default: all ten. */
  objects?: readonly string[];
}

export const objectLabels: readonly string[] = cutOuts.map(({ label }) => label);

/** @param file - in sources/. */
const source = (file: string): string => fileURLToPath(new URL(`../sources/${file}`, import.meta.url));

function pick<T>(items: readonly T[], random: Random): T {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new RangeError('nothing to pick from');
  return item;
}

/** A random square of 50..100 % of the short edge, mirrored half of the time. */
async function backdrop({ file, grey }: Background, side: number, random: Random): Promise<Buffer> {
  const path = source(file);
  const { width, height } = await sharp(path).metadata();
  const edge = Math.floor(Math.min(width, height) * (0.5 + 0.5 * random()));
  const left = Math.floor(random() * (width - edge));
  const top = Math.floor(random() * (height - edge));
  const mirrored = random() < 0.5;
  const brightness = 0.75 + 0.25 * random();
  const tint = [brightness, brightness * (0.8 + 0.2 * random()), brightness * (0.65 + 0.3 * random())];
  const square = sharp(path).extract({ left, top, width: edge, height: edge }).flop(mirrored);
  const coloured = square.toColourspace('srgb').resize(side, side, { fit: 'fill' });
  const { data, info } = await coloured.removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const rgb = Buffer.alloc(side * side * 3);
  for (let i = 0; i < side * side; i++) {
    for (let c = 0; c < 3; c++) {
      const value = data[i * info.channels + (info.channels < 3 ? 0 : c)] ?? 0;
      rgb[i * 3 + c] = Math.round(value * (grey ? (tint[c] ?? 1) : 1));
    }
  }
  return rgb;
}

/** The cut-out at 45..90 % of the image's edge, mirrored half of the time, anywhere inside. */
async function compose(cutOut: CutOut, background: Background, side: number, random: Random): Promise<Buffer> {
  const behind = await backdrop(background, side, random);
  const edge = Math.max(1, Math.round(side * (0.45 + 0.45 * random())));
  const thing = await sharp(source(`cut-outs/${cutOut.file}`))
    .flop(random() < 0.5)
    .ensureAlpha()
    .resize(edge, edge, { fit: 'inside' })
    .png({ compressionLevel: 1 })
    .toBuffer({ resolveWithObject: true });
  const left = Math.floor(random() * (side - thing.info.width));
  const top = Math.floor(random() * (side - thing.info.height));
  return sharp(behind, { raw: { width: side, height: side, channels: 3 } })
    .composite([{ input: thing.data, left, top }])
    .jpeg({ quality: 88 })
    .toBuffer();
}

/**
 * Composes image by image. An image depends on seed, side, split, label and its own number alone, so asking for
 * more or for fewer of them does not change the others. Train and test use different backgrounds.
 */
export async function* composeObjects10({
  seed,
  side = 256,
  trainPerClass = 12,
  testPerClass = 20,
  objects = objectLabels,
}: Objects10Options): AsyncGenerator<ComposedImage, void, undefined> {
  if (!Number.isInteger(side) || side < 32 || side > 1024) {
    throw new RangeError(`side must be a whole number from 32 to 1024, not ${side}`);
  }
  const wanted = objects.map((label) => {
    const found = cutOuts.find((one) => one.label === label);
    if (!found) throw new RangeError(`no object "${label}"; there are ${objectLabels.join(', ')}`);
    return found;
  });
  const counts = { train: trainPerClass, test: testPerClass };
  for (const split of ['train', 'test'] as const) {
    const places = backgrounds.filter((one) => one.split === split);
    for (let number = 1; number <= counts[split]; number++) {
      for (const cutOut of wanted) {
        const random = seeded('objects-10', seed, split, cutOut.label, number);
        const own = places.filter((place) => isPlausible(cutOut, place));
        const jpeg = await compose(cutOut, pick(own, random), side, random);
        const name = `${split}-${cutOut.label}-${String(number).padStart(3, '0')}.jpg`;
        yield { name, label: cutOut.label, split, jpeg };
      }
    }
  }
}

type Random = () => number;

/** mulberry32 over a hash of the parts: 0 ≤ x < 1. Same parts, same numbers. */
function seeded(...parts: (string | number)[]): Random {
  let state = 0x811c9dc5;
  for (const byte of Buffer.from(parts.join('\n'))) state = Math.imul(state ^ byte, 0x01000193);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
