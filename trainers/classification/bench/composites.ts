// Composites of cut-outs on photographs, by seed. What cannot be had on a computer is undefined there.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Split } from '@platform/contract/job/job';
import type { Random } from '@platform/trainer-engine/random';
import sharp from 'sharp';
import { debianPackage } from '../../engine/bench/debian.ts';
import { qtResources } from '../../engine/bench/qt-resources.ts';

export type Part = Exclude<Split, 'validation'>;
/** Pixels of both edges of composites. */
export const side = 320;
export interface Thing {
  label: string;
  file: string;
}
export interface Material {
  things: readonly Thing[];
  backgrounds: Readonly<Record<Part, readonly (string | Buffer)[]>>;
  /** Edge of a thing as a share of the image's, least and most. */
  size: readonly [number, number];
  /** Degrees, either way. */
  turn: number;
}

export async function photographs(): Promise<Record<Part, Buffer[]> | undefined> {
  const root = debianPackage('gcompris-qt-data');
  if (root === undefined) return undefined;
  const found: [string, Buffer][] = [];
  for (const file of ['details.rcc', 'explore_monuments.rcc']) {
    for (const [name, bytes] of qtResources(readFileSync(path.join(root, 'usr/share/gcompris-qt/rcc', file)))) {
      if (!name.endsWith('.webp')) continue;
      const { width, height } = await sharp(bytes).metadata();
      if (Math.min(width, height) >= 300) found.push([name, bytes]);
    }
  }
  const sorted = found.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, bytes]) => bytes);
  return { train: sorted.filter((_, i) => i % 2 === 0), test: sorted.filter((_, i) => i % 2 === 1) };
}

function pick<T>(items: readonly T[], random: Random): T {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new RangeError('nothing to pick from');
  return item;
}

async function backdrop(photo: string | Buffer, random: Random): Promise<Buffer> {
  const { width, height } = await sharp(photo).metadata();
  const edge = Math.floor(Math.min(width, height) * (0.5 + 0.5 * random()));
  const left = Math.floor(random() * (width - edge));
  const top = Math.floor(random() * (height - edge));
  return sharp(photo)
    .extract({ left, top, width: edge, height: edge })
    .resize(side, side, { fit: 'fill' })
    .flatten()
    .toColourspace('srgb')
    .png({ compressionLevel: 0 })
    .toBuffer();
}

async function thing(
  { file }: Thing,
  edge: number,
  turn: number,
  random: Random,
): Promise<{ png: Buffer; width: number; height: number }> {
  const upright = await sharp(file)
    .ensureAlpha()
    .trim()
    .flop(random() < 0.5)
    .resize(edge, edge, { fit: 'inside' })
    .png({ compressionLevel: 0 })
    .toBuffer();
  const angle = (random() * 2 - 1) * turn;
  const { data, info } = await sharp(upright)
    .rotate(angle, { background: '#00000000' })
    .resize(side, side, { fit: 'inside', withoutEnlargement: true })
    .png({ compressionLevel: 0 })
    .toBuffer({ resolveWithObject: true });
  return { png: data, width: info.width, height: info.height };
}

interface Layer {
  input: Buffer;
  left: number;
  top: number;
  width: number;
  height: number;
}
/** Common area as a share of the smaller one's. */
function overlap(a: Layer, b: Layer): number {
  const width = Math.min(a.left + a.width, b.left + b.width) - Math.max(a.left, b.left);
  const height = Math.min(a.top + a.height, b.top + b.height) - Math.max(a.top, b.top);
  if (width <= 0 || height <= 0) return 0;
  return (width * height) / Math.min(a.width * a.height, b.width * b.height);
}

export async function composed(
  things: readonly Thing[],
  material: Material,
  part: Part,
  random: Random,
): Promise<Buffer> {
  const [least, most] = material.size;
  const layers: Layer[] = [];
  for (const one of things) {
    // What is covered could not be named: things may touch, not hide each other.
    for (let tries = 0; tries < 20; tries++) {
      const edge = Math.round(side * (least + (most - least) * random()));
      const { png, width, height } = await thing(one, edge, material.turn, random);
      const left = Math.floor(random() * (side - width));
      const top = Math.floor(random() * (side - height));
      const layer = { input: png, left, top, width, height };
      const isHidden = layers.some((other) => overlap(layer, other) > 0.2);
      if (isHidden && tries < 19) continue;
      layers.push(layer);
      break;
    }
  }
  return sharp(await backdrop(pick(material.backgrounds[part], random), random))
    .composite(layers.map(({ input, left, top }) => ({ input, left, top })))
    .jpeg({ quality: 90 })
    .toBuffer();
}
