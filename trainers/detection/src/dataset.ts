/** Maps the lines of dataset.jsonl to labelled boxes and splits. */
import { PlatformError } from '@platform/contract/errors/errors';
import type { BoxAnnotation, DatasetLine } from '@platform/contract/job/job';
import type { Skipped } from '@platform/trainer-engine/dataset-images';
import { unitOf, unitWithCopies } from '@platform/trainer-engine/held-out';
import {
  labelAdvice,
  moveToValidation,
  ofSplit,
  requireTraining,
  TrainingUnits,
} from '@platform/trainer-engine/label-minimum';
import type { LabelMinimum, SamplesBySplit } from '@platform/trainer-engine/label-minimum';
import { seeded, shuffled } from '@platform/trainer-engine/random';
import type { LabelledBox } from './boxes.ts';

export interface Example {
  line: DatasetLine;
  /** Empty for a negative image. */
  boxes: readonly LabelledBox[];
  /** Images of one unit stay in one split; absent: those of its group, else equal files. */
  unit?: string;
}
export interface LabelledDataset {
  labels: readonly string[];
  examples: readonly Example[];
  /** Boxes that are dropped or hard to detect, by image. */
  warnings: readonly Skipped[];
}

/** Share of the image's width or height below which a box is hard to detect. */
const minSide = 0.01;
const smallSide = 0.03;

/**
 * Ignores boxes of other labels. Images without any of the labels are negative images and train, too. Labels without
 * boxes are dropped.
 *
 * @param wanted - the labels of the job; empty: every label in the dataset.
 */
export function labelExamples(lines: readonly DatasetLine[], wanted: readonly string[]): LabelledDataset {
  const requested = new Set(wanted);
  const warnings: Skipped[] = [];
  const found = lines.map((line) => {
    const { kept, flat, tiny: few } = sorted(line.bounding_box_annotations, requested);
    if (flat > 0) warnings.push({ line, reason: `has ${flat} boxes without an area, which are left out` });
    if (few > 0)
      warnings.push({ line, reason: `has ${few} boxes under 1 % of its width or height, hardly to be found` });
    return { line, kept };
  });
  const labels = [...new Set(found.flatMap(({ kept }) => kept.map((one) => one.annotation_label)))].toSorted();
  const numbers = new Map(labels.map((label, i) => [label, i]));
  const examples = found.map(({ line, kept }) => ({
    line,
    boxes: kept.map((one) => ({
      label: numbers.get(one.annotation_label) ?? 0,
      left: one.x_min_normalized,
      top: one.y_min_normalized,
      right: one.x_max_normalized,
      bottom: one.y_max_normalized,
    })),
  }));
  return { labels, examples, warnings };
}
function sorted(
  boxes: readonly BoxAnnotation[],
  requested: ReadonlySet<string>,
): { kept: BoxAnnotation[]; flat: number; tiny: number } {
  const kept: BoxAnnotation[] = [];
  let [flat, few] = [0, 0];
  for (const box of boxes) {
    if (requested.size > 0 && !requested.has(box.annotation_label)) continue;
    const smaller = Math.min(box.x_max_normalized - box.x_min_normalized, box.y_max_normalized - box.y_min_normalized);
    if (!(smaller > 0)) {
      flat++;
      continue;
    }
    if (smaller < minSide) few++;
    kept.push(box);
  }
  return { kept, flat, tiny: few };
}

export const countBoxes = (examples: readonly Example[]): number =>
  examples.reduce((sum, { boxes }) => sum + boxes.length, 0);
const boxesOf = (examples: readonly Example[], label: number): number =>
  examples.reduce((sum, { boxes }) => sum + boxes.filter((one) => one.label === label).length, 0);

/** What a detector needs of each label. */
export const labelMinimum: LabelMinimum<Example> = {
  code: 'TOO_FEW_BOXES',
  labels: 1,
  least: 3,
  leastTraining: 1,
  count: boxesOf,
  unreadable: 'are in images that cannot be decoded',
};

/** @throws PlatformError TOO_FEW_BOXES, or NOTHING_HELD_OUT: a model without a score would not be checked at all. */
export function requireSplit(labels: readonly string[], split: SamplesBySplit<Example>): void {
  const { validation, test } = split;
  requireTraining(labelMinimum, labels, split);
  const heldOut = test.length > 0 ? test : validation;
  if (countBoxes(heldOut) > 0) return;
  const problem =
    heldOut.length === 0
      ? 'the images with boxes are of one group or equal files'
      : `its ${heldOut.length} held-out images have no box of these labels`;
  throw new PlatformError('NOTHING_HELD_OUT', { problem });
}

/**
 * Moves 1/6 of the training images to validation, from images with and without boxes alike. It moves by unit, so that
 * images of a group, equal images and near copies stay in one split.
 */
export function withValidation<E extends Example>(examples: readonly E[], seed: number): E[] {
  const split = validationBy(unitWithCopies, examples, seed);
  // If all images are near copies of one, validation by near copies is better than none.
  return countBoxes(ofSplit(split, 'validation')) > 0
    ? split
    : validationBy(({ line }) => unitOf(line), examples, seed);
}
function validationBy<E extends Example>(unitBy: (one: E) => string, examples: readonly E[], seed: number): E[] {
  const random = seeded('validation', seed);
  const units = new TrainingUnits();
  const training = ofSplit(examples, 'train');
  for (const one of training) for (const { label } of one.boxes) units.add(unitBy(one), label);
  for (const isEmpty of [false, true]) {
    const group = training.filter(({ boxes }) => (boxes.length === 0) === isEmpty);
    const own = [...new Set(group.map((one) => unitBy(one)))].toSorted();
    let missing = own.length < 2 ? 0 : Math.max(1, Math.floor(own.length / 6));
    for (const unit of shuffled(own, random)) if (missing > 0 && units.take(unit, 1)) missing--;
  }
  return moveToValidation(examples, unitBy, units.taken);
}

/** Suggestions for the user who drew the boxes. */
export function advice(labels: readonly string[], examples: readonly Example[]): string[] {
  const found = labelAdvice(labels, (label) => boxesOf(examples, label), 'boxes');
  const boxes = examples.flatMap((one) => one.boxes);
  const little = boxes.filter((one) => Math.min(one.right - one.left, one.bottom - one.top) < smallSide).length;
  if (little * 10 > boxes.length) {
    found.push(`${little} of ${boxes.length} boxes are under 3 % of the image: nearer images, or parts of them, help.`);
  }
  const empty = examples.filter((one) => one.boxes.length === 0).length;
  if (empty * 5 > examples.length) {
    found.push(`${empty} of ${examples.length} images have no box of these labels; draw the boxes that are missing.`);
  }
  return found;
}
