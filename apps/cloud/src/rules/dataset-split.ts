import type { Split } from '@platform/contract/job';
import { chosenSplit, type Labelled, matching } from './dataset-rules.ts';

/** Shares of validation and test; the rest is for training. */
export const shares = { validation: 0.15, test: 0.15 } as const;

/**
 * Divides pictures into train, validation and test, stratified by label.
 *
 * Pictures tagged `split:…` stay where their owner put them; once any is tagged `split:test` (or `split:validation`) the owner
 * has chosen that part and nothing is added to it. Files of equal content always stay together. The same pictures with the
 * same labels and seed are divided in the same way every time, so that jobs on one dataset can be compared.
 *
 * @returns the split of each picture, in the order of `pictures`.
 */
export function assignSplits(pictures: readonly Labelled[], labels: readonly string[], seed: number): Split[] {
  const wanted = new Set(labels);
  const bySha = new Map<string, Split>();
  const chosen = new Set<Split>();
  for (const picture of pictures) {
    const split = chosenSplit(picture.tags);
    if (!split) continue;
    chosen.add(split);
    // Equal files with different tags: the first tag counts, or what was tested would have been learnt.
    if (!bySha.has(picture.sha256)) bySha.set(picture.sha256, split);
  }
  const strata = new Map<string, string[]>();
  const seen = new Set<string>(bySha.keys());
  for (const picture of pictures) {
    if (seen.has(picture.sha256)) continue;
    seen.add(picture.sha256);
    const stratum = matching(picture, wanted).join('\0');
    strata.set(stratum, [...(strata.get(stratum) ?? []), picture.sha256]);
  }
  for (const [, shas] of strata) {
    const order = shas.toSorted((a, b) => mix(a, seed) - mix(b, seed) || (a < b ? -1 : 1));
    const test = chosen.has('test') ? 0 : size(order.length, shares.test);
    const validation = chosen.has('validation') ? 0 : size(order.length, shares.validation);
    order.forEach((sha256, at) =>
      bySha.set(sha256, at < test ? 'test' : at < test + validation ? 'validation' : 'train'),
    );
  }
  return pictures.map(({ sha256 }) => bySha.get(sha256) ?? 'train');
}

/** At least one of three; of fewer, all are for training. */
const size = (count: number, share: number): number => (count < 3 ? 0 : Math.max(1, Math.round(count * share)));

/** A place in a shuffled order: FNV-1a over the seed and the content's hash. */
function mix(sha256: string, seed: number): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (let i = 0; i < sha256.length; i++) hash = Math.imul(hash ^ sha256.charCodeAt(i), 0x01000193) >>> 0;
  return hash;
}
