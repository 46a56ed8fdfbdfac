/**
 * How well thumbnails, features of the frozen network and both find near copies:
 *   node near-copies.ts [--images=40] [--seed=1]
 * Near copies are made of `images` images of each set. Different images are all pairs of originals of one set, without
 * pairs of one template: other images of one label, and the same object on other backgrounds. The last two sets are hard:
 * solar cells that all look alike, and objects in different places before one background.
 */
import { parseArgs } from 'node:util';
import { CopyUnits, Unions } from '@platform/trainer-engine/keep-together';
import { foundBy, NearCopyFinder } from '@platform/trainer-engine/near-copies';
import type { Likeness } from '@platform/trainer-engine/near-copies';
import { readEfficientnet } from '@platform/trainer-engine/pretrained/efficientnet';
import { seeded, shuffled } from '@platform/trainer-engine/random';
import type { Random } from '@platform/trainer-engine/random';
import { isNear, maxDifference, thumbnailOf } from '@platform/trainer-engine/thumbnails';
import sharp from 'sharp';
import { cut, noisy, sign, within } from '../../engine/bench/image-changes.ts';
import { photographs } from './composites.ts';
import { clipArt, stampCutOuts } from './cut-outs.ts';
import type { CutOut } from './cut-outs.ts';
import { testSets } from './sets.ts';

const { values: flags } = parseArgs({
  options: { images: { type: 'string', default: '40' }, seed: { type: 'string', default: '1' } },
});
const seed = Number(flags.seed);
const copied = Number(flags.images);
const edge = 320;

interface Original {
  label: string;
  /** Pairs of one group are neither near copies nor negatives: drawings of one template. */
  group: string;
  bytes: Buffer;
}
const byLabel = async (name: string, train: number, test: number): Promise<Original[]> => {
  const images = await testSets[name]?.images({ seed, train, test });
  if (!images) throw new Error(`the set ${name} cannot be had`);
  return (await Array.fromAsync(images)).map(({ bytes, labels }, i) => ({
    label: labels.join(),
    group: String(i),
    bytes,
  }));
};
const ofCutOuts = (cutOuts: readonly CutOut[] = []): Promise<Original[]> =>
  Array.fromAsync(cutOuts, async ({ label, group, file }) => ({
    label,
    group,
    bytes: await sharp(file)
      .ensureAlpha()
      .resize(edge, edge, { fit: 'contain', background: '#ffffff00' })
      .flatten({ background: '#fff' })
      .png({ compressionLevel: 0 })
      .toBuffer(),
  }));
/** Cut-outs in random places before one background. */
async function oneScene(): Promise<Original[]> {
  const [photo] = (await photographs())?.train ?? [];
  const backdrop = await sharp(photo).resize(edge, edge, { fit: 'cover' }).png().toBuffer();
  const cutOuts = shuffled(stampCutOuts() ?? [], seeded('one scene', seed)).slice(0, 20);
  return Array.fromAsync({ length: 200 }, async (_, i) => {
    const random = seeded('one scene', seed, i);
    const size = Math.round(edge * within(random, 0.25, 0.5));
    const input = await sharp(cutOuts[i % 20]?.file)
      .ensureAlpha()
      .resize(size, size, { fit: 'fill' })
      .png()
      .toBuffer();
    const place = (): number => Math.floor(random() * (edge - size));
    const image = sharp(backdrop).composite([{ input, left: place(), top: place() }]);
    return { label: String(i % 20), group: String(i), bytes: await image.jpeg({ quality: 90 }).toBuffer() };
  });
}
const sets: Readonly<Record<string, () => Promise<Original[]>>> = {
  'objects-10': () => byLabel('objects-10', 12, 20),
  development: () => byLabel('development', 12, 20),
  'stamps-9': () => ofCutOuts(stampCutOuts()),
  'drawings-22': () => ofCutOuts(clipArt(22)),
  elpv: () => byLabel('elpv', 600, 0),
  'one scene': oneScene,
};

type Change = (bytes: Buffer, random: Random) => Promise<Buffer>;
const changes: Readonly<Record<string, Change>> = {
  'JPEG quality 30': (bytes) => sharp(bytes).jpeg({ quality: 30 }).toBuffer(),
  'half the size, JPEG quality 60': (bytes) =>
    sharp(bytes)
      .resize(edge / 2, edge / 2)
      .jpeg({ quality: 60 })
      .toBuffer(),
  'crop of 3 to 8 %': (bytes, random) => {
    const lost = within(random, 0.03, 0.08);
    return cut(bytes, {
      x: (random() - 0.5) * lost,
      y: (random() - 0.5) * lost,
      size: 1 - lost,
      turn: 0,
    });
  },
  'brightness by 5 to 15 %': (bytes, random) =>
    sharp(bytes)
      .linear(1 + sign(random) * within(random, 0.05, 0.15), 0)
      .jpeg({ quality: 90 })
      .toBuffer(),
  'shift of 1 to 4 %': (bytes, random) =>
    cut(bytes, {
      x: sign(random) * within(random, 0.01, 0.04),
      y: sign(random) * within(random, 0.01, 0.04),
      size: 1,
      turn: 0,
    }),
  'rotation by 1 to 3°': (bytes, random) =>
    cut(bytes, { x: 0, y: 0, size: 1, turn: sign(random) * within(random, 1, 3) }),
  'burst: noise of 6, shift up to 0.5 %': async (bytes, random) =>
    noisy(await cut(bytes, { x: (random() - 0.5) * 0.01, y: (random() - 0.5) * 0.01, size: 1, turn: 0 }), random, 6),
};

/** Sets whose pairs decide; the others are shown apart. */
const deciding = ['objects-10', 'development', 'stamps-9', 'drawings-22'];
const side = 224;

interface Pair extends Likeness {
  difference: number;
  isThumbnailCopy: boolean;
}
type Rule = (pair: Pair) => boolean;
interface Measured {
  copies: { change: string; pair: Pair }[];
  different: { a: number; b: number; isOneLabel: boolean; pair: Pair }[];
  pairs: number;
  pairsOfOneLabel: number;
  images: number;
}

const pixelsOf = (bytes: Buffer): Promise<Buffer> =>
  sharp(bytes)
    .flatten({ background: '#fff' })
    .toColourspace('srgb')
    .removeAlpha()
    .resize(side, side, { fit: 'fill' })
    .raw()
    .toBuffer();

async function measure(name: string, images: readonly Original[]): Promise<Measured> {
  const made = images.map((_, i) => ({ change: '', of: i }));
  const buffers = images.map(({ bytes }) => bytes);
  for (const of of shuffled([...images.keys()], seeded('near copies', seed, name)).slice(0, copied)) {
    for (const [change, apply] of Object.entries(changes)) {
      buffers.push(await apply(images[of]?.bytes ?? Buffer.alloc(0), seeded(change, seed, name, of)));
      made.push({ change, of });
    }
  }
  const pixels = await Array.fromAsync(buffers, pixelsOf);
  const thumbnails = pixels.map((one) => thumbnailOf(one, side));
  const source = { count: pixels.length, side, pixels: (i: number) => pixels[i] ?? Buffer.alloc(0) };
  const before = process.cpuUsage();
  const signal = new AbortController().signal;
  const finder = await NearCopyFinder.open(readEfficientnet(), source, { threads: 1, signal });
  const { user, system } = process.cpuUsage(before);
  const found: Measured = { copies: [], different: [], pairs: 0, pairsOfOneLabel: 0, images: images.length };
  const pairOf = (a: number, b: number, likeness: Likeness): Pair => {
    const [x, y] = [thumbnails[a], thumbnails[b]];
    return {
      ...likeness,
      difference: finder.thumbnailDifference(a, b),
      isThumbnailCopy: x !== undefined && y !== undefined && isNear(x, y),
    };
  };
  const indices = [...pixels.keys()];
  await finder.eachLikeness(indices, indices, (a, b, likeness) => {
    const [x, y] = [made[a], made[b]];
    if (!x || !y || x.change !== '') return;
    if (y.change !== '') {
      if (y.of === a) found.copies.push({ change: y.change, pair: pairOf(a, b, likeness) });
      return;
    }
    if (images[a]?.group === images[b]?.group) return;
    const pair = pairOf(a, b, likeness);
    // The packages have some drawings twice.
    if (pair.plain > 0.9995 && pair.difference < 1) return;
    const isOneLabel = images[a]?.label === images[b]?.label;
    found.pairs++;
    if (isOneLabel) found.pairsOfOneLabel++;
    if (pair.standardized > 0.4 || pair.plain > 0.7 || pair.difference <= maxDifference)
      found.different.push({ a, b, isOneLabel, pair });
  });
  const compared = process.cpuUsage();
  let near = 0;
  await finder.eachPair(indices, indices, () => near++);
  const { user: own, system: kernel } = process.cpuUsage(compared);
  await finder.release();
  const ms = ((user + system) / 1000 / pixels.length).toFixed(1);
  const us = ((2 * (own + kernel)) / (pixels.length * (pixels.length - 1))).toFixed(2);
  console.log(
    `${name}: ${images.length} images, ${found.copies.length} near copies, ${found.pairs} pairs of different images; ` +
      `features ${ms} CPU ms per image, comparison ${us} CPU µs per pair`,
  );
  return found;
}

/** Images of the largest set that wrong pairs of one label join: by any chain, and as the trainer joins them. */
function largestUnits({ images, different }: Measured, rule: Rule): { chain: number; unit: number } {
  const [chains, units] = [new Unions(images), new CopyUnits(images)];
  for (const { a, b, isOneLabel, pair } of different) {
    if (!isOneLabel || !rule(pair)) continue;
    chains.join(a, b);
    units.joinCopies(a, b);
  }
  const largest = (of: readonly number[]): number =>
    Math.max(...[...Map.groupBy(of, (unit) => unit).values()].map(({ length }) => length));
  return { chain: largest(Array.from({ length: images }, (_, i) => chains.root(i))), unit: largest(units.units()) };
}

const measured = new Map<string, Measured>();
for (const [name, load] of Object.entries(sets)) measured.set(name, await measure(name, await load()));
const decisive = deciding.flatMap((name) => measured.get(name) ?? []);
const copies = decisive.flatMap((one) => one.copies);
const different = decisive.flatMap((one) => one.different);
const pairs = decisive.reduce((sum, one) => sum + one.pairs, 0);

/** The lowest threshold with which at most this share of the pairs is wrong. */
function thresholdFor(share: number, value: (pair: Pair) => number): number {
  const sorted = different.map(({ pair }) => value(pair)).toSorted((a, b) => b - a);
  return sorted[Math.floor(share * pairs)] ?? 0;
}
const isDelivered: Rule = (pair) => foundBy(pair, () => pair.difference) !== undefined;
const rules: Record<string, Rule> = { thumbnails: (pair) => pair.isThumbnailCopy };
for (const [text, share] of [
  ['0.1 %', 1e-3],
  ['0.01 %', 1e-4],
] as const) {
  for (const key of ['plain', 'standardized'] as const) {
    const least = thresholdFor(share, (pair) => pair[key]);
    const name = `${key} features, ${text} wrong: cosine > ${least.toFixed(2)}`;
    rules[name] = (pair) => pair[key] > least;
    rules[`${name}, or thumbnails`] = (pair) => pair[key] > least || pair.isThumbnailCopy;
  }
}
rules['as delivered'] = isDelivered;
const percent = (share: number): string => (100 * share).toFixed(1);
const perMillion = (found: readonly { pair: Pair }[], rule: Rule, of: number): string =>
  ((1e6 * found.filter(({ pair }) => rule(pair)).length) / of).toFixed(0);
console.log(`| % found | all | ${Object.keys(changes).join(' | ')} | wrong per million pairs |`);
console.log(`|---${'|---'.repeat(Object.keys(changes).length + 2)}|`);
for (const [name, rule] of Object.entries(rules)) {
  const found = [undefined, ...Object.keys(changes)].map((change) => {
    const own = copies.filter((one) => change === undefined || one.change === change);
    return percent(own.filter(({ pair }) => rule(pair)).length / own.length);
  });
  console.log(`| ${name} | ${found.join(' | ')} | ${perMillion(different, rule, pairs)} |`);
}
const bySet: Readonly<Record<string, Rule>> = {
  thumbnails: (pair) => pair.isThumbnailCopy,
  standardized: ({ standardized }) => standardized > 0.87,
  'as delivered': isDelivered,
};
console.log(
  '\n| set | measure | % found | wrong per million pairs of one label | largest chain of them | largest unit | images |\n|---|---|---|---|---|---|---|',
);
for (const [name, one] of measured) {
  for (const [by, rule] of Object.entries(bySet)) {
    const found = percent(one.copies.filter(({ pair }) => rule(pair)).length / one.copies.length);
    const wrong = perMillion(
      one.different.filter(({ isOneLabel }) => isOneLabel),
      rule,
      one.pairsOfOneLabel,
    );
    const { chain, unit } = largestUnits(one, rule);
    console.log(`| ${name} | ${by} | ${found} | ${wrong} | ${chain} | ${unit} | ${one.images} |`);
  }
}
