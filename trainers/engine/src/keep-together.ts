/** Keeps images that belong together in one split: near copies, images of a group, and equal files. */
import type { DatasetLine, Split } from '@platform/contract/job/job';

export interface SplitImage {
  line: Pick<DatasetLine, 'sha256' | 'split' | 'split_chosen'>;
  /** Numbers of its labels; an image without a label has its own. */
  classes: readonly number[];
  /** Whether it shows nothing to measure a score with. */
  isNegative?: boolean;
}
interface Unit {
  images: number[];
  /** Images of each label. */
  counts: Map<number, number>;
  order: string;
}

/** Joins numbers to sets. */
export class Unions {
  readonly #parents: number[];
  constructor(count: number) {
    this.#parents = Array.from({ length: count }, (_, i) => i);
  }
  root(of: number): number {
    let at = of;
    for (let parent = this.#parents[at] ?? at; parent !== at; parent = this.#parents[at] ?? at) {
      this.#parents[at] = this.#parents[parent] ?? parent;
      at = parent;
    }
    return at;
  }
  join(a: number, b: number): void {
    const [one, other] = [this.root(a), this.root(b)];
    this.#parents[Math.max(one, other)] = Math.min(one, other);
  }
}

/** Share of the pairs of a unit that are near copies, at least. */
const minDensity = 0.5;

/**
 * Joins images to units: what certainly belongs together, and near copies. Where all images look alike, some pairs are
 * near copies by chance, and chains of them join what has nothing in common. Such a chain is left apart.
 */
export class CopyUnits {
  readonly #certain: Unions;
  readonly #joined: Unions;
  /** Near copies of each image. */
  readonly #copies: Int32Array;
  constructor(count: number) {
    [this.#certain, this.#joined, this.#copies] = [new Unions(count), new Unions(count), new Int32Array(count)];
  }
  /** Equal files, or images of one group. */
  joinCertain(a: number, b: number): void {
    this.#certain.join(a, b);
    this.#joined.join(a, b);
  }
  /** Call it once for each pair. */
  joinCopies(a: number, b: number): void {
    this.#joined.join(a, b);
    for (const one of [a, b]) this.#copies[one] = (this.#copies[one] ?? 0) + 1;
  }
  /** The number of the unit of each image. */
  units(): number[] {
    const [copied, ends] = [new Map<number, number>(), new Map<number, number>()];
    for (const [i, copies] of this.#copies.entries()) {
      if (copies === 0) continue;
      const unit = this.#joined.root(i);
      copied.set(unit, (copied.get(unit) ?? 0) + 1);
      ends.set(unit, (ends.get(unit) ?? 0) + copies);
    }
    const isDense = (unit: number): boolean => {
      const images = copied.get(unit) ?? 0;
      return (ends.get(unit) ?? 0) >= minDensity * images * (images - 1);
    };
    return Array.from(this.#copies, (_, i) => {
      const unit = this.#joined.root(i);
      return isDense(unit) ? unit : this.#certain.root(i);
    });
  }
}

/** The units of a label with fewer are left as they are: nothing would be left to learn from, or to measure. */
const minUnits = 3;
/** A unit may have up to this many times the images that a split lacks, so that three equal units are divided, too. */
const largestUnit = 3;
/** Share of the images of a label that is for training at least, and their number. */
const [minShare, minTraining] = [1 / 3, 2];

function unitsOf(images: readonly SplitImage[], unitOf: (image: number) => number): Unit[] {
  const units = new Map<number, Unit>();
  for (const [i, { line, classes }] of images.entries()) {
    const unit: Unit = units.get(unitOf(i)) ?? { images: [], counts: new Map(), order: line.sha256 };
    units.set(unitOf(i), unit);
    unit.images.push(i);
    for (const label of classes) unit.counts.set(label, (unit.counts.get(label) ?? 0) + 1);
    if (line.sha256 < unit.order) unit.order = line.sha256;
  }
  return [...units.values()].toSorted((a, b) => (a.order < b.order ? -1 : 1));
}

/** Images of each label by split. */
class LabelCounts {
  readonly #counts = new Map<string, number>();
  add(label: number, split: Split, count: number): void {
    this.#counts.set(`${label} ${split}`, this.of(label, split) + count);
  }
  of = (label: number, split: Split): number => this.#counts.get(`${label} ${split}`) ?? 0;
}
const heldOutSplits = ['test', 'validation'] as const;

/**
 * The split of each image, so that a unit is in one split. Each label keeps about as many images in each split as it
 * has. A split that users chose stays and holds for its whole unit; a test that they chose gets no other image, so those
 * of its units are left out: undefined. A unit with more than two thirds of a label's images
 * is left as it was, as is a label of one or two units: otherwise nothing would be left to learn from, and where all
 * images look alike, only unusual ones would be in the test.
 */
export function keepTogether(images: readonly SplitImage[], unitOf: (image: number) => number): (Split | undefined)[] {
  const before = images.map(({ line }) => line.split);
  const units = unitsOf(images, unitOf);
  const mixed = units.filter((unit) => new Set(unit.images.map((i) => before[i])).size > 1);
  if (mixed.length === 0) return before;
  const unitsOfLabel = new Map<number, number>();
  for (const { counts } of units)
    for (const label of counts.keys()) unitsOfLabel.set(label, (unitsOfLabel.get(label) ?? 0) + 1);
  const [wanted, has, total] = [new LabelCounts(), new LabelCounts(), new Map<number, number>()];
  const isMixed = new Set(mixed);
  for (const unit of units) {
    for (const i of unit.images) {
      const split = before[i] ?? 'train';
      for (const label of images[i]?.classes ?? []) {
        wanted.add(label, split, 1);
        total.set(label, (total.get(label) ?? 0) + 1);
        if (!isMixed.has(unit)) has.add(label, split, 1);
      }
    }
  }
  const owned = new Set(images.filter(({ line }) => line.split_chosen).map(({ line }) => line.split));
  const leftOf = (label: number, taken: number): number =>
    (total.get(label) ?? 0) - has.of(label, 'test') - has.of(label, 'validation') - taken;
  const fewest = (label: number): number => Math.max(minTraining, (total.get(label) ?? 0) * minShare);
  /** Whether its labels could do without it. */
  const isDivisible = ({ counts }: Unit): boolean =>
    [...counts].every(
      ([label, count]) =>
        (unitsOfLabel.get(label) ?? 0) >= minUnits && (total.get(label) ?? 0) - count >= fewest(label),
    );
  const leavesEnough = ({ counts }: Unit): boolean =>
    [...counts].every(([label, count]) => leftOf(label, count) >= fewest(label));
  const splitFor = (unit: Unit): Split | undefined => {
    if (!isDivisible(unit)) return undefined;
    if (!leavesEnough(unit)) return 'train';
    const [[rarest, count] = [-1, 0]] = [...unit.counts].toSorted(
      ([a], [b]) => (total.get(a) ?? 0) - (total.get(b) ?? 0) || a - b,
    );
    const lacks = (split: Split): boolean =>
      !owned.has(split) && (wanted.of(rarest, split) - has.of(rarest, split)) * largestUnit >= count;
    return heldOutSplits.find(lacks) ?? 'train';
  };
  const after: (Split | undefined)[] = [...before];
  for (const unit of mixed) {
    const chosen = new Set(unit.images.flatMap((i) => (images[i]?.line.split_chosen ? (before[i] ?? []) : [])));
    const [only] = chosen;
    const tagged = only === 'train' || leavesEnough(unit) ? only : undefined;
    const split = chosen.size === 0 ? splitFor(unit) : chosen.size === 1 ? tagged : 'train';
    for (const i of unit.images) {
      // Images that users tagged differently stay, and so does a whole unit that is too large to be held out.
      const isChosen = images[i]?.line.split_chosen === true;
      const to = (isChosen ? before[i] : (split ?? before[i])) ?? 'train';
      const isLeftOut = !isChosen && chosen.size > 0 && to === 'test' && before[i] !== 'test';
      after[i] = isLeftOut ? undefined : to;
      // An image that is left out counts, too: it is not for training.
      for (const label of images[i]?.classes ?? []) has.add(label, to, 1);
    }
  }
  return withHeldOut(images, before, after);
}

/** The new splits, unless one is then empty that is needed, or has negative images alone. */
function withHeldOut(
  images: readonly SplitImage[],
  before: Split[],
  after: (Split | undefined)[],
): (Split | undefined)[] {
  const measures = (splits: readonly (Split | undefined)[], split: Split): boolean =>
    splits.some((one, i) => one === split && images[i]?.isNegative !== true);
  const isLost = (split: Split): boolean => measures(before, split) && !measures(after, split);
  if (isLost('test') || !heldOutSplits.some((split) => measures(after, split))) return before;
  // The score is of test images alone, so validation by near copies is better than none.
  if (measures(after, 'validation') || !measures(after, 'test')) return after;
  return after.map((split, i) => (split === 'train' && before[i] === 'validation' ? 'validation' : split));
}
