import { modelKinds } from '@platform/contract/job/model-kinds';
import { UNKNOWN_LABEL } from '@platform/contract/job/job';
import { boxesAbove, boxesOf, labelsAbove, unlikeOutput } from '@platform/contract/job/model-output';
import type { ModelDescription } from '@platform/contract/job/model-output';
import type { Detection, ImageAnnotations, ScoredLabel } from '../annotations.ts';
import type { Outputs } from './model-engine.ts';

interface Classified extends ScoredLabel {
  /** Probability of every label. */
  readonly probabilities: Readonly<Record<string, number>>;
}

/** How unlike the training images an image is. */
interface Unlike {
  readonly score: number;
  readonly threshold: number;
  /** `label` is then VIAM_UNKNOWN. */
  readonly rejected: boolean;
}

/** A model's result; keys as in the responses of the HTTP server. */
export type Reading =
  | ({ readonly task: 'single_label_classification'; readonly unlike?: Unlike } & Classified)
  /** `label` and `score`: the most probable label, regardless of its threshold. */
  | ({ readonly task: 'multi_label_classification'; readonly labels: readonly ScoredLabel[] } & Classified)
  | { readonly task: 'object_detection'; readonly detections: readonly Detection[] };

/** Labels and metadata for reading the outputs of a model. */
export interface OutputReader {
  readonly labels: readonly string[];
  readonly description: ModelDescription;
  /** Reject images whose score `unlike` is higher; absent: give a label to every image. */
  readonly rejectAbove?: number;
}

/** @throws Error when labels, thresholds and outputs do not match. */
export function checkOutputs(outputs: Outputs, { labels, description }: OutputReader, labelPath: string): void {
  const { task, labels: own, thresholds } = description;
  if (task === 'object_detection') {
    const [boxes, categories, corners] = ['score', 'category', 'location'].map((name) => outputs(name).length);
    if (categories !== boxes || corners !== 4 * (boxes ?? 0))
      throw new Error(`its outputs do not fit each other: ${boxes} scores, ${categories} categories, ${corners} edges`);
  } else {
    const classes = outputs('probability').length;
    if (classes !== labels.length) throw new Error(`it has ${classes} classes, ${labelPath} names ${labels.length}`);
  }
  // The shape of a detector's outputs does not depend on the number of labels.
  if (own && own.length !== labels.length)
    throw new Error(`its metadata names ${own.length} labels, ${labelPath} names ${labels.length}`);
  if (thresholds && thresholds.length !== labels.length)
    throw new Error(`its metadata has ${thresholds.length} thresholds, ${labelPath} names ${labels.length} labels`);
}

export function readOutputs(outputs: Outputs, reader: OutputReader): Reading {
  const { task } = reader.description;
  if (task === 'object_detection') return { task, detections: readDetections(outputs, reader) };
  const probability = outputs('probability');
  const classified = classifiedAs(probability, reader.labels);
  if (task === 'single_label_classification') {
    const { rejectAbove } = reader;
    return { task, ...(rejectAbove === undefined ? classified : rejectUnlike(classified, outputs, rejectAbove)) };
  }
  return { task, ...classified, labels: readLabelsAbove(probability, reader) };
}

function classifiedAs(probability: Float32Array, labels: readonly string[]): Classified {
  const best = probability.indexOf(Math.max(...probability));
  return {
    label: labels[best] ?? '',
    score: probability[best] ?? 0,
    probabilities: Object.fromEntries(labels.map((label, i) => [label, probability[i] ?? 0])),
  };
}

function rejectUnlike(
  classified: Classified,
  outputs: Outputs,
  threshold: number,
): Classified & { readonly unlike: Unlike } {
  const score = outputs(unlikeOutput)[0] ?? Number.NaN;
  const unlike = { score, threshold, rejected: score > threshold };
  return unlike.rejected ? { ...classified, label: UNKNOWN_LABEL, score: 0, unlike } : { ...classified, unlike };
}

const thresholdsOf = ({ labels, description }: OutputReader): readonly number[] =>
  description.thresholds ?? labels.map(() => modelKinds[description.task].defaultThreshold ?? 0);

/** Labels above their threshold, the most probable first. */
function readLabelsAbove(probability: Float32Array, reader: OutputReader): ScoredLabel[] {
  return labelsAbove(probability, thresholdsOf(reader))
    .map((k): ScoredLabel => ({ label: reader.labels[k] ?? '', score: probability[k] ?? 0 }))
    .toSorted((a, b) => b.score - a.score);
}

function readDetections(outputs: Outputs, reader: OutputReader): Detection[] {
  const boxes = boxesOf(outputs('location'), outputs('category'), outputs('score'));
  return boxesAbove(boxes, thresholdsOf(reader)).flatMap((box): Detection[] => {
    const label = reader.labels[box.label];
    if (label === undefined) return [];
    const { score, left, top, right, bottom } = box;
    return [
      {
        label,
        score,
        x_min_normalized: left,
        y_min_normalized: top,
        x_max_normalized: right,
        y_max_normalized: bottom,
      },
    ];
  });
}

const clip = (value: number): number => Math.min(1, Math.max(0, value));

/** Results with at least this score. The management server rejects boxes without an area and scores above 1. */
export function annotationsFrom(reading: Reading, minimumScore: number): ImageAnnotations {
  const clipped = <T extends ScoredLabel>(found: readonly T[]): T[] =>
    found.filter(({ score }) => score >= minimumScore).map((one) => ({ ...one, score: clip(one.score) }));
  switch (reading.task) {
    case 'single_label_classification':
      // A rejected image gets no label: users could not remove it.
      return {
        bboxes: [],
        classifications: reading.unlike?.rejected ? [] : clipped([{ label: reading.label, score: reading.score }]),
      };
    case 'multi_label_classification':
      return { bboxes: [], classifications: clipped(reading.labels) };
    case 'object_detection':
      return { bboxes: clipped(reading.detections).map(inside).filter(hasArea), classifications: [] };
  }
}

const inside = (box: Detection): Detection => ({
  ...box,
  x_min_normalized: clip(box.x_min_normalized),
  y_min_normalized: clip(box.y_min_normalized),
  x_max_normalized: clip(box.x_max_normalized),
  y_max_normalized: clip(box.y_max_normalized),
});
const hasArea = (box: Detection): boolean =>
  box.x_min_normalized < box.x_max_normalized && box.y_min_normalized < box.y_max_normalized;

/** Results with at least this score, for logs; undefined if there are none. */
export function resultsAbove(reading: Reading, minimumScore: number): Readonly<Record<string, unknown>> | undefined {
  const isEnough = ({ score }: ScoredLabel): boolean => score >= minimumScore;
  switch (reading.task) {
    case 'single_label_classification':
      // `minimumScore` is about known labels; a rejected image has exceeded a threshold of its own.
      if (reading.unlike?.rejected) return { label: reading.label, unlike: reading.unlike.score };
      return isEnough(reading) ? { label: reading.label, score: reading.score } : undefined;
    case 'multi_label_classification': {
      const labels = reading.labels.filter(isEnough);
      return labels.length > 0 ? { labels } : undefined;
    }
    case 'object_detection': {
      const detections = reading.detections.filter(isEnough);
      return detections.length > 0 ? { detections } : undefined;
    }
  }
}
