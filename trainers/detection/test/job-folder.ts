/** A job folder with small images: coloured shapes on a noisy ground with their boxes, the same by the same seed. */
import type { BoxAnnotation, DatasetLine, JobFile, Split } from '@platform/contract/job/job';
import { seeded } from '@platform/trainer-engine/random';
import type { Random } from '@platform/trainer-engine/random';
import sharp from 'sharp';
import { writeJobFolder } from '../../engine/test/job-folder.ts';
import type { TestImage } from '../../engine/test/job-folder.ts';

/** In a square of 100. */
const shapes: Record<string, string> = {
  disc: '<circle cx="50" cy="50" r="50" fill="#d32f2f"/><circle cx="50" cy="50" r="20" fill="#fff59d"/>',
  house: '<path d="M50 0 100 45V100H0V45Z" fill="#1565c0"/><path d="M40 60h20v40h-20z" fill="#eceff1"/>',
};
export const shapeLabels = Object.keys(shapes);

interface Drawn {
  jpeg: Buffer;
  boxes: BoxAnnotation[];
}
async function draw(random: Random): Promise<Drawn> {
  const boxes: BoxAnnotation[] = [];
  const parts: string[] = [];
  const hue = Math.floor(random() * 360);
  for (let i = 0; i < 40; i++) {
    const [x, y, r] = [random() * 320, random() * 320, 5 + random() * 25];
    parts.push(
      `<rect x="${x}" y="${y}" width="${r}" height="${2 * r}" fill="hsl(${hue} 25% ${55 + random() * 40}%)"/>`,
    );
  }
  for (const [i, label] of shapeLabels.entries()) {
    // One on each half, so that they do not cover each other.
    const size = 0.2 + 0.25 * random();
    const left = 0.5 * i + random() * (0.5 - size);
    const top = random() * (1 - size);
    parts.push(`<g transform="translate(${left * 320} ${top * 320}) scale(${size * 3.2})">${shapes[label] ?? ''}</g>`);
    boxes.push({
      annotation_label: label,
      x_min_normalized: left,
      y_min_normalized: top,
      x_max_normalized: left + size,
      y_max_normalized: top + size,
    });
  }
  const svg = `<svg viewBox="0 0 320 320" width="320" height="320" xmlns="http://www.w3.org/2000/svg"><rect width="320" height="320" fill="hsl(${hue} 30% 80%)"/>${parts.join('')}</svg>`;
  return { jpeg: await sharp(Buffer.from(svg)).flatten().jpeg({ quality: 90 }).toBuffer(), boxes };
}

export interface Change {
  arguments?: Record<string, string>;
  labels?: string[];
  kind?: JobFile['kind'];
  framework?: 'tflite' | 'onnx';
  wallSeconds?: number;
  /** Images per split. */
  count?: Partial<Record<Split, number>>;
  lines?: (lines: DatasetLine[]) => DatasetLine[];
  /** The bytes of image number `n` instead of its own. */
  corrupt?: (n: number, jpeg: Buffer) => Buffer;
}

export async function writeJob(folder: string, change: Change = {}): Promise<void> {
  const { count, framework } = change;
  const drawn = async function* (): AsyncGenerator<TestImage> {
    let number = 0;
    for (const split of ['train', 'validation', 'test'] as const) {
      for (let i = 0; i < (count?.[split] ?? { train: 8, validation: 0, test: 2 }[split]); i++) {
        const { jpeg, boxes } = await draw(seeded('shapes', split, i));
        const bytes = change.corrupt?.(number++, jpeg) ?? jpeg;
        yield { name: `${split}-${i}.jpg`, split, bytes, boxes };
      }
    }
  };
  const job = {
    kind: change.kind ?? 'object_detection',
    ...(framework === undefined ? {} : { framework }),
    model_name: 'shapes',
    labels: change.labels ?? [],
    arguments: { side: '96', ...change.arguments },
    seed: 3,
    limits: { wall_seconds: change.wallSeconds ?? 600, memory_mib: 2048, disk_mib: 1024 },
  };
  await writeJobFolder(folder, job, drawn(), change.lines);
}
