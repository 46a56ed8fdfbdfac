// Metadata of model files and the interpretation of their outputs: trainers evaluate and machines predict with it.
import { type BuiltInKind, isBuiltInKind, modelKinds } from './model-kinds.ts';

/** Metadata of a model file. */
export interface ModelDescription {
  readonly task: BuiltInKind;
  /** In the order of the outputs; absent: the file contains none. */
  readonly labels?: readonly string[];
  /** Minimum score of each label, in the order of the labels; absent: the file contains none. */
  readonly thresholds?: readonly number[];
  /**
   * The file has the output `unlike` [1,1]; an image with a higher score is unlike anything seen. Absent: the file has no
   * such output.
   */
  readonly unlikeThreshold?: number;
}

/**
 * The kind of a model, from the metadata of its file. Without a known task it is single-label: files of other
 * programs have no task.
 *
 * @throws Error when a threshold is present but invalid.
 */
export function describeModel(metadata: Readonly<Record<string, string>>): ModelDescription {
  const { task = '', labels, thresholds, unlike_threshold: unlike } = metadata;
  return {
    task: isBuiltInKind(task) ? task : 'single_label_classification',
    ...(labels !== undefined && { labels: labels.split('\n') }),
    ...(thresholds !== undefined && { thresholds: thresholds.split('\n').map((one) => readThreshold(one)) }),
    ...(unlike !== undefined && { unlikeThreshold: readThreshold(unlike, maxUnlike) }),
  };
}

/** The output `unlike` is a cosine distance. */
const maxUnlike = 2;
/** Name of the output. */
export const unlikeOutput = 'unlike';

function readThreshold(text: string, most = 1): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (value >= 0 && value <= most) return value;
  throw new Error(`its metadata has the threshold "${text}"; a threshold is a number from 0 to ${most}`);
}

/** Indices of the labels whose probability reaches their threshold. */
export function labelsAbove(probabilities: ArrayLike<number>, thresholds: readonly number[]): number[] {
  const usual = modelKinds.multi_label_classification.defaultThreshold;
  return [...thresholds.keys()].filter((k) => (probabilities[k] ?? 0) >= (thresholds[k] ?? usual));
}

/** Corners in 0..1 of the image's width and height. */
export interface DetectedBox {
  /** Index into the labels. */
  label: number;
  score: number;
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** The boxes in a detector's outputs; score 0: a higher-scored box of the same label covers it. */
export function boxesOf(
  location: ArrayLike<number>,
  category: ArrayLike<number>,
  score: ArrayLike<number>,
): DetectedBox[] {
  return Array.from(score, (one, i) => {
    const corner = (k: number): number => location[4 * i + k] ?? 0;
    return {
      label: category[i] ?? -1,
      score: one,
      left: corner(0),
      top: corner(1),
      right: corner(2),
      bottom: corner(3),
    };
  });
}

/** Boxes whose score reaches the threshold of their label, the highest score first. */
export function boxesAbove<T extends Pick<DetectedBox, 'label' | 'score'>>(
  boxes: readonly T[],
  thresholds: readonly number[],
): T[] {
  const usual = modelKinds.object_detection.defaultThreshold;
  return boxes
    .filter(({ label, score }) => score > 0 && score >= (thresholds[label] ?? usual))
    .toSorted((a, b) => b.score - a.score);
}
