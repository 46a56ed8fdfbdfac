/** Splits the images of a dataset, so that near copies are in one split. */
import type { HeldOutReport } from '@platform/contract/evaluation';
import { describeHeldOut, findCopiesByThumbnail, unitOf } from '@platform/trainer-engine/held-out';
import type { CopiesFound } from '@platform/trainer-engine/held-out';
import { CopyUnits, keepTogether } from '@platform/trainer-engine/keep-together';
import { mostCompared, NearCopyFinder } from '@platform/trainer-engine/near-copies';
import { readEfficientnet } from '@platform/trainer-engine/pretrained/efficientnet';
import type { Training } from '@platform/trainer-engine/training';
import { ofSplit, requireSplit, withValidation } from './dataset.ts';
import type { Sample } from './load-images.ts';
import type { Recipe } from './recipe.ts';

export interface DecodedImages {
  samples: readonly Sample[];
  labels: readonly string[];
  /** Pixels per edge. */
  side: number;
  pixels(sample: Sample, into?: Uint8Array<ArrayBuffer>): Uint8Array;
}
export interface SplitSamples {
  train: readonly Sample[];
  validation: readonly Sample[];
  test: readonly Sample[];
  heldOut: HeldOutReport;
}

/** @throws PlatformError when the images are not enough to train on. */
export async function splitWithCopies(
  { job, signal, threads, events }: Training,
  images: DecodedImages,
  { recipe }: Recipe,
  onDone: (share: number) => void,
): Promise<SplitSamples> {
  const { samples, side, labels } = images;
  const divide = (all: readonly Sample[]): Omit<SplitSamples, 'heldOut'> => splitSamples(all, recipe, job.seed, labels);
  if (samples.length > mostCompared) {
    const split = divide(samples);
    const heldOut = heldOutOf(split);
    const copies = findCopiesByThumbnail(split.train, heldOut, side, (sample) => images.pixels(sample));
    return { ...split, heldOut: describeHeldOut(split.train, heldOut, copies) };
  }
  const buffer = new Uint8Array(side * side * 3);
  const pixels = (i: number): Uint8Array => {
    const sample = samples[i];
    return sample ? images.pixels(sample, buffer) : buffer;
  };
  const source = { count: samples.length, side, pixels };
  const finder = await NearCopyFinder.open(readEfficientnet(), source, { threads, signal, onDone });
  try {
    const { kept, moved, leftOut } = await keptTogether(samples, finder, signal);
    const log = (count: number, what: string): void => {
      if (count > 0)
        events.emit({ is: 'log', level: 'info', message: `${count} of ${samples.length} images ${what}.` });
    };
    log(moved, 'changed the split, so that near copies are in one split');
    log(leftOut, 'were left out, as near copies of test images that users chose');
    const split = divide(kept);
    const heldOut = heldOutOf(split);
    const places = new Map(samples.map(({ index }, i) => [index, i]));
    const copies = await copiesBetween(split.train, heldOut, { places, finder, signal });
    return { ...split, heldOut: describeHeldOut(split.train, heldOut, { ...copies, moved, leftOut }) };
  } finally {
    await finder.release();
  }
}

const heldOutOf = ({ test, validation }: Omit<SplitSamples, 'heldOut'>): readonly Sample[] =>
  test.length > 0 ? test : validation;

/** Only of the same labels: images that are alike and have different labels are what the model must tell apart. */
const isSameLabel = (a: Sample | undefined, b: Sample | undefined): boolean => a?.classes.join() === b?.classes.join();

async function keptTogether(
  samples: readonly Sample[],
  finder: NearCopyFinder,
  signal: AbortSignal,
): Promise<{ kept: readonly Sample[]; moved: number; leftOut: number }> {
  const joined = new CopyUnits(samples.length);
  const firsts = new Map<string, number>();
  for (const [i, { line }] of samples.entries()) {
    for (const key of [line.sha256, unitOf(line)]) {
      const first = firsts.get(key);
      if (first === undefined) firsts.set(key, i);
      else joined.joinCertain(first, i);
    }
  }
  const all = [...samples.keys()];
  const join = (a: number, b: number): void => {
    if (isSameLabel(samples[a], samples[b])) joined.joinCopies(a, b);
  };
  await finder.eachPair(all, all, join, signal);
  const units = joined.units();
  const splits = keepTogether(samples, (i) => units[i] ?? -1);
  const kept = samples.flatMap((sample, i): Sample[] => {
    const split = splits[i];
    const own = { ...sample, unit: String(units[i]) };
    if (split === undefined) return [];
    return [split === sample.line.split ? own : { ...own, line: { ...sample.line, split } }];
  });
  const leftOut = samples.length - kept.length;
  const moved = samples.filter(({ line }, i) => line.split !== splits[i]).length - leftOut;
  return { kept, moved, leftOut };
}

async function copiesBetween(
  training: readonly Sample[],
  heldOut: readonly Sample[],
  { places, finder, signal }: { places: ReadonlyMap<number, number>; finder: NearCopyFinder; signal: AbortSignal },
): Promise<CopiesFound<Sample>> {
  const placesOf = (samples: readonly Sample[]): number[] => samples.map(({ index }) => places.get(index) ?? -1);
  const [trained, held] = [placesOf(training), placesOf(heldOut)];
  const byPlace = new Map([...training, ...heldOut].map((sample) => [places.get(sample.index) ?? -1, sample]));
  const found = new Map<number, number>();
  const keep = (a: number, b: number): void => {
    if (isSameLabel(byPlace.get(a), byPlace.get(b))) found.set(a, Math.min(b, found.get(a) ?? b));
  };
  await finder.eachPair(held, trained, keep, signal);
  let alike = 0;
  await finder.eachPair(trained.slice(0, 1), trained.slice(1), () => alike++, signal);
  const copies = new Map<Sample, Sample>();
  for (const place of held) {
    const [sample, like] = [byPlace.get(place), byPlace.get(found.get(place) ?? -1)];
    if (sample && like) copies.set(sample, like);
  }
  return { measure: 'features', copies, allAlike: training.length > 1 && alike === training.length - 1 };
}

/** Takes validation images from the training images if the dataset has none. */
function splitSamples(
  samples: readonly Sample[],
  recipe: Recipe['recipe'],
  seed: number,
  labels: readonly string[],
): Omit<SplitSamples, 'heldOut'> {
  const own = { validation: ofSplit(samples, 'validation'), test: ofSplit(samples, 'test') };
  // The probe alone needs no validation images: with test images, it can train on all others.
  const needed = own.validation.length === 0 && (recipe !== 'probe' || own.test.length === 0);
  const all = needed ? withValidation(samples, seed) : samples;
  const split = { train: ofSplit(all, 'train'), validation: ofSplit(all, 'validation'), test: own.test };
  requireSplit(labels, split);
  return split;
}
