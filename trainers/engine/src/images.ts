/** Decodes each image once, into a file of raw pixels, so that memory does not grow with the dataset. */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { mostImagePixels, stretchOf, usedBitsOf } from '@platform/contract/job/image-limits';
import sharp, { type Sharp } from 'sharp';

/** Larger images are rejected before decoding. */
const pixelLimit = mostImagePixels;

sharp.cache(false);
sharp.concurrency(1);

const unsupported = 'it is not a JPEG, PNG or WebP image';

const open = (path: string) => sharp(path, { failOn: 'error', limitInputPixels: pixelLimit });

/**
 * Opens an image. One of 16 bits per channel that uses fewer, as cameras of 12 bits write them, is stretched to the whole
 * range: it would be nearly black.
 */
async function openStretched(path: string): Promise<Sharp> {
  const { depth, hasAlpha } = await open(path).metadata();
  if (depth !== 'ushort') return open(path);
  const { channels } = await open(path).stats();
  const colours = hasAlpha ? channels.slice(0, -1) : channels;
  return open(path).linear(stretchOf(usedBitsOf(Math.max(...colours.map(({ max }) => max)))), 0);
}

async function readPixels(path: string, side: number) {
  const image = await openStretched(path);
  return image
    .rotate()
    .flatten({ background: '#fff' })
    .toColourspace('srgb')
    .resize(side, side, { fit: 'fill' })
    .raw()
    .toBuffer({ resolveWithObject: true });
}

/**
 * Decodes to RGB: applies the orientation, a white background and a resize to side × side. Throws if the image is
 * incomplete or invalid.
 */
export async function decode(path: string, side: number): Promise<Uint8Array> {
  const { data, info } = await readPixels(path, side).catch((error: unknown) => {
    const isUnknown = error instanceof Error && /unsupported image format/i.test(error.message);
    throw isUnknown ? new Error(`${unsupported} (${error.message})`, { cause: error }) : error;
  });
  if (info.channels === 3) return data;
  const rgb = new Uint8Array(side * side * 3);
  for (let i = 0; i < rgb.length; i++) rgb[i] = data[Math.floor(i / 3) * info.channels] ?? 0;
  return rgb;
}

/** In pixels, by the header; undefined if the file is not an image. */
export async function dimensionsOf(path: string): Promise<{ width: number; height: number } | undefined> {
  try {
    return await sharp(path, { limitInputPixels: pixelLimit }).metadata();
  } catch {
    return undefined; // the decoder reports it later
  }
}

/** Length of the shorter edge in pixels; undefined if the file is not an image. */
export async function shorterEdgeOf(path: string): Promise<number | undefined> {
  const found = await dimensionsOf(path);
  return found && Math.min(found.width, found.height);
}

/** Images of one size in a file, by index. */
export class PixelFile {
  readonly side: number;
  readonly #file: number;
  readonly #bytes: number;
  constructor(path: string, side: number) {
    this.side = side;
    this.#bytes = side * side * 3;
    this.#file = openSync(path, 'w+');
  }
  write(index: number, pixels: Uint8Array): void {
    writeSync(this.#file, pixels, 0, this.#bytes, index * this.#bytes);
  }
  /** @param pixels - buffer to fill and return: new arrays for thousands of reads would need garbage collection. */
  read(index: number, pixels = new Uint8Array(this.#bytes)): Uint8Array {
    const read = readSync(this.#file, pixels, 0, this.#bytes, index * this.#bytes);
    if (read !== this.#bytes) throw new Error(`image ${index} is not in the pixel file`);
    return pixels;
  }
  close(): void {
    closeSync(this.#file);
  }
}

export interface Augmentation {
  /** Upper left corner and size of the crop, in pixels of the source. */
  left: number;
  top: number;
  width: number;
  height: number;
  mirrored: boolean;
  brightness: number;
  contrast: number;
  saturation: number;
  /** Rotation of the crop about its centre in radians; default 0. */
  angle?: number;
}
export const identityAugmentation = (side: number): Augmentation => ({
  left: 0,
  top: 0,
  width: side,
  height: side,
  mirrored: false,
  brightness: 1,
  contrast: 1,
  saturation: 1,
});
/** Bilinear; writes side × side × 3 values 0..255 into `into` from `offset`. */
export function renderAugmentation(
  pixels: Uint8Array,
  from: number,
  view: Augmentation,
  into: Float32Array,
  offset: number,
  side: number,
): void {
  const { left, top, width, height, mirrored, brightness, contrast, saturation, angle = 0 } = view;
  const last = from - 1;
  const gain = contrast * brightness;
  const lift = 127.5 * (1 - contrast) * brightness;
  const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
  const [middleX, middleY] = [left + width / 2 - 0.5, top + height / 2 - 0.5];
  for (let y = 0; y < side; y++) {
    const v = ((y + 0.5) / side - 0.5) * height;
    let to = offset + (y * side + (mirrored ? side - 1 : 0)) * 3;
    for (let x = 0; x < side; x++) {
      const u = ((x + 0.5) / side - 0.5) * width;
      const sx = Math.min(last, Math.max(0, middleX + u * cosine - v * sine));
      const sy = Math.min(last, Math.max(0, middleY + u * sine + v * cosine));
      const x0 = Math.floor(sx);
      const y0 = Math.floor(sy);
      const fx = sx - x0;
      const fy = sy - y0;
      const a = (y0 * from + x0) * 3;
      const b = x0 < last ? a + 3 : a;
      const below = y0 < last ? from * 3 : 0;
      const c = a + below;
      const d = b + below;
      const wa = (1 - fy) * (1 - fx);
      const wb = (1 - fy) * fx;
      const wc = fy * (1 - fx);
      const wd = fy * fx;
      const red = wa * (pixels[a] ?? 0) + wb * (pixels[b] ?? 0) + wc * (pixels[c] ?? 0) + wd * (pixels[d] ?? 0);
      const green =
        wa * (pixels[a + 1] ?? 0) + wb * (pixels[b + 1] ?? 0) + wc * (pixels[c + 1] ?? 0) + wd * (pixels[d + 1] ?? 0);
      const blue =
        wa * (pixels[a + 2] ?? 0) + wb * (pixels[b + 2] ?? 0) + wc * (pixels[c + 2] ?? 0) + wd * (pixels[d + 2] ?? 0);
      const grey = 0.299 * red + 0.587 * green + 0.114 * blue;
      into[to] = clamp((grey + saturation * (red - grey)) * gain + lift);
      into[to + 1] = clamp((grey + saturation * (green - grey)) * gain + lift);
      into[to + 2] = clamp((grey + saturation * (blue - grey)) * gain + lift);
      to += mirrored ? -3 : 3;
    }
  }
}
function clamp(value: number): number {
  return value < 0 ? 0 : value > 255 ? 255 : value;
}
