// Edits of the labels and boxes of images, as the labelling screen makes, undoes and saves them. Plain data, so that the
// browser can keep those that are not saved yet.
import { applyEdit, invertEdit } from '../../../entities/image/boxes.ts';
import type { Box, BoxEdit } from '../../../entities/image/boxes.ts';
import type { Suggestion } from './suggestions.ts';

/** An image as the labelling screen shows it. */
export interface LabelImage {
  readonly id: string;
  readonly name: string;
  /** Set by users or predicted by a model; each once. */
  readonly labels: readonly string[];
  readonly boxes: readonly Box[];
  /** What a model suggests, the highest score first. */
  readonly suggestions?: readonly Suggestion[];
}

export type LabelEdit =
  | {
      readonly do: 'labels';
      readonly image: string;
      readonly before: readonly string[];
      readonly after: readonly string[];
    }
  | { readonly do: 'box'; readonly image: string; readonly edit: BoxEdit }
  | {
      /** Rejects a suggestion, or takes that back. */
      readonly do: 'reject';
      readonly image: string;
      readonly suggestion: string;
      readonly isRejected: boolean;
    };

export function invertLabelEdit(edit: LabelEdit): LabelEdit {
  if (edit.do === 'labels') return { ...edit, before: edit.after, after: edit.before };
  return edit.do === 'box' ? { ...edit, edit: invertEdit(edit.edit) } : { ...edit, isRejected: !edit.isRejected };
}

/** The image after the edit. An edit that it has already changes nothing. */
export function applyLabelEdit(image: LabelImage, edit: LabelEdit): LabelImage {
  if (edit.image !== image.id) return image;
  if (edit.do === 'labels') return { ...image, labels: edit.after };
  if (edit.do === 'reject') return { ...image, suggestions: (image.suggestions ?? []).map((one) => settle(one, edit)) };
  const isThere =
    edit.edit.do === 'add' && image.boxes.some(({ id }) => edit.edit.do === 'add' && id === edit.edit.box.id);
  return isThere ? image : { ...image, boxes: applyEdit(image.boxes, edit.edit) };
}

const settle = (one: Suggestion, { suggestion, isRejected }: Extract<LabelEdit, { do: 'reject' }>): Suggestion =>
  one.id === suggestion ? { ...one, isRejected } : one;

export const isSameLabels = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((label) => b.includes(label));

const isSameBox = (a: Box, b: Box): boolean =>
  a.label === b.label && a.xMin === b.xMin && a.yMin === b.yMin && a.xMax === b.xMax && a.yMax === b.yMax;

/** The edits that turn one state of an image into another. */
export function editsBetween(from: LabelImage, to: LabelImage): LabelEdit[] {
  const image = from.id;
  const before = new Map(from.boxes.map((box) => [box.id, box]));
  const after = new Set(to.boxes.map(({ id }) => id));
  const boxes = [
    ...from.boxes.filter(({ id }) => !after.has(id)).map((box): BoxEdit => ({ do: 'remove', box })),
    ...to.boxes.flatMap((box): BoxEdit[] => {
      const old = before.get(box.id);
      if (!old) return [{ do: 'add', box }];
      return isSameBox(old, box) ? [] : [{ do: 'change', before: old, after: box }];
    }),
  ];
  return [
    ...(isSameLabels(from.labels, to.labels)
      ? []
      : [{ do: 'labels' as const, image, before: from.labels, after: to.labels }]),
    ...boxes.map((edit): LabelEdit => ({ do: 'box', image, edit })),
  ];
}
