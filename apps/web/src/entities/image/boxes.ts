import { percent } from '../../ui/quantities.ts';

/** A box in an image; edges as fractions of width and height. */
export interface Box {
  id: string;
  label: string;
  xMin: number;
  yMin: number;
  xMax: number;
  yMax: number;
  /** Confidence of the model that predicted it, 0 to 1. */
  confidence?: number;
}
export type Frame = Omit<Box, 'id' | 'label' | 'confidence'>;
export interface Point {
  x: number;
  y: number;
}
export const corners = ['top left', 'top right', 'bottom left', 'bottom right'] as const;
export type Corner = (typeof corners)[number];

/** "cup 75 %" */
export const withConfidence = ({ label, confidence }: { label: string; confidence?: number | undefined }): string =>
  confidence === undefined ? label : `${label} ${percent(confidence, 0)}`;

/** Smaller boxes are accidental clicks. */
const minBoxShare = 0.01;

const clamp = (value: number, low = 0, high = 1): number => Math.min(high, Math.max(low, value));

/** The box between two points, clipped to the image; undefined: too small to be intended. */
export function frameBetween(a: Point, b: Point): Frame | undefined {
  const frame = {
    xMin: clamp(Math.min(a.x, b.x)),
    yMin: clamp(Math.min(a.y, b.y)),
    xMax: clamp(Math.max(a.x, b.x)),
    yMax: clamp(Math.max(a.y, b.y)),
  };
  return frame.xMax - frame.xMin < minBoxShare || frame.yMax - frame.yMin < minBoxShare ? undefined : frame;
}

/** Moves the whole box; it stops at the edges. */
export function moveFrame(of: Frame, dx: number, dy: number): Frame {
  const x = clamp(dx, -of.xMin, 1 - of.xMax);
  const y = clamp(dy, -of.yMin, 1 - of.yMax);
  return { xMin: of.xMin + x, yMin: of.yMin + y, xMax: of.xMax + x, yMax: of.yMax + y };
}

/** Moves one corner; the others stay, and the box keeps a minimum size. */
export function moveCorner(of: Frame, corner: Corner, { x, y }: Point): Frame {
  const [vertical, side] = corner.split(' ');
  return {
    xMin: side === 'left' ? clamp(x, 0, of.xMax - minBoxShare) : of.xMin,
    xMax: side === 'right' ? clamp(x, of.xMin + minBoxShare, 1) : of.xMax,
    yMin: vertical === 'top' ? clamp(y, 0, of.yMax - minBoxShare) : of.yMin,
    yMax: vertical === 'bottom' ? clamp(y, of.yMin + minBoxShare, 1) : of.yMax,
  };
}

const steps: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};
const step = 0.01;

/** An arrow key moves the box; with Shift it moves the lower right corner. Undefined: another key. */
export function nudgeFrame(of: Frame, key: string, isResizing: boolean): Frame | undefined {
  const [x, y] = steps[key] ?? [];
  if (x === undefined || y === undefined) return undefined;
  if (!isResizing) return moveFrame(of, x * step, y * step);
  return moveCorner(of, 'bottom right', { x: of.xMax + x * step, y: of.yMax + y * step });
}

/** A box that the user changed; it is no longer a prediction, so it loses its confidence. */
export function editBox(box: Box, change: Partial<Omit<Box, 'id' | 'confidence'>>): Box {
  const { id, label, xMin, yMin, xMax, yMax } = box;
  return { id, label, xMin, yMin, xMax, yMax, ...change };
}

/** One edit of the boxes of an image; the last one can be undone. */
export type BoxEdit = { do: 'add'; box: Box } | { do: 'remove'; box: Box } | { do: 'change'; before: Box; after: Box };

/** Returns the edit that reverts this one. */
export function invertEdit(edit: BoxEdit): BoxEdit {
  if (edit.do === 'change') return { do: 'change', before: edit.after, after: edit.before };
  return edit.do === 'add' ? { do: 'remove', box: edit.box } : { do: 'add', box: edit.box };
}

export function applyEdit(boxes: readonly Box[], edit: BoxEdit): Box[] {
  if (edit.do === 'add') return [...boxes, edit.box];
  if (edit.do === 'remove') return boxes.filter(({ id }) => id !== edit.box.id);
  return boxes.map((box) => (box.id === edit.before.id ? edit.after : box));
}

/** A box that is added again gets a new ID; earlier edits of it must use that ID. */
export function replaceId(edits: readonly BoxEdit[], from: string, to: string): BoxEdit[] {
  const named = (box: Box): Box => (box.id === from ? { ...box, id: to } : box);
  return edits.map((edit) =>
    edit.do === 'change'
      ? { ...edit, before: named(edit.before), after: named(edit.after) }
      : { ...edit, box: named(edit.box) },
  );
}
