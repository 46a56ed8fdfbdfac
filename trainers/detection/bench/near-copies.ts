/**
 * How well features of the frozen network and the rule of boxes find near copies of a detector's images:
 *   node near-copies.ts [--images=60] [--seed=1]
 * Near copies are made of `images` images of each set; their boxes are those of the changed image. Different images are
 * all pairs of one set. In the sets of a fixed camera, objects are in random places before one background. Pairs in which
 * the objects are in the same places by chance count as different.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { BoxAnnotation } from '@platform/contract/job/job';
import { PixelFile } from '@platform/trainer-engine/images';
import { CopyUnits } from '@platform/trainer-engine/keep-together';
import { foundBy, NearCopyFinder } from '@platform/trainer-engine/near-copies';
import type { FoundBy } from '@platform/trainer-engine/near-copies';
import { readEfficientnet } from '@platform/trainer-engine/pretrained/efficientnet';
import { seeded, shuffled } from '@platform/trainer-engine/random';
import type { Random } from '@platform/trainer-engine/random';
import { isNear, thumbnailOf } from '@platform/trainer-engine/thumbnails';
import sharp from 'sharp';
import { cut, noisy, sign, within } from '../../engine/bench/image-changes.ts';
import type { CutWindow } from '../../engine/bench/image-changes.ts';
import { iou } from '../src/boxes.ts';
import type { LabelledBox } from '../src/boxes.ts';
import { recipeOf } from '../src/recipe.ts';
import { sameBoxes } from '../src/same-boxes.ts';
import { composeDetection, sixOfOurs } from './sets.ts';
import type { Material, Scene } from './sets.ts';

const { values: flags } = parseArgs({
  options: { images: { type: 'string', default: '60' }, seed: { type: 'string', default: '1' } },
});
const seed = Number(flags.seed);
const copied = Number(flags.images);
const { side } = recipeOf({ arguments: {} }).recipe;

interface Boxed {
  bytes: Buffer;
  boxes: readonly LabelledBox[];
}
const ours = sixOfOurs();
const [first] = ours.sprites.train;
const [photo] = ours.backgrounds.train;
const scenery: Material = { ...ours, backgrounds: { train: photo === undefined ? [] : [photo], test: [] } };
const oneObject: Material = { ...scenery, sprites: { train: first ? [first] : [], test: [] } };
const fixed: Scene = { objects: [1, 2], sizes: [0.15, 0.4], isFixed: true };
const sets: Readonly<Record<string, [Material, Scene?]>> = {
  'own-6': [ours],
  'fixed camera, 6 objects': [scenery, fixed],
  'fixed camera, one object': [oneObject, { ...fixed, objects: [1, 1] }],
  'fixed camera, one small object': [oneObject, { objects: [1, 1], sizes: [0.06, 0.1], isFixed: true }],
};
const labelled = (all: readonly BoxAnnotation[]): LabelledBox[] =>
  all.map((one) => ({
    label: ours.sprites.train.findIndex(({ label }) => label === one.annotation_label),
    left: one.x_min_normalized,
    top: one.y_min_normalized,
    right: one.x_max_normalized,
    bottom: one.y_max_normalized,
  }));

/** Boxes of the cut image; those of which less than a quarter remains would not be drawn. */
function cutBoxes(boxes: readonly LabelledBox[], { x, y, size }: CutWindow): LabelledBox[] {
  const moved = (value: number, shift: number): number =>
    Math.min(1, Math.max(0, (value - (1 - size) / 2 - shift) / size));
  return boxes.flatMap((box) => {
    const own = {
      ...box,
      left: moved(box.left, x),
      right: moved(box.right, x),
      top: moved(box.top, y),
      bottom: moved(box.bottom, y),
    };
    const area = (one: LabelledBox): number => (one.right - one.left) * (one.bottom - one.top);
    return area(own) * size * size >= area(box) / 4 ? [own] : [];
  });
}
async function cutImage({ bytes, boxes }: Boxed, window: Omit<CutWindow, 'turn'>): Promise<Boxed> {
  const whole = { ...window, turn: 0 };
  return { bytes: await cut(bytes, whole), boxes: cutBoxes(boxes, whole) };
}
type Change = (image: Boxed, random: Random) => Promise<Boxed>;
const changes: Readonly<Record<string, Change>> = {
  'JPEG quality 30': async ({ bytes, boxes }) => ({
    bytes: await sharp(bytes).jpeg({ quality: 30 }).toBuffer(),
    boxes,
  }),
  'crop of 3 to 8 %': (image, random) => {
    const lost = within(random, 0.03, 0.08);
    return cutImage(image, { x: (random() - 0.5) * lost, y: (random() - 0.5) * lost, size: 1 - lost });
  },
  'brightness by 5 to 15 %': async ({ bytes, boxes }, random) => ({
    bytes: await sharp(bytes)
      .linear(1 + sign(random) * within(random, 0.05, 0.15), 0)
      .jpeg({ quality: 90 })
      .toBuffer(),
    boxes,
  }),
  'shift of 1 to 4 %': (image, random) => {
    const shift = (): number => sign(random) * within(random, 0.01, 0.04);
    return cutImage(image, { x: shift(), y: shift(), size: 1 });
  },
  // Boxes that users draw again differ by a few pixels.
  'burst: noise of 6, shift up to 0.5 %, boxes drawn again': async (image, random) => {
    const shift = (): number => (random() - 0.5) * 0.01;
    const { bytes, boxes } = await cutImage(image, { x: shift(), y: shift(), size: 1 });
    const again = (value: number, size: number): number =>
      Math.min(1, Math.max(0, value + (random() - 0.5) * 0.1 * size));
    const drawn = boxes.map((box) => {
      const [width, height] = [box.right - box.left, box.bottom - box.top];
      return {
        ...box,
        left: again(box.left, width),
        right: again(box.right, width),
        top: again(box.top, height),
        bottom: again(box.bottom, height),
      };
    });
    return { bytes: await noisy(bytes, random, 6), boxes: drawn };
  },
};

interface Pair {
  a: number;
  b: number;
  /** Undefined: features and thumbnails do not find it. */
  by: FoundBy | undefined;
  isThumbnailCopy: boolean;
}
type BoxRule = (a: readonly LabelledBox[], b: readonly LabelledBox[], by: FoundBy) => boolean;
/** For a few boxes. */
const matchedBy =
  (isPair: (a: LabelledBox, b: LabelledBox) => boolean): BoxRule =>
  (a, b) => {
    const [one, ...others] = a;
    if (a.length !== b.length) return false;
    if (one === undefined) return true;
    return b.some((other, i) => isPair(one, other) && matchedBy(isPair)(others, b.toSpliced(i, 1)));
  };
const byOverlap = (least: number): BoxRule => matchedBy((a, b) => a.label === b.label && iou(a, b) >= least);
const centresWithin = (features: number, thumbnails: number, ratio: number): [string, BoxRule] => {
  const shares = [features, thumbnails].map((share) => (100 * share).toFixed(0));
  return [
    `centres within ${shares[0]} % by features, ${shares[1]} % by thumbnails, sizes within a factor of ${ratio}`,
    sameBoxes({ features: { centre: features, ratio }, thumbnails: { centre: thumbnails, ratio } }),
  ];
};
const boxRules: Readonly<Record<string, BoxRule>> = {
  'features and thumbnails alone': () => true,
  'equal labels': matchedBy((a, b) => a.label === b.label),
  'IoU 0.3': byOverlap(0.3),
  'IoU 0.5': byOverlap(0.5),
  'IoU 0.7': byOverlap(0.7),
  ...Object.fromEntries(
    [0.02, 0.04, 0.06, 0.08].flatMap((one) => [1.25, 1.5].map((ratio) => centresWithin(one, one, ratio))),
  ),
  ...Object.fromEntries(
    [0.01, 0.02, 0.03].flatMap((one) => [0.04, 0.05, 0.06].map((by) => centresWithin(by, one, 1.25))),
  ),
  'as delivered': sameBoxes(),
};

type Boxes = readonly (readonly LabelledBox[])[];
type Rule = (pair: Pair, boxes: Boxes) => boolean;
const rules: Readonly<Record<string, Rule>> = {
  'thumbnails, without boxes': ({ isThumbnailCopy }) => isThumbnailCopy,
  ...Object.fromEntries(
    Object.entries(boxRules).map(([name, rule]): [string, Rule] => [
      name,
      ({ a, b, by }, boxes) => by !== undefined && rule(boxes[a] ?? [], boxes[b] ?? [], by),
    ]),
  ),
};

interface Measured {
  boxes: Boxes;
  /** The image that each is a copy of, or itself. */
  originals: readonly number[];
  copies: (Pair & { change: string })[];
  /** Those found by features or thumbnails. */
  different: Pair[];
  /** All that are found, copies of copies included. */
  found: Pair[];
  pairs: number;
}

async function measure(name: string, images: readonly Boxed[], folder: string): Promise<Measured> {
  const made: { change: string; of: number; image: Boxed }[] = images.map((image, of) => ({ change: '', of, image }));
  for (const of of shuffled([...images.keys()], seeded('near copies', seed, name)).slice(0, copied)) {
    const image = images[of];
    if (!image) continue;
    for (const [change, apply] of Object.entries(changes))
      made.push({ change, of, image: await apply(image, seeded(change, seed, name, of)) });
  }
  const file = new PixelFile(path.join(folder, 'images.rgb'), side);
  for (const [i, { image }] of made.entries()) {
    const pixels = await sharp(image.bytes).removeAlpha().resize(side, side, { fit: 'fill' }).raw().toBuffer();
    file.write(i, pixels);
  }
  const buffer = new Uint8Array(side * side * 3);
  const source = { count: made.length, side, pixels: (i: number) => file.read(i, buffer) };
  const before = process.cpuUsage();
  const signal = new AbortController().signal;
  const finder = await NearCopyFinder.open(readEfficientnet(), source, { threads: 1, signal });
  const { user, system } = process.cpuUsage(before);
  const boxes = made.map(({ image }) => image.boxes);
  const originals = made.map(({ of }) => of);
  const found: Measured = { boxes, originals, copies: [], different: [], found: [], pairs: 0 };
  const thumbnails = made.map((_, i) => thumbnailOf(file.read(i, buffer), side));
  const areThumbnailsNear = (a: number, b: number): boolean => {
    const [x, y] = [thumbnails[a], thumbnails[b]];
    return x !== undefined && y !== undefined && isNear(x, y);
  };
  const all = [...made.keys()];
  await finder.eachLikeness(all, all, (a, b, likeness) => {
    const [x, y] = [made[a], made[b]];
    if (!x || !y) return;
    const by = foundBy(likeness, () => finder.thumbnailDifference(a, b));
    const isThumbnailCopy = areThumbnailsNear(a, b);
    const pair = { a, b, by, isThumbnailCopy };
    if (by || isThumbnailCopy) found.found.push(pair);
    if (x.change !== '') return;
    if (y.change !== '') {
      if (y.of === a) found.copies.push({ ...pair, change: y.change });
      return;
    }
    found.pairs++;
    if (by || isThumbnailCopy) found.different.push(pair);
  });
  await finder.release();
  file.close();
  const ms = ((user + system) / 1000 / made.length).toFixed(1);
  console.log(
    `${name}: ${images.length} images, ${found.copies.length} near copies, ${found.pairs} pairs of different images; ` +
      `${ms} CPU ms per image of ${side} px`,
  );
  return found;
}

/** Copies that are in the unit of their original, and originals that are in a unit with another one. */
function joined(one: Measured, rule: Rule): { copies: number; different: number } {
  const { originals, copies } = one;
  const made = new CopyUnits(originals.length);
  for (const pair of one.found) if (rule(pair, one.boxes)) made.joinCopies(pair.a, pair.b);
  const units = made.units();
  const inUnit = Map.groupBy(originals, (_, i) => units[i]);
  const isShared = (original: number): boolean => new Set(inUnit.get(units[original])).size > 1;
  const all = new Set(originals);
  return {
    copies: copies.filter(({ a, b }) => units[a] === units[b]).length / copies.length,
    different: [...all].filter(isShared).length / all.size,
  };
}

const measured = new Map<string, Measured>();
const folder = mkdtempSync(path.join(tmpdir(), 'bench-near-copies-'));
try {
  for (const [name, [material, scene]] of Object.entries(sets)) {
    const composed = composeDetection(material, { train: 240, test: 0 }, seed, scene);
    const images = (await Array.fromAsync(composed)).map(({ bytes, boxes }) => ({ bytes, boxes: labelled(boxes) }));
    measured.set(name, await measure(name, images, folder));
  }
} finally {
  rmSync(folder, { recursive: true });
}

const percent = (share: number): string => (100 * share).toFixed(1);

function printFound(set: string, only: Measured | undefined): void {
  const copies = (only ? [only] : [...measured.values()]).flatMap((one) =>
    one.copies.map((pair) => ({ ...pair, boxes: one.boxes })),
  );
  console.log(`\n| % found: ${set} | all | ${Object.keys(changes).join(' | ')} |`);
  console.log(`|---${'|---'.repeat(Object.keys(changes).length + 1)}|`);
  for (const [name, rule] of Object.entries(rules)) {
    const shares = [undefined, ...Object.keys(changes)].map((change) => {
      const own = copies.filter((one) => change === undefined || one.change === change);
      const found = own.filter((pair) => rule(pair, pair.boxes));
      return percent(found.length / own.length);
    });
    console.log(`| ${name} | ${shares.join(' | ')} |`);
  }
}
printFound('all sets', undefined);
for (const [set, one] of measured) printFound(set, one);
const names = [...measured.keys()];
const what = '% found; wrong per million pairs; % of copies joined to their original; % of originals joined to another';
console.log(`\n| ${[what, ...names].join(' | ')} |`);
console.log(`|---${'|---'.repeat(names.length)}|`);
for (const [name, rule] of Object.entries(rules)) {
  const cells = [...measured.values()].map((one) => {
    const found = one.copies.filter((pair) => rule(pair, one.boxes)).length / one.copies.length;
    const wrong = ((1e6 * one.different.filter((pair) => rule(pair, one.boxes)).length) / one.pairs).toFixed(0);
    const { copies: whole, different } = joined(one, rule);
    return `${percent(found)}; ${wrong}; ${percent(whole)}; ${percent(different)}`;
  });
  console.log(`| ${name} | ${cells.join(' | ')} |`);
}
