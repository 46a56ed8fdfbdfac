/** Maps the lines of dataset.jsonl to classes and splits. */
import { PlatformError } from '@platform/contract/errors/errors';
import { UNKNOWN_LABEL } from '@platform/contract/job/job';
import type { DatasetLine, Split } from '@platform/contract/job/job';
import type { Skipped } from '@platform/trainer-engine/dataset-images';
import { unitWithCopies } from '@platform/trainer-engine/held-out';
import { requireCount, TrainingUnits } from '@platform/trainer-engine/label-minimum';
import { seeded, shuffled } from '@platform/trainer-engine/random';

/** One label per image, or any number of labels. */
export type Task = 'single_label_classification' | 'multi_label_classification';

export interface Example {
  line: DatasetLine;
  /** Indices into the labels; exactly one for single-label classification. */
  classes: readonly number[];
  /** Images of one unit stay in one split; absent: those of its group, else equal files. */
  unit?: string;
}
export interface LabelledDataset {
  labels: readonly string[];
  examples: readonly Example[];
  skipped: readonly Skipped[];
}

/** Images per class: two for training, one for validation. */
const [minImages, minTraining] = [3, 2];

/**
 * An image with none of the labels gets the class VIAM_UNKNOWN, which exists only if enough images have it.
 * Single-label classification skips images with several labels. Labels without images are dropped.
 *
 * @param wanted - the labels of the job; empty: every label in the dataset.
 */
export function labelExamples(lines: readonly DatasetLine[], wanted: readonly string[], task: Task): LabelledDataset {
  const requested = new Set(wanted);
  const found: { line: DatasetLine; names: readonly string[] }[] = [];
  const skipped: Skipped[] = [];
  for (const line of lines) {
    const own = new Set(line.classification_annotations.map((one) => one.annotation_label));
    const names = [...own].filter((name) => requested.size === 0 || requested.has(name)).toSorted();
    if (names.length > 1 && task === 'single_label_classification') {
      skipped.push({ line, reason: `has several labels: ${names.join(', ')}` });
    } else found.push({ line, names: names.length === 0 ? [UNKNOWN_LABEL] : names });
  }
  const labels = [...new Set(found.flatMap(({ names }) => names))].filter((name) => name !== UNKNOWN_LABEL).toSorted();
  const unknown = found.filter(({ names, line }) => names.includes(UNKNOWN_LABEL) && line.split !== 'test').length;
  if (unknown >= minImages) labels.push(UNKNOWN_LABEL);
  const examples: Example[] = [];
  for (const { line, names } of found) {
    const classes = names.map((name) => labels.indexOf(name)).filter((label) => label >= 0);
    if (classes.length > 0) examples.push({ line, classes });
    else skipped.push({ line, reason: `has none of the labels, and too few images do to learn from` });
  }
  return { labels, examples, skipped };
}

/**
 * @param decoded - the examples whose image could be decoded.
 * @throws PlatformError DATASET_EMPTY, TOO_FEW_LABELS or TOO_FEW_IMAGES when the images are not enough to train
 *   on.
 */
export function requireEnough(
  labels: readonly string[],
  examples: readonly Example[],
  decoded: readonly Example[] = examples,
): void {
  const training = decoded.filter(({ line }) => line.split !== 'test');
  if (training.length === 0) {
    const all = decoded.length;
    throw new PlatformError('DATASET_EMPTY', {
      problem: all === 0 ? 'it is empty' : `its ${all} images are all for the test`,
    });
  }
  if (labels.length < 2) throw new PlatformError('TOO_FEW_LABELS', { limit: 2, count: labels.length });
  for (const [index, label] of labels.entries()) {
    const [all, readable] = [countOf(examples, index), countOf(decoded, index)];
    const count = countOf(training, index);
    requireCount(
      'TOO_FEW_IMAGES',
      { label, count, limit: minImages },
      { 'are in the test': readable - count, 'cannot be decoded': all - readable },
    );
  }
}

/**
 * Validation images may be chosen by users or by group, so a label may have none to learn from.
 *
 * @throws PlatformError TOO_FEW_IMAGES, or NOTHING_HELD_OUT: a model without a score would not be checked at all.
 */
export function requireSplit(
  labels: readonly string[],
  split: { train: readonly Example[]; validation: readonly Example[]; test: readonly Example[] },
): void {
  for (const [index, label] of labels.entries()) {
    const [validation, test] = [countOf(split.validation, index), countOf(split.test, index)];
    const count = countOf(split.train, index);
    requireCount(
      'TOO_FEW_IMAGES',
      { label, count, limit: minTraining },
      { 'are for validation': validation, 'are in the test': test },
    );
  }
  if (split.validation.length + split.test.length === 0)
    throw new PlatformError('NOTHING_HELD_OUT', { problem: noUnits });
}
const noUnits = 'each label has fewer than 3 groups or different images';

const countOf = (examples: readonly Example[], label: number): number =>
  examples.filter(({ classes }) => classes.includes(label)).length;

/**
 * Use 1/8 of the training images for validation: with little data, training on an image is worth more than validating
 * on it.
 */
const validationPart = 8;

/**
 * Moves 1/8 of each class from training to validation, at least one image if the class has three. It moves by unit, so
 * that images of a group, equal images and near copies stay in one split. It starts with rare classes, because an image with several labels serves each
 * of them.
 */
export function withValidation<E extends Example>(examples: readonly E[], seed: number): E[] {
  const random = seeded('validation', seed);
  const units = new TrainingUnits();
  for (const one of examples) {
    if (one.line.split === 'train') for (const label of one.classes) units.add(unitWithCopies(one), label);
  }
  for (const [, own] of [...units.byLabel].toSorted(([a, of], [b, those]) => of.size - those.size || a - b)) {
    const share = own.size < minImages ? 0 : Math.max(1, Math.floor(own.size / validationPart));
    let missing = share - own.intersection(units.taken).size;
    const left = [...own.difference(units.taken)].toSorted();
    for (const unit of shuffled(left, random)) if (missing > 0 && units.take(unit, minTraining)) missing--;
  }
  return examples.map((one) =>
    one.line.split === 'train' && units.taken.has(unitWithCopies(one))
      ? { ...one, line: { ...one.line, split: 'validation' as const } }
      : one,
  );
}

export const ofSplit = <E extends Example>(examples: readonly E[], split: Split): E[] =>
  examples.filter(({ line }) => line.split === split);

function countsOf(examples: readonly Example[], classes: number): number[] {
  const counts = Array.from({ length: classes }, () => 0);
  for (const { classes: own } of examples) for (const label of own) counts[label] = (counts[label] ?? 0) + 1;
  return counts;
}

/**
 * Whether the labels are about as frequent in the second as in the first: each count is within one image or a half of
 * what to expect. Users may choose validation images, or groups decide, so a label may have few or none.
 */
export function hasSameBalance(first: readonly Example[], second: readonly Example[], classes: number): boolean {
  const found = countsOf(second, classes);
  return countsOf(first, classes).every((count, label) => {
    const expected = (count * second.length) / Math.max(1, first.length);
    return Math.abs((found[label] ?? 0) - expected) <= Math.max(1, expected / 2);
  });
}

/**
 * One weight per class, mean 1 over the examples: inverse to the class frequency, capped at four times the balanced
 * weight.
 */
export function classWeights(examples: readonly Example[], classes: number): number[] {
  const counts = countsOf(examples, classes);
  const even = examples.length / classes;
  const raw = counts.map((count) => (count === 0 ? 0 : Math.min(4, even / count)));
  const mean = counts.reduce((sum, count, label) => sum + count * (raw[label] ?? 0), 0) / examples.length;
  return raw.map((weight) => weight / mean);
}

/** Weight of the images with a label relative to those without: the root of their ratio, between 1 and 4. */
export function labelWeights(examples: readonly Example[], classes: number): number[] {
  return countsOf(examples, classes).map((count) =>
    count === 0 ? 1 : Math.min(4, Math.max(1, Math.sqrt((examples.length - count) / count))),
  );
}

/** Suggestions for the user who labelled the images, the most useful first. */
export function advice(labels: readonly string[], examples: readonly Example[]): string[] {
  const found = countsOf(examples, labels.length);
  const counts = labels.map((label, index) => ({ label, count: found[index] ?? 0 }));
  const suggestions = counts
    .filter(({ count }) => count < 10)
    .map(({ label, count }) => `"${label}" has ${count} images; 10 or more make it reliable.`);
  const ordered = counts.toSorted((a, b) => b.count - a.count);
  const [most, least] = [ordered.at(0), ordered.at(-1)];
  if (most && least && most.count > 3 * least.count) {
    suggestions.push(
      `"${most.label}" has ${most.count} images, "${least.label}" only ${least.count}: add to the latter.`,
    );
  }
  return suggestions;
}
