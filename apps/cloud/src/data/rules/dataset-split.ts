import type { JobKind, Split } from '@platform/contract/job/job';
import { modelKind } from '@platform/contract/job/model-kinds';
import type { Example } from './dataset-rules.ts';

/** Shares of validation and test; the rest is for training. */
const shares = { validation: 0.15, test: 0.15 } as const;

/**
 * Splits images into train, validation and test, stratified by label.
 *
 * Images with a `split:…` tag keep that split. If any image has the tag `split:test` (or `split:validation`), no other
 * images are added to that split. Files with equal content, and images with the same `group:…` tag, always get the same
 * split. The result depends only on the images, their labels and the seed, so that jobs on one dataset are comparable.
 *
 * @returns the split of each image, in the order of `examples`.
 */
export function assignSplits(kind: JobKind, examples: readonly Example[], seed: number): Split[] {
  const units = unitsOf(examples);
  const byUnit = new Map<string, Split>();
  const owner = new Set<Split>();
  for (const [i, { chosen }] of examples.entries()) {
    if (!chosen) continue;
    owner.add(chosen);
    // Equal files or images of a group with different tags: the first tag counts. Otherwise test images could also be
    // training images.
    const unit = units[i] ?? '';
    if (!byUnit.has(unit)) byUnit.set(unit, chosen);
  }
  const free = new Map<string, Placed>();
  const counted = new Set<string>();
  for (const [i, { sha256, labels }] of examples.entries()) {
    const unit = units[i] ?? '';
    if (byUnit.has(unit) || counted.has(sha256)) continue;
    counted.add(sha256);
    const known = free.get(unit);
    if (known) addTo(known, labels);
    else free.set(unit, { unit, place: mix(unit, seed), labels, counts: undefined, size: 1 });
  }
  const held = (['test', 'validation'] as const).filter((split) => !owner.has(split));
  const order = [...free.values()].toSorted((a, b) => a.place - b.place || (a.unit < b.unit ? -1 : 1));
  const isGrouped = examples.some(({ group }) => group !== undefined);
  // A group may have images of several labels, also where an image has one.
  if (modelKind(kind)?.labelsPerImage === 'one' && !isGrouped) divideStrata(order, held, byUnit);
  else divideRareFirst(order, held, byUnit, { isGrouped, keepsRare: isGrouped && modelKind(kind) !== undefined });
  return units.map((unit) => byUnit.get(unit) ?? 'train');
}

/**
 * The unit of each image: images of one unit stay in one split. These are equal files and images of one group; groups
 * that share a file are one unit. An image without a group is the unit of its hash.
 */
export function unitsOf(examples: readonly Example[]): string[] {
  const parents = new Map<string, string>();
  const root = (key: string): string => {
    let at = key;
    for (let parent = parents.get(at); parent !== undefined; parent = parents.get(at)) at = parent;
    return at;
  };
  for (const { sha256, group } of examples) {
    if (group === undefined) continue;
    const [a, b] = [root(sha256), root(`group:${group}`)].toSorted();
    // The name of the group, which does not change when images are added, becomes the unit.
    if (a !== undefined && b !== undefined && a !== b) parents.set(a, b);
  }
  return examples.map(({ sha256 }) => root(sha256));
}

/** Images that stay together, with their position in the shuffled order. */
interface Placed {
  readonly unit: string;
  readonly place: number;
  labels: readonly string[];
  /** Images of each label; undefined: one of each. */
  counts: Map<string, number> | undefined;
  size: number;
}
function addTo(placed: Placed, labels: readonly string[]): void {
  placed.counts ??= new Map(placed.labels.map((label) => [label, 1]));
  for (const label of labels) placed.counts.set(label, (placed.counts.get(label) ?? 0) + 1);
  placed.labels = [...placed.counts.keys()].toSorted();
  placed.size++;
}
const imagesOf = ({ counts, size }: Placed, label: string): number =>
  label === rest ? size : (counts?.get(label) ?? 1);

type HeldOut = readonly (keyof typeof shares)[];

/** Splits each set of labels separately. */
function divideStrata(order: readonly Placed[], held: HeldOut, byUnit: Map<string, Split>): void {
  for (const same of Map.groupBy(order, ({ labels }) => labels.join('\0')).values()) {
    let from = 0;
    for (const split of held) {
      const until = from + size(same.length, shares[split]);
      for (const { unit } of same.slice(from, until)) byUnit.set(unit, split);
      from = until;
    }
    for (const { unit } of same.slice(from)) byUnit.set(unit, 'train');
  }
}

/**
 * Splits images with several labels, label by label. The rarest label comes first, because it has the fewest images to
 * choose from. An image goes to the first split that lacks images of that label. It then counts for all of its labels.
 * Labels with fewer than `minHeldOut` images are ignored.
 *
 * @param keepsRare - whether all groups of such labels are for training, also if they have images of other labels.
 */
function divideRareFirst(
  order: readonly Placed[],
  held: HeldOut,
  byUnit: Map<string, Split>,
  { isGrouped, keepsRare }: { isGrouped: boolean; keepsRare: boolean },
): void {
  const counts = new Map<string, number>();
  for (const { labels } of order) for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  const strataOf = ({ labels }: Placed): readonly string[] => {
    const divisible = labels.filter((label) => (counts.get(label) ?? 0) >= minHeldOut);
    if (keepsRare && divisible.length < labels.length) return [];
    if (divisible.length > 0) return divisible;
    // With one or two groups of a label, a group in the test would leave too little to learn from.
    return isGrouped && labels.length > 0 ? [] : [rest];
  };
  const groups = new Map<string, Placed[]>();
  for (const one of order) {
    for (const label of strataOf(one)) {
      const some = groups.get(label);
      if (some) some.push(one);
      else groups.set(label, [one]);
    }
  }
  const wanted = new Map(
    [...groups].map(([label, some]) => {
      const images = some.reduce((sum, one) => sum + imagesOf(one, label), 0);
      return [label, wantedOf(images, held)];
    }),
  );
  const rareFirst = [...groups].toSorted(([a, x], [b, y]) => x.length - y.length || (a < b ? -1 : 1));
  for (const [label, some] of rareFirst) {
    for (const one of some) {
      if (byUnit.has(one.unit)) continue;
      const missing = wanted.get(label);
      const images = imagesOf(one, label);
      const split = held.find((each) => (missing?.[each] ?? 0) * largestUnit >= images) ?? 'train';
      byUnit.set(one.unit, split);
      for (const each of strataOf(one)) {
        const of = wanted.get(each);
        if (of) of[split] -= imagesOf(one, each);
      }
    }
  }
}

/** A group may have up to this many times the images that a split lacks: three equal groups are divided, too. */
const largestUnit = 3;

/** Stands for the images without a label that can be split. */
const rest = '';

/** Number of images of a label that each split should get. */
function wantedOf(count: number, held: HeldOut): Record<Split, number> {
  const wanted = { train: count, validation: 0, test: 0 };
  for (const split of held) {
    wanted[split] = size(count, shares[split]);
    wanted.train -= wanted[split];
  }
  return wanted;
}

/** With fewer images, all are for training. */
const minHeldOut = 3;
/** At least one, from three images on. */
const size = (count: number, share: number): number =>
  count < minHeldOut ? 0 : Math.max(1, Math.round(count * share));

/** Position in the shuffled order: FNV-1a over the seed and the content's hash or the group's name. */
function mix(unit: string, seed: number): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (let i = 0; i < unit.length; i++) hash = Math.imul(hash ^ unit.charCodeAt(i), 0x01000193) >>> 0;
  return hash;
}
