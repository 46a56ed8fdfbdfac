import type { JobKind, Split } from '@platform/contract/job';
import { modelKind } from '@platform/contract/model-kinds';
import type { Example } from './dataset-rules.ts';

/** Shares of validation and test; the rest is for training. */
const shares = { validation: 0.15, test: 0.15 } as const;

/**
 * Splits images into train, validation and test, stratified by label.
 *
 * Images with a `split:…` tag keep that split. If any image has the tag `split:test` (or `split:validation`), no other
 * images are added to that split. Files with equal content always get the same split. The result depends only on the
 * images, their labels and the seed, so that jobs on one dataset are comparable.
 *
 * @returns the split of each image, in the order of `examples`.
 */
export function assignSplits(kind: JobKind, examples: readonly Example[], seed: number): Split[] {
  const bySha = new Map<string, Split>();
  const owner = new Set<Split>();
  for (const { sha256, chosen } of examples) {
    if (!chosen) continue;
    owner.add(chosen);
    // Equal files with different tags: the first tag counts. Otherwise test images could also be training images.
    if (!bySha.has(sha256)) bySha.set(sha256, chosen);
  }
  const free = new Map<string, Placed>();
  for (const { sha256, labels } of examples) {
    if (bySha.has(sha256) || free.has(sha256)) continue;
    free.set(sha256, { sha256, labels, place: mix(sha256, seed) });
  }
  const held = (['test', 'validation'] as const).filter((split) => !owner.has(split));
  const order = [...free.values()].toSorted((a, b) => a.place - b.place || (a.sha256 < b.sha256 ? -1 : 1));
  if (modelKind(kind)?.labelsPerImage === 'one') divideStrata(order, held, bySha);
  else divideRareFirst(order, held, bySha);
  return examples.map(({ sha256 }) => bySha.get(sha256) ?? 'train');
}

/** An image with its position in the shuffled order. */
type Placed = { readonly sha256: string; readonly labels: readonly string[]; readonly place: number };
type HeldOut = readonly (keyof typeof shares)[];

/** Splits each set of labels separately. */
function divideStrata(order: readonly Placed[], held: HeldOut, bySha: Map<string, Split>): void {
  for (const same of Map.groupBy(order, ({ labels }) => labels.join('\0')).values()) {
    let from = 0;
    for (const split of held) {
      const until = from + size(same.length, shares[split]);
      for (const { sha256 } of same.slice(from, until)) bySha.set(sha256, split);
      from = until;
    }
    for (const { sha256 } of same.slice(from)) bySha.set(sha256, 'train');
  }
}

/**
 * Splits images with several labels, label by label. The rarest label comes first, because it has the fewest images to
 * choose from. An image goes to the first split that lacks images of that label. It then counts for all of its labels.
 * Labels with fewer than `minHeldOut` images are ignored.
 */
function divideRareFirst(order: readonly Placed[], held: HeldOut, bySha: Map<string, Split>): void {
  const counts = new Map<string, number>();
  for (const { labels } of order) for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  const groupsOf = ({ labels }: Placed): readonly string[] => {
    const divisible = labels.filter((label) => (counts.get(label) ?? 0) >= minHeldOut);
    return divisible.length > 0 ? divisible : [rest];
  };
  const groups = new Map<string, Placed[]>();
  for (const one of order) {
    for (const group of groupsOf(one)) {
      const some = groups.get(group);
      if (some) some.push(one);
      else groups.set(group, [one]);
    }
  }
  const wanted = new Map([...groups].map(([group, { length }]) => [group, wantedOf(length, held)]));
  const rareFirst = [...groups].toSorted(([a, x], [b, y]) => x.length - y.length || (a < b ? -1 : 1));
  for (const [group, some] of rareFirst) {
    for (const one of some) {
      if (bySha.has(one.sha256)) continue;
      const missing = wanted.get(group);
      const split: Split =
        missing && missing.test > 0 ? 'test' : missing && missing.validation > 0 ? 'validation' : 'train';
      bySha.set(one.sha256, split);
      for (const each of groupsOf(one)) {
        const of = wanted.get(each);
        if (of) of[split]--;
      }
    }
  }
}

/** Group of the images without a label that can be split. */
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

/** Position in the shuffled order: FNV-1a over the seed and the content's hash. */
function mix(sha256: string, seed: number): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (let i = 0; i < sha256.length; i++) hash = Math.imul(hash ^ sha256.charCodeAt(i), 0x01000193) >>> 0;
  return hash;
}
