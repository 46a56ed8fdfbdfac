import type { ImageHeader } from './image-header.ts';
import type { ChangeReason, LeftOutReason } from './ledger.ts';

/** A labeled rectangle in shares of the upright image's width and height. */
export interface Box {
  readonly label: string;
  readonly xMin: number;
  readonly yMin: number;
  readonly xMax: number;
  readonly yMax: number;
}

export type Point = readonly [x: number, y: number];
/** What a file says of one object, in the units of its frame. */
export type Shape =
  | { readonly kind: 'box'; readonly edges: readonly [left: number, top: number, right: number, bottom: number] }
  | { readonly kind: 'rotated box'; readonly corners: readonly Point[] }
  | { readonly kind: 'outline'; readonly points: readonly Point[] }
  | { readonly kind: 'ellipse'; readonly center: Point; readonly radii: Point }
  | { readonly kind: 'left out'; readonly reason: LeftOutReason };
export interface Annotation {
  readonly label: string;
  readonly shape: Shape;
  readonly changes?: readonly ChangeReason[];
}

/** The coordinate system of a file for one image. */
export interface Frame {
  /** What one width and height are in the file's units: pixels, 1 for shares, 100 for percent. */
  readonly width: number;
  readonly height: number;
  /** EXIF orientation by which the coordinates must be turned; 1 if they are those of the upright image. */
  readonly orientation: number;
}

export type Outcome =
  | { readonly box: Box; readonly changes: readonly ChangeReason[] }
  | { readonly leftOut: LeftOutReason };

/** Relative difference up to which two sizes have the same proportions. */
const sameShape = 0.02;
const isShapedLike = (a: Size, b: Size): boolean =>
  Math.abs(Math.log(a.width / a.height / (b.width / b.height))) <= sameShape;
interface Size {
  readonly width: number;
  readonly height: number;
}

/**
 * Decides whether coordinates are those of the stored or of the upright image, by the size that the file states for it.
 *
 * @param declared - size in the file of annotations; undefined if it states none.
 */
export function frameOf(
  declared: Size | undefined,
  image: ImageHeader,
  warn: (warning: string, example: string) => void,
): Frame {
  const { width, height, orientation, upright } = image;
  if (!declared) return { ...upright, orientation: 1 };
  const stored = { width, height };
  const isTurned = orientation >= 5 && width !== height;
  if (isTurned && isSameSize(declared, stored)) return { ...declared, orientation };
  if (isSameSize(declared, upright)) {
    if (orientation > 1 && !isTurned) warn(sameShapeWarning, '');
    return { ...declared, orientation: 1 };
  }
  if (isTurned && isShapedLike(declared, stored) && !isShapedLike(declared, upright))
    return { ...declared, orientation };
  if (!isShapedLike(declared, upright))
    warn(
      'The size in the annotations is of another shape than the image: check that they belong together',
      `: ${declared.width} × ${declared.height}, the image has ${upright.width} × ${upright.height}`,
    );
  return { ...declared, orientation: 1 };
}

const sameShapeWarning =
  'EXIF turns images without changing their shape: the coordinates are taken as those of the upright image';
const isSameSize = (a: Size, b: Size): boolean => a.width === b.width && a.height === b.height;

/** The position in the upright image of a position in the stored one, both in shares. */
const turns: Readonly<Record<number, (point: Point) => Point>> = {
  2: ([x, y]) => [1 - x, y],
  3: ([x, y]) => [1 - x, 1 - y],
  4: ([x, y]) => [x, 1 - y],
  5: ([x, y]) => [y, x],
  6: ([x, y]) => [1 - y, x],
  7: ([x, y]) => [1 - y, 1 - x],
  8: ([x, y]) => [y, 1 - x],
};

/** Minimum share of a box inside its image: less suggests wrong units or the wrong image. */
const minInside = 0.2;
/** Tolerance for rounding to six digits. */
const rounding = 0.001;
const inside = (value: number): number => Math.min(1, Math.max(0, value));

/** Turns what a file says of an object into a box, or says why not. Every reader decides by this function. */
export function boxOrLeftOut({ label, shape, changes: before = [] }: Annotation, frame: Frame): Outcome {
  if (shape.kind === 'left out') return { leftOut: shape.reason };
  const changes = [...before];
  const turn = turns[frame.orientation];
  const points = pointsOf(shape, changes).map(([x, y]): Point => {
    const share: Point = [x / frame.width, y / frame.height];
    return turn ? turn(share) : share;
  });
  if (turn) changes.push('turned upright with the image (EXIF)');
  const [xMin, yMin, xMax, yMax] = around(points);
  const area = (xMax - xMin) * (yMax - yMin);
  if (!(area > 0)) return { leftOut: 'no area' };
  const box = { label, xMin: inside(xMin), yMin: inside(yMin), xMax: inside(xMax), yMax: inside(yMax) };
  const left = (box.xMax - box.xMin) * (box.yMax - box.yMin);
  if (!(left > 0 && left >= area * minInside)) return { leftOut: 'outside of the image' };
  const moved = Math.max(box.xMin - xMin, box.yMin - yMin, xMax - box.xMax, yMax - box.yMax);
  if (moved > rounding) changes.push('cut at the edge of the image');
  return { box, changes };
}

function pointsOf(shape: Exclude<Shape, { kind: 'left out' }>, changes: ChangeReason[]): readonly Point[] {
  switch (shape.kind) {
    case 'box': {
      const [left, top, right, bottom] = shape.edges;
      if (left > right || top > bottom) changes.push('swapped corners put in order');
      return [
        [left, top],
        [right, bottom],
      ];
    }
    case 'rotated box':
      changes.push('box around a rotated box');
      return shape.corners;
    case 'outline':
      changes.push('box around an outline');
      return shape.points;
    case 'ellipse': {
      changes.push('box around an ellipse');
      const [[x, y], [rx, ry]] = [shape.center, shape.radii];
      return [
        [x - rx, y - ry],
        [x + rx, y + ry],
      ];
    }
  }
}

function around(points: readonly Point[]): [xMin: number, yMin: number, xMax: number, yMax: number] {
  const found: [number, number, number, number] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of points) {
    found[0] = Math.min(found[0], x);
    found[1] = Math.min(found[1], y);
    found[2] = Math.max(found[2], x);
    found[3] = Math.max(found[3], y);
  }
  return found;
}

/** The corners of a box that is rotated around a point, clockwise by degrees. */
export function rotatedCorners(
  edges: readonly [left: number, top: number, right: number, bottom: number],
  center: Point,
  degrees: number,
): Point[] {
  const [left, top, right, bottom] = edges;
  const [sin, cos] = [Math.sin((degrees * Math.PI) / 180), Math.cos((degrees * Math.PI) / 180)];
  const corners: Point[] = [
    [left, top],
    [right, top],
    [right, bottom],
    [left, bottom],
  ];
  return corners.map(([x, y]) => {
    const [dx, dy] = [x - center[0], y - center[1]];
    return [center[0] + dx * cos - dy * sin, center[1] + dx * sin + dy * cos];
  });
}

/** Pairs of a flat list of numbers. */
export const pairs = (numbers: readonly number[]): Point[] =>
  Array.from({ length: Math.floor(numbers.length / 2) }, (_, i) => [numbers[2 * i] ?? NaN, numbers[2 * i + 1] ?? NaN]);
