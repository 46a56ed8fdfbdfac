/** Augmented copies of the training images, with the boxes that stay visible. */
import type { Random } from '@platform/trainer-engine/random';
import type { LabelledBox } from './boxes.ts';

/** A part of one image and its position in the view. Corners and sizes in 0..1 of the image and of the view. */
export interface Patch {
  /** Index into the list of source images. */
  image: number;
  from: Rectangle;
  to: Rectangle;
  mirrored: boolean;
  jitter: ColorJitter;
}
export interface Rectangle {
  left: number;
  top: number;
  width: number;
  height: number;
}
export interface ColorJitter {
  brightness: number;
  contrast: number;
  saturation: number;
}
/** Later patches cover earlier ones. */
export interface AugmentedImage {
  patches: readonly Patch[];
  boxes: readonly LabelledBox[];
}

const wholeImage: Rectangle = { left: 0, top: 0, width: 1, height: 1 };
const noJitter: ColorJitter = { brightness: 1, contrast: 1, saturation: 1 };
/** Minimum visible share of a cropped box; smaller remains are dropped. */
const minVisibleShare = 0.35;

/** The boxes of an image within the patch. */
function visibleBoxes(boxes: readonly LabelledBox[], { from, to, mirrored }: Patch): LabelledBox[] {
  const found: LabelledBox[] = [];
  for (const { label, ...box } of boxes) {
    const across = (x: number): number => {
      const share = (x - from.left) / from.width;
      return to.left + (mirrored ? 1 - share : share) * to.width;
    };
    const down = (y: number): number => to.top + ((y - from.top) / from.height) * to.height;
    const [left, right] = [across(mirrored ? box.right : box.left), across(mirrored ? box.left : box.right)];
    const [top, bottom] = [down(box.top), down(box.bottom)];
    const kept = clipBox({ left, top, right, bottom }, to);
    const area = (right - left) * (bottom - top);
    if (kept && (kept.right - kept.left) * (kept.bottom - kept.top) >= minVisibleShare * area)
      found.push({ label, ...kept });
  }
  return found;
}
function clipBox(box: Omit<LabelledBox, 'label'>, to: Rectangle): Omit<LabelledBox, 'label'> | undefined {
  const left = Math.max(box.left, to.left);
  const top = Math.max(box.top, to.top);
  const right = Math.min(box.right, to.left + to.width);
  const bottom = Math.min(box.bottom, to.top + to.height);
  return right > left && bottom > top ? { left, top, right, bottom } : undefined;
}

/** Share of the box that the rectangle covers. */
function coveredShare(box: LabelledBox, { left, top, width, height }: Rectangle): number {
  const common =
    Math.max(0, Math.min(box.right, left + width) - Math.max(box.left, left)) *
    Math.max(0, Math.min(box.bottom, top + height) - Math.max(box.top, top));
  return common / ((box.right - box.left) * (box.bottom - box.top));
}

export interface LabelledImage {
  boxes: readonly LabelledBox[];
}
const between = (random: Random, low: number, high: number): number => low + (high - low) * random();
const randomJitter = (random: Random): ColorJitter => ({
  brightness: between(random, 0.75, 1.25),
  contrast: between(random, 0.75, 1.25),
  saturation: between(random, 0.7, 1.3),
});
/** Random aspect ratio: the detector must also find objects of shapes that the images do not show. */
const randomStretch = (random: Random): number => Math.exp(between(random, -0.35, 0.35));
const flip = (random: Random): boolean => random() < 0.5;

export function unchangedImage(images: readonly LabelledImage[], image: number, mirrored = false): AugmentedImage {
  const part: Patch = { image, from: wholeImage, to: wholeImage, mirrored, jitter: noJitter };
  return { patches: [part], boxes: visibleBoxes(images[image]?.boxes ?? [], part) };
}

/** Scaled, shifted and, half of the time, mirrored; pixels outside repeat the edge. */
function zoom(images: readonly LabelledImage[], image: number, random: Random): AugmentedImage {
  const size = Math.exp(between(random, Math.log(0.55), Math.log(1.35)));
  const stretch = randomStretch(random);
  const [width, height] = [size * stretch, size / stretch];
  const from: Rectangle = {
    width,
    height,
    left: between(random, Math.min(0, 1 - width), Math.max(0, 1 - width)),
    top: between(random, Math.min(0, 1 - height), Math.max(0, 1 - height)),
  };
  const part: Patch = { image, from, to: wholeImage, mirrored: flip(random), jitter: randomJitter(random) };
  return { patches: [part], boxes: visibleBoxes(images[image]?.boxes ?? [], part) };
}

/** Mosaic of four images, including the given one. */
function mosaic(images: readonly LabelledImage[], image: number, random: Random): AugmentedImage {
  const [x, y] = [between(random, 0.35, 0.65), between(random, 0.35, 0.65)];
  const places: Rectangle[] = [
    { left: 0, top: 0, width: x, height: y },
    { left: x, top: 0, width: 1 - x, height: y },
    { left: 0, top: y, width: x, height: 1 - y },
    { left: x, top: y, width: 1 - x, height: 1 - y },
  ];
  const parts = places.map((to, i): Patch => {
    const chosen = i === 0 ? image : Math.floor(random() * images.length);
    // Size of a whole image relative to the view.
    const scale = between(random, 0.6, 1.1);
    const stretch = randomStretch(random);
    const [width, height] = [Math.min(1, to.width / (scale * stretch)), Math.min(1, (to.height * stretch) / scale)];
    const from = { width, height, left: random() * (1 - width), top: random() * (1 - height) };
    return { image: chosen, from, to, mirrored: flip(random), jitter: randomJitter(random) };
  });
  return { patches: parts, boxes: parts.flatMap((part) => visibleBoxes(images[part.image]?.boxes ?? [], part)) };
}

/** Copies boxes of other images with a small margin, and pastes them where they cover little. */
function copyPaste(images: readonly LabelledImage[], image: number, random: Random): AugmentedImage {
  const ground = zoom(images, image, random);
  const parts = [...ground.patches];
  const boxes = [...ground.boxes];
  const wanted = 1 + Math.floor(random() * 2);
  for (let tries = 0; parts.length <= wanted && tries < 12; tries++) {
    const chosen = Math.floor(random() * images.length);
    const source = images[chosen]?.boxes ?? [];
    const box = source[Math.floor(random() * source.length)];
    if (!box) continue;
    const margin = between(random, 0, 0.08);
    const [boxWidth, boxHeight] = [box.right - box.left, box.bottom - box.top];
    const left = Math.max(0, box.left - margin * boxWidth);
    const top = Math.max(0, box.top - margin * boxHeight);
    const from = {
      left,
      top,
      width: Math.min(1, box.right + margin * boxWidth) - left,
      height: Math.min(1, box.bottom + margin * boxHeight) - top,
    };
    const stretch = randomStretch(random);
    const longest = Math.max(from.width * stretch, from.height / stretch);
    const scale = Math.min(between(random, 0.6, 1.4), 0.9 / longest);
    const [width, height] = [from.width * scale * stretch, (from.height * scale) / stretch];
    const to = { width, height, left: random() * (1 - width), top: random() * (1 - height) };
    if (boxes.some((one) => coveredShare(one, to) > 0.1)) continue;
    const part: Patch = { image: chosen, from, to, mirrored: flip(random), jitter: randomJitter(random) };
    parts.push(part);
    boxes.push(...visibleBoxes([box], part));
  }
  return { patches: parts, boxes };
}

/** View `number` of an image: 0 is the image itself, 1 its mirror image, then the augmentations in turn. */
export function augment(
  images: readonly LabelledImage[],
  image: number,
  number: number,
  random: Random,
): AugmentedImage {
  if (number < 2) return unchangedImage(images, image, number === 1);
  const kinds = [mosaic, zoom, copyPaste];
  return (kinds[(number - 2) % kinds.length] ?? zoom)(images, image, random);
}

/**
 * Renders a view, bilinear, as side × side × 3 values 0..255 from `offset` on. `pixelsOf` returns images of `from` ×
 * `from` pixels.
 */
export function renderAugmented(
  view: AugmentedImage,
  { pixelsOf, from, side }: { pixelsOf: (image: number) => Uint8Array; from: number; side: number },
  into: Float32Array,
  offset: number,
): void {
  for (const part of view.patches) renderPatch(part, pixelsOf(part.image), from, side, into, offset);
}

function renderPatch(
  part: Patch,
  pixels: Uint8Array,
  size: number,
  side: number,
  into: Float32Array,
  offset: number,
): void {
  const { from, to, mirrored, jitter: look } = part;
  const last = size - 1;
  const gain = look.contrast * look.brightness;
  const lift = 127.5 * (1 - look.contrast) * look.brightness;
  const [x0, x1] = [Math.round(to.left * side), Math.round((to.left + to.width) * side)];
  const [y0, y1] = [Math.round(to.top * side), Math.round((to.top + to.height) * side)];
  const place = (share: number, start: number, extent: number): number =>
    Math.min(last, Math.max(0, (start + share * extent) * size - 0.5));
  const columns = Float64Array.from({ length: x1 - x0 }, (_, i) => {
    const share = (i + x0 + 0.5 - to.left * side) / (to.width * side);
    return place(mirrored ? 1 - share : share, from.left, from.width);
  });
  for (let y = y0; y < y1; y++) {
    const sourceY = place((y + 0.5 - to.top * side) / (to.height * side), from.top, from.height);
    const upper = Math.floor(sourceY);
    const fy = sourceY - upper;
    const row0 = upper * size;
    const row1 = Math.min(last, upper + 1) * size;
    for (let x = x0; x < x1; x++) {
      const sourceX = columns[x - x0] ?? 0;
      const near = Math.floor(sourceX);
      const fx = sourceX - near;
      const far = Math.min(last, near + 1);
      const [a, b, c, d] = [(row0 + near) * 3, (row0 + far) * 3, (row1 + near) * 3, (row1 + far) * 3];
      const [wa, wb, wc, wd] = [(1 - fy) * (1 - fx), (1 - fy) * fx, fy * (1 - fx), fy * fx];
      const at = (channel: number): number =>
        wa * (pixels[a + channel] ?? 0) +
        wb * (pixels[b + channel] ?? 0) +
        wc * (pixels[c + channel] ?? 0) +
        wd * (pixels[d + channel] ?? 0);
      const [red, green, blue] = [at(0), at(1), at(2)];
      const grey = 0.299 * red + 0.587 * green + 0.114 * blue;
      const target = offset + (y * side + x) * 3;
      into[target] = clamp((grey + look.saturation * (red - grey)) * gain + lift);
      into[target + 1] = clamp((grey + look.saturation * (green - grey)) * gain + lift);
      into[target + 2] = clamp((grey + look.saturation * (blue - grey)) * gain + lift);
    }
  }
}
function clamp(value: number): number {
  return value < 0 ? 0 : value > 255 ? 255 : value;
}
