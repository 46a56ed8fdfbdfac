/** Near copies of an image, for benchmarks: crops, shifts, turns, and the noise of a camera. */
import type { Random } from '@platform/trainer-engine/random';
import sharp from 'sharp';

export const within = (random: Random, least: number, most: number): number => least + (most - least) * random();
export const sign = (random: Random): number => (random() < 0.5 ? -1 : 1);

export async function noisy(bytes: Buffer, random: Random, deviation: number): Promise<Buffer> {
  const { data, info } = await sharp(bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  for (let i = 0; i < data.length; i++) {
    // Sum of four uniform values: nearly normal.
    const noise = (random() + random() + random() + random() - 2) * Math.sqrt(3) * deviation;
    data[i] = Math.min(255, Math.max(0, Math.round((data[i] ?? 0) + noise)));
  }
  const { width, height } = info;
  return sharp(data, { raw: { width, height, channels: 3 } })
    .jpeg({ quality: 85 })
    .toBuffer();
}
export interface CutWindow {
  /** Shift of the middle, as shares of width and height. */
  x: number;
  y: number;
  /** Share of both edges. */
  size: number;
  /** In degrees. */
  turn: number;
}
/** A window of the image, turned about the middle; what lies outside repeats the edge. */
export async function cut(bytes: Buffer, window: CutWindow): Promise<Buffer> {
  const { width, height } = await sharp(bytes).metadata();
  const margin = Math.ceil(Math.max(width, height) * 0.12);
  const extended = await sharp(bytes)
    .extend({ top: margin, bottom: margin, left: margin, right: margin, extendWith: 'copy' })
    .png({ compressionLevel: 0 })
    .toBuffer();
  const turned = await sharp(extended)
    .rotate(window.turn, { background: '#fff' })
    .png({ compressionLevel: 0 })
    .toBuffer();
  const big = await sharp(turned).metadata();
  const [w, h] = [Math.round(width * window.size), Math.round(height * window.size)];
  return sharp(turned)
    .extract({
      left: Math.round((big.width - w) / 2 + window.x * width),
      top: Math.round((big.height - h) / 2 + window.y * height),
      width: w,
      height: h,
    })
    .jpeg({ quality: 90 })
    .toBuffer();
}
