/** Splits the images of a dataset, so that near copies are in one split. */
import type { HeldOutReport } from '@platform/contract/job/evaluation';
import type { DatasetLine } from '@platform/contract/job/job';
import { describeHeldOut, findCopiesByThumbnail, unitOf } from './held-out.ts';
import type { CopiesFound, CopyRules } from './held-out.ts';
import { CopyUnits, keepTogether } from './keep-together.ts';
import type { Skipped } from './dataset-images.ts';
import { ofSplit } from './label-minimum.ts';
import type { SamplesBySplit } from './label-minimum.ts';
import { mostCompared, NearCopyFinder } from './near-copies.ts';
import type { FoundBy } from './near-copies.ts';
import { readEfficientnet } from './pretrained/efficientnet.ts';
import type { Training } from './training.ts';

/** An image with its pixels under `index`. */
export interface SplitSample {
  line: DatasetLine;
  index: number;
  /** Images of one unit stay in one split; absent: those of its group, else equal files. */
  unit?: string;
}
/** The images of a job, ready for training. */
export interface PreparedImages<S> extends SamplesBySplit<S> {
  labels: readonly string[];
  skipped: readonly Skipped[];
  /** Median of the images' shorter edges, in pixels. */
  edge: number;
  heldOut: HeldOutReport;
}
/** The decoded images of a dataset, and what a trainer knows of them. */
export interface DecodedImages<S> extends CopyRules<S> {
  samples: readonly S[];
  /** Pixels per edge. */
  side: number;
  /** @param into - buffer to fill and return. */
  pixels(sample: S, into?: Uint8Array<ArrayBuffer>): Uint8Array;
  /** Numbers of its labels; an image without a label has its own. */
  classesOf(sample: S): readonly number[];
  /** Whether it shows nothing to measure a score with. */
  isNegative(sample: S): boolean;
  /** Whether validation images are taken from the training images if the dataset has none; by default. */
  needsValidation?: boolean;
  /** Moves some of the training images to validation. */
  withValidation(samples: readonly S[]): readonly S[];
  /** @throws PlatformError when the images are not enough to train on. */
  requireSplit(split: SamplesBySplit<S>): void;
}

/** @throws PlatformError when the images are not enough to train on. */
export async function splitWithCopies<S extends SplitSample>(
  { signal, threads, events }: Pick<Training, 'signal' | 'threads' | 'events'>,
  images: DecodedImages<S>,
  onDone: (share: number) => void,
): Promise<SamplesBySplit<S> & { heldOut: HeldOutReport }> {
  const { samples, side } = images;
  if (samples.length > mostCompared) {
    const split = divided(images, samples);
    const heldOut = heldOutOf(split);
    const copies = findCopiesByThumbnail(split.train, heldOut, { ...images, pixels: (one) => images.pixels(one) });
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
    const { kept, moved, leftOut } = await keptTogether(images, finder, signal);
    const log = (count: number, what: string): void => {
      if (count > 0)
        events.emit({ is: 'log', level: 'info', message: `${count} of ${samples.length} images ${what}.` });
    };
    log(moved, 'changed the split, so that near copies are in one split');
    log(leftOut, 'were left out, as near copies of test images that users chose');
    const split = divided(images, kept);
    const heldOut = heldOutOf(split);
    const copies = await copiesBetween(split.train, heldOut, { images, finder, signal });
    return { ...split, heldOut: describeHeldOut(split.train, heldOut, { ...copies, moved, leftOut }) };
  } finally {
    await finder.release();
  }
}

function divided<S extends SplitSample>(images: DecodedImages<S>, samples: readonly S[]): SamplesBySplit<S> {
  const [hasValidation, hasTest] = [ofSplit(samples, 'validation').length > 0, ofSplit(samples, 'test').length > 0];
  const isComplete = hasValidation || (hasTest && images.needsValidation === false);
  const all = isComplete ? samples : images.withValidation(samples);
  const split = { train: ofSplit(all, 'train'), validation: ofSplit(all, 'validation'), test: ofSplit(all, 'test') };
  images.requireSplit(split);
  return split;
}

const heldOutOf = <S>({ test, validation }: SamplesBySplit<S>): readonly S[] => (test.length > 0 ? test : validation);

async function keptTogether<S extends SplitSample>(
  images: DecodedImages<S>,
  finder: NearCopyFinder,
  signal: AbortSignal,
): Promise<{ kept: readonly S[]; moved: number; leftOut: number }> {
  const { samples } = images;
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
  const join = (a: number, b: number, by: FoundBy): void => {
    const [one, other] = [samples[a], samples[b]];
    if (one && other && images.mayBeCopies(one, other, by)) joined.joinCopies(a, b);
  };
  await finder.eachPair(all, all, join, signal);
  const units = joined.units();
  const described = samples.map((sample) => ({
    line: sample.line,
    classes: images.classesOf(sample),
    isNegative: images.isNegative(sample),
  }));
  const splits = keepTogether(described, (i) => units[i] ?? -1);
  const names = namesOf(samples, units);
  const kept = samples.flatMap((sample, i): S[] => {
    const split = splits[i];
    const own = { ...sample, unit: names.get(units[i] ?? -1) ?? unitOf(sample.line) };
    if (split === undefined) return [];
    return [split === sample.line.split ? own : { ...own, line: { ...sample.line, split } }];
  });
  const leftOut = samples.length - kept.length;
  const moved = samples.filter(({ line }, i) => line.split !== splits[i]).length - leftOut;
  return { kept, moved, leftOut };
}

/** The last of each unit's hashes and groups is its name, so that the order of the images does not matter. */
function namesOf(samples: readonly SplitSample[], units: readonly number[]): Map<number, string> {
  const names = new Map<number, string>();
  for (const [i, { line }] of samples.entries()) {
    const [unit, name] = [units[i] ?? -1, unitOf(line)];
    const known = names.get(unit);
    if (known === undefined || name > known) names.set(unit, name);
  }
  return names;
}

async function copiesBetween<S extends SplitSample>(
  training: readonly S[],
  heldOut: readonly S[],
  { images, finder, signal }: { images: DecodedImages<S>; finder: NearCopyFinder; signal: AbortSignal },
): Promise<CopiesFound<S>> {
  const places = new Map(images.samples.map(({ index }, i) => [index, i]));
  const placesOf = (samples: readonly S[]): number[] => samples.map(({ index }) => places.get(index) ?? -1);
  const [trained, held] = [placesOf(training), placesOf(heldOut)];
  const byPlace = new Map([...training, ...heldOut].map((sample) => [places.get(sample.index) ?? -1, sample]));
  const found = new Map<number, number>();
  const keep = (a: number, b: number, by: FoundBy): void => {
    const [one, other] = [byPlace.get(a), byPlace.get(b)];
    if (b < (found.get(a) ?? Infinity) && one && other && images.mayBeCopies(one, other, by)) found.set(a, b);
  };
  await finder.eachPair(held, trained, keep, signal);
  let alike = 0;
  const count = (a: number, b: number, by: FoundBy): void => {
    const [one, other] = [byPlace.get(a), byPlace.get(b)];
    if (one && other && images.mayBeOneScene(one, other, by)) alike++;
  };
  await finder.eachPair(trained.slice(0, 1), trained.slice(1), count, signal);
  const copies = new Map<S, S>();
  for (const place of held) {
    const [sample, like] = [byPlace.get(place), byPlace.get(found.get(place) ?? -1)];
    if (sample && like) copies.set(sample, like);
  }
  return { measure: 'features', copies, allAlike: training.length > 1 && alike === training.length - 1 };
}
