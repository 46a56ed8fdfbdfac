/** Maps the lines of dataset.jsonl to classes and splits. */
import { PlatformError } from '@platform/contract/errors';
import { UNKNOWN_LABEL } from '@platform/contract/job';
import type { DatasetLine, Split } from '@platform/contract/job';
import type { Skipped } from '@platform/trainer-engine/dataset-images';
import { unitOf } from '@platform/trainer-engine/held-out';
import { seeded, shuffled } from '@platform/trainer-engine/random';

/** One label per image, or any number of labels. */
export type Task = 'single_label_classification' | 'multi_label_classification';

export interface Example {
  line: DatasetLine;
  /** Indices into the labels; exactly one for single-label classification. */
  classes: readonly number[];
}
export interface LabelledDataset {
  labels: readonly string[];
  examples: readonly Example[];
  skipped: readonly Skipped[];
}

/** Images per class: two for training, one for validation. */
const minImages = 3;

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
 * @throws PlatformError DATASET_EMPTY, TOO_FEW_LABELS or TOO_FEW_PICTURES when the images are not enough to train
 *   on.
 */
export function requireEnough(labels: readonly string[], examples: readonly Example[]): void {
  const training = examples.filter(({ line }) => line.split !== 'test');
  if (training.length === 0) {
    const all = examples.length;
    throw new PlatformError('DATASET_EMPTY', {
      problem: all === 0 ? 'it is empty' : `its ${all} images are all for the test`,
    });
  }
  if (labels.length < 2) throw new PlatformError('TOO_FEW_LABELS', { limit: 2, count: labels.length });
  for (const [index, label] of labels.entries()) {
    const count = training.filter(({ classes }) => classes.includes(index)).length;
    if (count < minImages) throw new PlatformError('TOO_FEW_PICTURES', { label, count, limit: minImages });
  }
}

/**
 * Use 1/8 of the training images for validation: with little data, training on an image is worth more than validating
 * on it.
 */
const validationPart = 8;

/**
 * Moves 1/8 of each class from training to validation, at least one image if the class has three. It moves by group and
 * by content, so that images of a group and equal images stay in one split. It starts with rare classes, because an image with several labels serves each
 * of them.
 */
export function withValidation<E extends Example>(examples: readonly E[], seed: number): E[] {
  const random = seeded('validation', seed);
  const moved = new Set<string>();
  const members = new Map<number, Set<string>>();
  for (const { line, classes } of examples) {
    if (line.split !== 'train') continue;
    for (const label of classes) members.set(label, (members.get(label) ?? new Set()).add(unitOf(line)));
  }
  for (const [, found] of [...members].toSorted(([a, of], [b, those]) => of.size - those.size || a - b)) {
    const units = [...found].toSorted();
    const share = units.length < 3 ? 0 : Math.max(1, Math.floor(units.length / validationPart));
    const already = units.filter((unit) => moved.has(unit)).length;
    const left = units.filter((unit) => !moved.has(unit));
    for (const unit of shuffled(left, random).slice(0, Math.max(0, share - already))) moved.add(unit);
  }
  return examples.map((one) =>
    one.line.split === 'train' && moved.has(unitOf(one.line))
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
