/** Images of coloured noise for tests of unusual datasets: quick to make, and each label has its own colour. */
import type { DatasetLine, Split } from '@platform/contract/job/job';
import sharp from 'sharp';
import { seeded } from '../src/random.ts';
import type { TestImage } from './job-folder.ts';

/** Blocks of random brightness with the noise of a camera. @param channel - the strongest of the three colours. */
async function noisyImage(scene: string, shot: string, side: number, channel: number): Promise<Buffer> {
  const [blocks, noise] = [seeded('scene', scene), seeded('shot', shot)];
  const levels = Array.from({ length: 64 }, () => 20 + blocks() * 130);
  const pixels = Buffer.alloc(side * side * 3);
  for (let i = 0; i < pixels.length; i++) {
    const [x, y] = [Math.floor(i / 3) % side, Math.floor(i / 3 / side)];
    const level = levels[Math.floor((y * 8) / side) * 8 + Math.floor((x * 8) / side)] ?? 0;
    pixels[i] = level + (i % 3 === channel ? 90 : 0) + noise() * 8;
  }
  return sharp(pixels, { raw: { width: side, height: side, channels: 3 } })
    .png()
    .toBuffer();
}

export interface LabelImages {
  label: string;
  /** Numbers of images. */
  count: Partial<Record<Split, number>>;
  side?: number;
  /** Images of one scene are near copies; default: each image has its own. */
  scene?: string;
  /** Equal shots of one scene are equal files. */
  shot?: string;
  /** The bytes of every image instead of its own. */
  bytes?: (i: number) => Buffer;
}

export async function* noisyImages(all: readonly LabelImages[]): AsyncGenerator<TestImage> {
  for (const [channel, { label, count, side = 48, scene, shot, bytes }] of all.entries()) {
    for (const split of ['train', 'validation', 'test'] as const) {
      for (let i = 0; i < (count[split] ?? 0); i++) {
        const name = `${label}-${split}-${i}.png`;
        const own = bytes?.(i) ?? (await noisyImage(scene ?? name, shot ?? name, side, channel % 3));
        const box = { x_min_normalized: 0.1, y_min_normalized: 0.1, x_max_normalized: 0.9, y_max_normalized: 0.9 };
        const boxes = [{ annotation_label: label, ...box }];
        yield { name, split, bytes: own, labels: [label], boxes };
      }
    }
  }
}

/** Gives each image the group of the first pattern that its name matches. */
export const groupedBy =
  (groups: Readonly<Record<string, RegExp>>) =>
  (lines: DatasetLine[]): DatasetLine[] =>
    lines.map((line) => {
      const [group] = Object.entries(groups).find(([, pattern]) => pattern.test(line.file_name)) ?? [];
      return group === undefined ? line : { ...line, group };
    });
