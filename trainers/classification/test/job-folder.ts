/** A job folder with small images: a coloured shape on a noisy ground, three classes, the same by the same seed. */
import type { DatasetLine, JobKind, Split } from '@platform/contract/job/job';
import type { MadeFramework } from '@platform/contract/job/model-kinds';
import sharp from 'sharp';
import { seeded } from '@platform/trainer-engine/random';
import type { Random } from '@platform/trainer-engine/random';
import { withChosenSplits, writeJobFolder } from '../../engine/test/job-folder.ts';
import type { TestImage } from '../../engine/test/job-folder.ts';

const shapes: Record<string, (fill: string) => string> = {
  circle: (fill) => `<circle cx="50" cy="50" r="30" fill="${fill}"/>`,
  cross: (fill) => `<path d="M20 20 80 80M80 20 20 80" stroke="${fill}" stroke-width="14"/>`,
  stripes: (fill) => `<path d="M10 20H90M10 50H90M10 80H90" stroke="${fill}" stroke-width="12"/>`,
};
export const shapeLabels = Object.keys(shapes);

/** Position and size of each shape. */
const places = [
  [{ x: 50, y: 50, scale: 1 }],
  [
    { x: 28, y: 30, scale: 0.6 },
    { x: 72, y: 70, scale: 0.6 },
  ],
  [
    { x: 28, y: 28, scale: 0.55 },
    { x: 72, y: 40, scale: 0.55 },
    { x: 40, y: 74, scale: 0.55 },
  ],
];

async function draw(labels: readonly string[], random: Random): Promise<Buffer> {
  const ground = `hsl(${Math.floor(random() * 360)} 30% 80%)`;
  const drawn = labels.map((label, i) => {
    const fill = `hsl(${Math.floor(random() * 360)} 80% 50%)`;
    const { x, y, scale } = places[labels.length - 1]?.[i] ?? { x: 50, y: 50, scale: 1 };
    const turn = `translate(${x + random() * 20 - 10} ${y + random() * 20 - 10}) scale(${scale}) rotate(${random() * 30 - 15}) translate(-50 -50)`;
    return `<g transform="${turn}">${shapes[label]?.(fill) ?? ''}</g>`;
  });
  const svg = `<svg viewBox="0 0 100 100" width="120" height="120" xmlns="http://www.w3.org/2000/svg"><rect width="100" height="100" fill="${ground}"/>${drawn.join('')}</svg>`;
  return sharp(Buffer.from(svg)).flatten().jpeg({ quality: 85 }).toBuffer();
}

/** With several labels allowed: each label alone, with the next one, and all of them, in turn. */
function labelsOf(kind: JobKind, label: string, i: number): string[] {
  if (kind !== 'multi_label_classification') return [label];
  const at = shapeLabels.indexOf(label);
  return [...shapeLabels.slice(at), ...shapeLabels.slice(0, at)].slice(0, 1 + (i % 3));
}

export interface Change {
  kind?: JobKind;
  framework?: MadeFramework;
  arguments?: Record<string, string>;
  labels?: string[];
  /** Images per class and split. */
  count?: Partial<Record<Split, number>>;
  /** Changes the lines and may write further files. */
  lines?: (lines: DatasetLine[]) => DatasetLine[];
  /** The bytes of image number `n` instead of its own. */
  corrupt?: (n: number, jpeg: Buffer) => Buffer;
}

export async function writeJob(folder: string, change: Change = {}): Promise<void> {
  const { kind = 'single_label_classification', framework, count } = change;
  const drawn = async function* (): AsyncGenerator<TestImage> {
    let number = 0;
    for (const label of shapeLabels) {
      for (const split of ['train', 'validation', 'test'] as const) {
        for (let i = 0; i < (count?.[split] ?? { train: 8, validation: 0, test: 2 }[split]); i++) {
          const labels = labelsOf(kind, label, i);
          const jpeg = await draw(labels, seeded(label, split, i));
          const bytes = change.corrupt?.(number++, jpeg) ?? jpeg;
          yield { name: `${label}-${split}-${i}.jpg`, split, bytes, labels };
        }
      }
    }
  };
  const job = {
    kind,
    ...(framework === undefined ? {} : { framework }),
    model_name: 'shapes',
    labels: change.labels ?? [],
    arguments: { side: '96', ...change.arguments },
    seed: 3,
    limits: { wall_seconds: 600, memory_mib: 2048, disk_mib: 1024 },
  };
  const { lines = (all: DatasetLine[]) => all } = change;
  await writeJobFolder(folder, job, drawn(), (all) => lines(withChosenSplits(all)));
}
