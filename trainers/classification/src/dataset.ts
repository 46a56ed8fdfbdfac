/** From the lines of dataset.jsonl to classes and splits: which picture teaches what, which one is held out. */
import { PlatformError } from '@platform/contract/errors';
import { UNKNOWN_LABEL } from '@platform/contract/job';
import type { DatasetLine, Split } from '@platform/contract/job';
import { seeded, shuffled } from '@platform/trainer-engine/random';

export interface Example {
  line: DatasetLine;
  /** Index into the labels. */
  label: number;
}
export interface Skipped {
  line: DatasetLine;
  reason: string;
}
export interface Labelled {
  labels: readonly string[];
  examples: readonly Example[];
  skipped: readonly Skipped[];
}

/** Of each class: two to learn from, one to choose by. */
export const fewestPictures = 3;

/**
 * The rule for single labels: a picture with none of the labels is of the class VIAM_UNKNOWN, which exists only where
 * enough such pictures do; a picture with several is skipped. Labels that no picture has are left out.
 *
 * @param wanted - the labels of the job; empty: every label that occurs.
 */
export function labelled(lines: readonly DatasetLine[], wanted: readonly string[]): Labelled {
  const requested = new Set(wanted);
  const found: { line: DatasetLine; name: string }[] = [];
  const skipped: Skipped[] = [];
  for (const line of lines) {
    const names = new Set(line.classification_annotations.map((one) => one.annotation_label));
    const matching = [...names].filter((name) => requested.size === 0 || requested.has(name));
    const [name = UNKNOWN_LABEL, ...others] = matching;
    if (others.length > 0) skipped.push({ line, reason: `has several labels: ${matching.toSorted().join(', ')}` });
    else found.push({ line, name });
  }
  const labels = [...new Set(found.map(({ name }) => name))].filter((name) => name !== UNKNOWN_LABEL).toSorted();
  const unknown = found.filter(({ name, line }) => name === UNKNOWN_LABEL && line.split !== 'test').length;
  if (unknown >= fewestPictures) labels.push(UNKNOWN_LABEL);
  const examples: Example[] = [];
  for (const { line, name } of found) {
    const label = labels.indexOf(name);
    if (label >= 0) examples.push({ line, label });
    else skipped.push({ line, reason: `has none of the labels, and too few pictures do to learn from` });
  }
  return { labels, examples, skipped };
}

/** Throws DATASET_EMPTY, TOO_FEW_LABELS or TOO_FEW_PICTURES when the pictures can't teach the labels. */
export function requireEnough(labels: readonly string[], examples: readonly Example[]): void {
  const training = examples.filter(({ line }) => line.split !== 'test');
  if (training.length === 0) throw new PlatformError('DATASET_EMPTY');
  if (labels.length < 2) throw new PlatformError('TOO_FEW_LABELS', { limit: 2, count: labels.length });
  for (const [index, label] of labels.entries()) {
    const count = training.filter((one) => one.label === index).length;
    if (count < fewestPictures) throw new PlatformError('TOO_FEW_PICTURES', { label, count, limit: fewestPictures });
  }
}

/**
 * Takes a fifth to a sixth of each class out of the training pictures, one at least where a class has three, so that
 * there is something to choose the weights by. By content, so that equal pictures stay together.
 */
export function withValidation<E extends Example>(examples: readonly E[], seed: number): E[] {
  const random = seeded('validation', seed);
  const moved = new Set<string>();
  const classes = Map.groupBy(
    examples.filter(({ line }) => line.split === 'train'),
    ({ label }) => label,
  );
  for (const [, members] of [...classes].toSorted(([a], [b]) => a - b)) {
    const pictures = [...new Set(members.map(({ line }) => line.sha256))].toSorted();
    const share = pictures.length < 3 ? 0 : Math.max(1, Math.floor(pictures.length / 6));
    for (const sha256 of shuffled(pictures, random).slice(0, share)) moved.add(sha256);
  }
  return examples.map((one) =>
    one.line.split === 'train' && moved.has(one.line.sha256)
      ? { ...one, line: { ...one.line, split: 'validation' as const } }
      : one,
  );
}

export const ofSplit = <E extends Example>(examples: readonly E[], split: Split): E[] =>
  examples.filter(({ line }) => line.split === split);

/** One weight per class, mean 1 over the examples: rare classes count more, at most four times as much as their share. */
export function classWeights(examples: readonly Example[], classes: number): number[] {
  const counts = Array.from({ length: classes }, (_, label) => examples.filter((one) => one.label === label).length);
  const even = examples.length / classes;
  const raw = counts.map((count) => (count === 0 ? 0 : Math.min(4, even / count)));
  const mean = counts.reduce((sum, count, label) => sum + count * (raw[label] ?? 0), 0) / examples.length;
  return raw.map((weight) => weight / mean);
}

/** What would help most, in words for the person who labelled the pictures. */
export function advice(labels: readonly string[], examples: readonly Example[]): string[] {
  const counts = labels.map((label, index) => ({ label, count: examples.filter((one) => one.label === index).length }));
  const found = counts
    .filter(({ count }) => count < 10)
    .map(({ label, count }) => `"${label}" has ${count} pictures; 10 or more make it reliable.`);
  const ordered = counts.toSorted((a, b) => b.count - a.count);
  const [most, least] = [ordered.at(0), ordered.at(-1)];
  if (most && least && most.count > 3 * least.count) {
    found.push(`"${most.label}" has ${most.count} pictures, "${least.label}" only ${least.count}: add to the latter.`);
  }
  return found;
}
