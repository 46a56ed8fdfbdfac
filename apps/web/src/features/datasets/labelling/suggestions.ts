// What a model suggests for images: suggestions are not labels until a user accepts them.
import type { Box, BoxEdit, Frame } from '../../../entities/image/boxes.ts';
import type { LabelEdit, LabelImage } from './label-edits.ts';
import type { LabelMode } from './label-modes.ts';

export interface Suggestion {
  /** The box that accepts it has this ID. */
  readonly id: string;
  readonly label: string;
  /** 0 to 1. */
  readonly score: number;
  /** Undefined: a label of the whole image. */
  readonly frame: Frame | undefined;
  readonly isRejected: boolean;
}

/** Suggestions from this score on are accepted together, until the user chooses another one. */
export const usualMinimum = 0.9;
const minimumStep = 0.05;
export const otherMinimum = (minimum: number, way: 'up' | 'down'): number =>
  Number(Math.min(1, Math.max(0, minimum + (way === 'up' ? minimumStep : -minimumStep))).toFixed(2));

/** Those that a user can accept or reject now, the highest score first. */
export function openSuggestions(image: LabelImage, mode: LabelMode): readonly Suggestion[] {
  const open = (image.suggestions ?? []).filter(({ isRejected }) => !isRejected);
  if (mode === 'boxes') return open.filter(({ id, frame }) => frame && !image.boxes.some((box) => box.id === id));
  if (mode === 'one' && image.labels.length > 0) return [];
  return open.filter(({ label, frame }) => !frame && !image.labels.includes(label));
}

const boxOf = ({ id, label }: Suggestion, frame: Frame): Box => ({ id, label, ...frame });

/** The edits that accept suggestions of an image: of one label, the first of them. */
export function acceptEdits(image: LabelImage, mode: LabelMode, accepted: readonly Suggestion[]): LabelEdit[] {
  if (mode === 'boxes') {
    return accepted.flatMap((one): LabelEdit[] => {
      if (!one.frame) return [];
      const edit: BoxEdit = { do: 'add', box: boxOf(one, one.frame) };
      return [{ do: 'box', image: image.id, edit }];
    });
  }
  const labels = (mode === 'one' ? accepted.slice(0, 1) : accepted).map(({ label }) => label);
  if (labels.length === 0) return [];
  const after = mode === 'one' ? labels : [...new Set([...image.labels, ...labels])];
  return [{ do: 'labels', image: image.id, before: image.labels, after }];
}

const isUnlabelled = (image: LabelImage, mode: LabelMode): boolean =>
  (mode === 'boxes' ? image.boxes : image.labels).length === 0;

/** The edits that accept what has at least this score, on all images without a label. */
export const acceptAllEdits = (images: readonly LabelImage[], mode: LabelMode, minimum: number): LabelEdit[] =>
  images.flatMap((image) => {
    if (!isUnlabelled(image, mode)) return [];
    const sure = openSuggestions(image, mode).filter(({ score }) => score >= minimum);
    return acceptEdits(image, mode, sure);
  });

/** Numbers of images: with something to accept or reject, and with something from this score on. */
export function suggestionCounts(images: readonly LabelImage[], mode: LabelMode, minimum: number) {
  const counts = { open: 0, sure: 0 };
  for (const image of images) {
    const [best] = openSuggestions(image, mode);
    if (!best) continue;
    counts.open++;
    if (best.score >= minimum && isUnlabelled(image, mode)) counts.sure++;
  }
  return counts;
}
