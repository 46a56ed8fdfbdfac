/** Decodes each picture once, into a file of raw pixels, so that memory does not grow with the dataset. */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import sharp from 'sharp';
import type { Random } from './random.ts';

/** More pixels than this are refused, before they are decoded. */
const pixelLimit = 120e6;

sharp.cache(false);
sharp.concurrency(1);

/** The picture upright, on white where transparent, stretched to side × side, RGB. Throws when it can't be decoded whole. */
export async function decode(path: string, side: number): Promise<Uint8Array> {
  const { data, info } = await sharp(path, { failOn: 'error', limitInputPixels: pixelLimit })
    .rotate()
    .flatten({ background: '#fff' })
    .toColourspace('srgb')
    .resize(side, side, { fit: 'fill' })
    .raw()
    .toBuffer({ resolveWithObject: true });
  if (info.channels === 3) return data;
  const rgb = new Uint8Array(side * side * 3);
  for (let i = 0; i < rgb.length; i++) rgb[i] = data[Math.floor(i / 3) * info.channels] ?? 0;
  return rgb;
}

/** Pictures of one size in a file, by number. */
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
  read(index: number): Uint8Array {
    const pixels = new Uint8Array(this.#bytes);
    const read = readSync(this.#file, pixels, 0, this.#bytes, index * this.#bytes);
    if (read !== this.#bytes) throw new Error(`picture ${index} is not in the pixel file`);
    return pixels;
  }
  close(): void {
    closeSync(this.#file);
  }
}

export interface View {
  /** Left upper corner and size of the part that is seen, in pixels of the source. */
  left: number;
  top: number;
  width: number;
  height: number;
  mirrored: boolean;
  brightness: number;
  contrast: number;
  saturation: number;
}
export const wholeView = (side: number): View => ({
  left: 0,
  top: 0,
  width: side,
  height: side,
  mirrored: false,
  brightness: 1,
  contrast: 1,
  saturation: 1,
});
/** 50..100 % of the picture's area, slightly stretched, mirrored half of the time, colours changed by up to 25 %. */
export function randomView(side: number, random: Random): View {
  const area = 0.5 + 0.5 * random();
  const stretch = Math.exp((random() - 0.5) * 0.4);
  const width = Math.min(side, side * Math.sqrt(area * stretch));
  const height = Math.min(side, side * Math.sqrt(area / stretch));
  const change = (): number => 0.75 + 0.5 * random();
  return {
    width,
    height,
    left: random() * (side - width),
    top: random() * (side - height),
    mirrored: random() < 0.5,
    brightness: change(),
    contrast: change(),
    saturation: change(),
  };
}

/** Bilinear; writes side × side × 3 values 0..255 into `into` from `offset`. */
export function renderView(
  pixels: Uint8Array,
  from: number,
  view: View,
  into: Float32Array,
  offset: number,
  side: number,
): void {
  const { left, top, width, height, mirrored, brightness, contrast, saturation } = view;
  const last = from - 1;
  const gain = contrast * brightness;
  const lift = 127.5 * (1 - contrast) * brightness;
  for (let y = 0; y < side; y++) {
    const sy = Math.min(last, Math.max(0, top + ((y + 0.5) * height) / side - 0.5));
    const y0 = Math.floor(sy);
    const fy = sy - y0;
    const row0 = y0 * from;
    const row1 = Math.min(last, y0 + 1) * from;
    for (let x = 0; x < side; x++) {
      const sx = Math.min(last, Math.max(0, left + ((x + 0.5) * width) / side - 0.5));
      const x0 = Math.floor(sx);
      const fx = sx - x0;
      const x1 = Math.min(last, x0 + 1);
      const [a, b, c, d] = [(row0 + x0) * 3, (row0 + x1) * 3, (row1 + x0) * 3, (row1 + x1) * 3];
      const [wa, wb, wc, wd] = [(1 - fy) * (1 - fx), (1 - fy) * fx, fy * (1 - fx), fy * fx];
      const at = (channel: number): number =>
        wa * (pixels[a + channel] ?? 0) +
        wb * (pixels[b + channel] ?? 0) +
        wc * (pixels[c + channel] ?? 0) +
        wd * (pixels[d + channel] ?? 0);
      const red = at(0);
      const green = at(1);
      const blue = at(2);
      const grey = 0.299 * red + 0.587 * green + 0.114 * blue;
      const to = offset + (y * side + (mirrored ? side - 1 - x : x)) * 3;
      into[to] = clamp((grey + saturation * (red - grey)) * gain + lift);
      into[to + 1] = clamp((grey + saturation * (green - grey)) * gain + lift);
      into[to + 2] = clamp((grey + saturation * (blue - grey)) * gain + lift);
    }
  }
}
function clamp(value: number): number {
  return value < 0 ? 0 : value > 255 ? 255 : value;
}
