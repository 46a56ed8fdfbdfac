/** What a split needs for each label, and how it gets validation images. */
import { PlatformError } from '@platform/contract/errors/errors';
import type { DatasetLine, Split } from '@platform/contract/job/job';

/** How many images or boxes a kind of model needs for each label. */
export interface LabelMinimum<E> {
  code: 'TOO_FEW_IMAGES' | 'TOO_FEW_BOXES';
  labels: number;
  /** The least number for each label in the dataset, and of these for training. */
  least: number;
  leastTraining: number;
  count(examples: readonly E[], label: number): number;
  /** Why those of an image that cannot be decoded do not count. */
  unreadable: string;
}
export interface SamplesBySplit<S> {
  train: readonly S[];
  validation: readonly S[];
  test: readonly S[];
}

export const ofSplit = <E extends { line: DatasetLine }>(examples: readonly E[], split: Split): E[] =>
  examples.filter(({ line }) => line.split === split);

/**
 * @param decoded - the examples whose image could be decoded.
 * @throws PlatformError DATASET_EMPTY, TOO_FEW_LABELS, TOO_FEW_IMAGES or TOO_FEW_BOXES when the images are not enough to
 *   train on.
 */
export function requireEnough<E extends { line: DatasetLine }>(
  { code, labels: leastLabels, least: limit, count: countOf, unreadable }: LabelMinimum<E>,
  labels: readonly string[],
  examples: readonly E[],
  decoded: readonly E[] = examples,
): void {
  const training = decoded.filter(({ line }) => line.split !== 'test');
  if (training.length === 0) {
    const all = decoded.length;
    throw new PlatformError('DATASET_EMPTY', {
      problem: all === 0 ? 'it is empty' : `its ${all} images are all for the test`,
    });
  }
  if (labels.length < leastLabels)
    throw new PlatformError('TOO_FEW_LABELS', { limit: leastLabels, count: labels.length });
  for (const [index, label] of labels.entries()) {
    const [all, readable, count] = [countOf(examples, index), countOf(decoded, index), countOf(training, index)];
    requireCount(code, { label, count, limit }, { 'are in the test': readable - count, [unreadable]: all - readable });
  }
}

/** Validation images may be chosen by users or by group, so a label may have none to learn from. */
export function requireTraining<E>(
  { code, leastTraining: limit, count: countOf }: LabelMinimum<E>,
  labels: readonly string[],
  { train, validation, test }: SamplesBySplit<E>,
): void {
  for (const [index, label] of labels.entries()) {
    const others = { 'are for validation': countOf(validation, index), 'are in the test': countOf(test, index) };
    requireCount(code, { label, count: countOf(train, index), limit }, others);
  }
}

/**
 * @param others - the label's images or boxes that do not count, by the reason.
 * @throws PlatformError with `code` if there are fewer than the limit.
 */
function requireCount(
  code: LabelMinimum<unknown>['code'],
  { label, count, limit }: { label: string; count: number; limit: number },
  others: Readonly<Record<string, number>>,
): void {
  if (count >= limit) return;
  const reasons = Object.entries(others).filter(([, n]) => n > 0);
  const problem = reasons.map(([reason, n]) => `${n} ${reason}`).join(', ');
  throw new PlatformError(code, { label, count, limit, ...(problem && { problem }) });
}

/** The training images of these units become validation images. */
export const moveToValidation = <E extends { line: DatasetLine }>(
  examples: readonly E[],
  unitBy: (example: E) => string,
  taken: ReadonlySet<string>,
): E[] =>
  examples.map((one) =>
    one.line.split === 'train' && taken.has(unitBy(one))
      ? { ...one, line: { ...one.line, split: 'validation' as const } }
      : one,
  );

/** Advice on labels with few images or boxes. @param things - "images". */
export function labelAdvice(labels: readonly string[], countOf: (label: number) => number, things: string): string[] {
  const counts = labels.map((label, index) => ({ label, count: countOf(index) }));
  const advice = counts
    .filter(({ count }) => count < 10)
    .map(({ label, count }) => `"${label}" has ${count} ${things}; 10 or more make it reliable.`);
  const ordered = counts.toSorted((a, b) => b.count - a.count);
  const [most, least] = [ordered.at(0), ordered.at(-1)];
  if (most && least && most.count > 3 * least.count)
    advice.push(
      `"${most.label}" has ${most.count} ${things}, "${least.label}" only ${least.count}: add to the latter.`,
    );
  return advice;
}

/** Units of the split by label; `take` removes a unit from training. */
export class TrainingUnits {
  readonly byLabel = new Map<number, Set<string>>();
  readonly #labelsOf = new Map<string, Set<number>>();
  readonly #left = new Map<number, number>();
  readonly taken = new Set<string>();

  add(unit: string, label: number): void {
    const units = this.byLabel.get(label) ?? new Set();
    this.byLabel.set(label, units.add(unit));
    this.#labelsOf.set(unit, (this.#labelsOf.get(unit) ?? new Set()).add(label));
    this.#left.set(label, units.size);
  }
  /** Takes a unit unless one of its labels would have fewer than `fewest` left: a group may have several labels. */
  take(unit: string, fewest: number): boolean {
    const labels = this.#labelsOf.get(unit) ?? new Set();
    if (this.taken.has(unit) || [...labels].some((label) => (this.#left.get(label) ?? 0) <= fewest)) return false;
    for (const label of labels) this.#left.set(label, (this.#left.get(label) ?? 0) - 1);
    this.taken.add(unit);
    return true;
  }
}
