// Requirements of the built-in trainers on a dataset. The server enforces these rules; the web app shows them.
import type { ErrorCode, ErrorData } from '../errors/errors.ts';
import { type BuiltInKind, modelKinds } from './model-kinds.ts';

export const datasetRules = {
  /** Images without any of the labels, as a share of all labels (such an image counts as one label). */
  maxUnlabelledShare: 0.2,
  /** Maximum images in a training dataset. */
  maxImages: 500_000,
  /** Results of fewer images are not reliable. */
  reliableImages: 15,
  /** Maximum ratio between the most and the least frequent label. */
  maxImbalance: 3,
} as const;

export interface LabelCounts {
  readonly images: number;
  /** Images of each label; for object detection its boxes. */
  readonly labels: Readonly<Record<string, number>>;
  /** Images without any of the requested labels: the class `VIAM_UNKNOWN`, or background. */
  readonly unlabelled: number;
  /** Images with several of the requested labels: excluded from single-label training. */
  readonly ambiguous: number;
  /** Requested labels without images. */
  readonly absent: readonly string[];
}

/** A code of the error table. `label` names the label that breaks the rule. */
export interface BrokenRule {
  readonly code: ErrorCode;
  readonly data: ErrorData & { readonly label?: string; readonly count?: number; readonly limit?: number };
}

/** All rules that these counts break, in the order in which to fix them. */
export function brokenRules(kind: BuiltInKind, counts: LabelCounts): BrokenRule[] {
  const { minimum, labelSource } = modelKinds[kind];
  const occurring = Object.entries(counts.labels).filter(([, count]) => count > 0);
  const broken = labelProblem(kind, counts, occurring.length);
  if (counts.images < minimum.images && counts.images > 0) {
    broken.push({ code: 'DATASET_TOO_SMALL', data: { count: counts.images, limit: minimum.images } });
  }
  const tooFew = labelSource === 'boxes' ? 'TOO_FEW_BOXES' : 'TOO_FEW_IMAGES';
  for (const [label, count] of occurring)
    if (count < minimum.perLabel) broken.push({ code: tooFew, data: { label, count, limit: minimum.perLabel } });
  const total = counts.unlabelled + occurring.reduce((sum, [, count]) => sum + count, 0);
  const limit = Math.floor(datasetRules.maxUnlabelledShare * total);
  if (counts.unlabelled > limit) {
    broken.push({ code: 'TOO_MANY_UNLABELED', data: { count: counts.unlabelled, total, limit } });
  }
  return broken;
}

/** At most one problem: labels take precedence over all other rules. */
function labelProblem(kind: BuiltInKind, counts: LabelCounts, occurring: number): BrokenRule[] {
  const limit = modelKinds[kind].minimum.labels;
  const requested = Object.keys(counts.labels).length;
  if (requested < limit) return [{ code: 'TOO_FEW_LABELS', data: { limit, count: requested } }];
  if (counts.unlabelled === counts.images) return [{ code: 'DATASET_EMPTY', data: {} }];
  if (occurring === 0) return [{ code: 'LABELS_AMBIGUOUS', data: { count: counts.ambiguous } }];
  return occurring < limit ? [{ code: 'TOO_FEW_LABELS', data: { limit, count: occurring } }] : [];
}

const counted = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`;

/** @param images - number of images with several of the labels of a single-label model; undefined: not counted. */
export const ambiguousAdvice = (images: number | undefined): string => {
  const some = images === undefined ? 'Some images carry' : counted(images, 'image carries', 'images carry');
  return `${some} several of these labels and will be left out. A multi-label model can use them.`;
};

/**
 * Suggestions that improve a model but do not block a training; one sentence each.
 *
 * @param unit - of the counts per label.
 */
export function datasetAdvice(
  kind: BuiltInKind,
  counts: LabelCounts,
  unit: 'image' | 'box' = modelKinds[kind].labelSource === 'boxes' ? 'box' : 'image',
): string[] {
  const { images, ambiguous, unlabelled } = counts;
  const { reliableImages, maxImbalance } = datasetRules;
  const lines: string[] = [];
  if (images < reliableImages)
    lines.push(`There are ${images} images; from ${reliableImages} on a model can be relied on more.`);
  if (ambiguous > 0) lines.push(ambiguousAdvice(ambiguous));
  const sizes = Object.values(counts.labels).filter((count) => count > 0);
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
  const units = unit === 'box' ? 'boxes' : 'images';
  if (most > maxImbalance * least)
    lines.push(`The most frequent label has ${most} ${units}, the rarest ${least}: more of the rare ones would help.`);
  if (unlabelled > 0) {
    lines.push(
      modelKinds[kind].labelSource === 'boxes'
        ? `${counted(unlabelled, 'image has', 'images have')} no box with these labels: background.`
        : `${counted(unlabelled, 'image carries', 'images carry')} none of these labels: a class of their own.`,
    );
  }
  return lines;
}
