/** Maps the lines of dataset.jsonl to classes and splits. */
import { PlatformError } from '@platform/contract/errors/errors';
import { UNKNOWN_LABEL } from '@platform/contract/job/job';
import type { DatasetLine } from '@platform/contract/job/job';
import type { Skipped } from '@platform/trainer-engine/dataset-images';
import { unitWithCopies } from '@platform/trainer-engine/held-out';
import { moveToValidation, requireTraining, TrainingUnits } from '@platform/trainer-engine/label-minimum';
import type { LabelMinimum, SamplesBySplit } from '@platform/trainer-engine/label-minimum';
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

/** What a classifier needs of each label. */
export const labelMinimum: LabelMinimum<Example> = {
  code: 'TOO_FEW_IMAGES',
  labels: 2,
  least: minImages,
  leastTraining: minTraining,
  count: (examples, label) => examples.filter(({ classes }) => classes.includes(label)).length,
  unreadable: 'cannot be decoded',
};

/** @throws PlatformError TOO_FEW_IMAGES, or NOTHING_HELD_OUT: a model without a score would not be checked at all. */
export function requireSplit(labels: readonly string[], split: SamplesBySplit<Example>): void {
  requireTraining(labelMinimum, labels, split);
  if (split.validation.length + split.test.length > 0) return;
  const problem = 'each label has fewer than 3 groups or different images';
  throw new PlatformError('NOTHING_HELD_OUT', { problem });
}

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
  return moveToValidation(examples, unitWithCopies, units.taken);
}

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
