/** Corners in 0..1 of the image's width and height, or in pixels where stated. */
export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}
export interface LabelledBox extends Box {
  /** Index into the labels. */
  label: number;
}

/** Intersection over union. */
export function iou(a: Box, b: Box): number {
  const width = Math.max(0, Math.min(a.right, b.right) - Math.max(a.left, b.left));
  const height = Math.max(0, Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));
  const common = width * height;
  const all = (a.right - a.left) * (a.bottom - a.top) + (b.right - b.left) * (b.bottom - b.top) - common;
  return all > 0 ? common / all : 0;
}
