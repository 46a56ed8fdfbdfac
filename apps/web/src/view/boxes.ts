import { percent } from './quantities.ts';

/** A box in a picture; edges as shares of width and height. */
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

/** Smaller ones are slips of the hand. */
export const smallest = 0.01;

const inside = (value: number, low = 0, high = 1): number => Math.min(high, Math.max(low, value));

/** The box between two points, cut at the edges of the picture; undefined: too small to be meant. */
export function frameBetween(a: Point, b: Point): Frame | undefined {
  const frame = {
    xMin: inside(Math.min(a.x, b.x)),
    yMin: inside(Math.min(a.y, b.y)),
    xMax: inside(Math.max(a.x, b.x)),
    yMax: inside(Math.max(a.y, b.y)),
  };
  return frame.xMax - frame.xMin < smallest || frame.yMax - frame.yMin < smallest ? undefined : frame;
}

/** Moved as a whole; it stops at the edges. */
export function moved(of: Frame, dx: number, dy: number): Frame {
  const x = inside(dx, -of.xMin, 1 - of.xMax);
  const y = inside(dy, -of.yMin, 1 - of.yMax);
  return { xMin: of.xMin + x, yMin: of.yMin + y, xMax: of.xMax + x, yMax: of.yMax + y };
}

/** One corner put elsewhere; the others stay, and the box keeps a size. */
export function withCorner(of: Frame, corner: Corner, { x, y }: Point): Frame {
  const [vertical, side] = corner.split(' ');
  return {
    xMin: side === 'left' ? inside(x, 0, of.xMax - smallest) : of.xMin,
    xMax: side === 'right' ? inside(x, of.xMin + smallest, 1) : of.xMax,
    yMin: vertical === 'top' ? inside(y, 0, of.yMax - smallest) : of.yMin,
    yMax: vertical === 'bottom' ? inside(y, of.yMin + smallest, 1) : of.yMax,
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
export function nudged(of: Frame, key: string, isResizing: boolean): Frame | undefined {
  const [x, y] = steps[key] ?? [];
  if (x === undefined || y === undefined) return undefined;
  if (!isResizing) return moved(of, x * step, y * step);
  return withCorner(of, 'bottom right', { x: of.xMax + x * step, y: of.yMax + y * step });
}

/** What a person made of a box: it is no model's prediction any more. */
export function edited(box: Box, change: Partial<Omit<Box, 'id' | 'confidence'>>): Box {
  const { id, label, xMin, yMin, xMax, yMax } = box;
  return { id, label, xMin, yMin, xMax, yMax, ...change };
}

/** What was done to the boxes of a picture; the last one can be taken back. */
export type BoxEdit = { do: 'add'; box: Box } | { do: 'remove'; box: Box } | { do: 'change'; before: Box; after: Box };

/** The edit that takes one back. */
export function inverse(edit: BoxEdit): BoxEdit {
  if (edit.do === 'change') return { do: 'change', before: edit.after, after: edit.before };
  return edit.do === 'add' ? { do: 'remove', box: edit.box } : { do: 'add', box: edit.box };
}

export function applied(boxes: readonly Box[], edit: BoxEdit): Box[] {
  if (edit.do === 'add') return [...boxes, edit.box];
  if (edit.do === 'remove') return boxes.filter(({ id }) => id !== edit.box.id);
  return boxes.map((box) => (box.id === edit.before.id ? edit.after : box));
}

/** A box gets a new ID when it is made again: earlier edits then mean that one. */
export function renamed(edits: readonly BoxEdit[], from: string, to: string): BoxEdit[] {
  const named = (box: Box): Box => (box.id === from ? { ...box, id: to } : box);
  return edits.map((edit) =>
    edit.do === 'change'
      ? { ...edit, before: named(edit.before), after: named(edit.after) }
      : { ...edit, box: named(edit.box) },
  );
}
