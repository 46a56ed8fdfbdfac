/** A job folder with small pictures: a coloured shape on a noisy ground, three classes, the same by the same seed. */
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { jobFiles, parseJobEvent, picturePath } from '@platform/contract/job';
import type { DatasetLine, JobEvent, JobFile, JobKind, MadeFramework, Split } from '@platform/contract/job';
import sharp from 'sharp';
import { seeded } from '@platform/trainer-engine/random';
import type { Random } from '@platform/trainer-engine/random';

const shapes: Record<string, (fill: string) => string> = {
  circle: (fill) => `<circle cx="50" cy="50" r="30" fill="${fill}"/>`,
  cross: (fill) => `<path d="M20 20 80 80M80 20 20 80" stroke="${fill}" stroke-width="14"/>`,
  stripes: (fill) => `<path d="M10 20H90M10 50H90M10 80H90" stroke="${fill}" stroke-width="12"/>`,
};
export const shapeLabels = Object.keys(shapes);

/** Where each of so many shapes stands, and how large. */
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
  /** Pictures per class and split. */
  count?: Partial<Record<Split, number>>;
  /** Changes the lines and may write further files. */
  lines?: (lines: DatasetLine[]) => DatasetLine[];
  /** The bytes of picture number `n` instead of its own. */
  corrupt?: (n: number, jpeg: Buffer) => Buffer;
}

export async function writeJob(folder: string, change: Change = {}): Promise<void> {
  await mkdir(path.join(folder, jobFiles.pictures), { recursive: true });
  const { kind = 'single_label_classification' } = change;
  const lines: DatasetLine[] = [];
  for (const label of shapeLabels) {
    for (const split of ['train', 'validation', 'test'] as const) {
      for (let i = 0; i < (change.count?.[split] ?? { train: 8, validation: 0, test: 2 }[split]); i++) {
        const labels = labelsOf(kind, label, i);
        const drawn = await draw(labels, seeded(label, split, i));
        const jpeg = change.corrupt?.(lines.length, drawn) ?? drawn;
        const sha256 = createHash('sha256').update(jpeg).digest('hex');
        const line = { sha256, file_name: `${label}-${split}-${i}.jpg`, size_bytes: jpeg.byteLength, split };
        const image_path = picturePath(line);
        await writeFile(path.join(folder, image_path), jpeg);
        lines.push({
          ...line,
          image_path,
          classification_annotations: labels.map((annotation_label) => ({ annotation_label })),
          bounding_box_annotations: [],
          timestamp: '2026-01-01 00:00:00 +0000 UTC',
          part_id: '',
          component_name: '',
        });
      }
    }
  }
  const wanted = change.lines?.(lines) ?? lines;
  await writeFile(path.join(folder, jobFiles.dataset), wanted.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const job: JobFile = {
    id: 'job-1',
    attempt: 1,
    org_id: 'org-1',
    kind,
    ...(change.framework === undefined ? {} : { framework: change.framework }),
    model_name: 'shapes',
    model_version: 'v1',
    labels: change.labels ?? [],
    arguments: { side: '96', ...change.arguments },
    seed: 3,
    limits: { wall_seconds: 600, memory_mib: 2048, disk_mib: 1024 },
    deadline: '2100-01-01T00:00:00Z',
    command: [],
  };
  await writeFile(path.join(folder, jobFiles.job), JSON.stringify(job));
}

export async function readEvents(folder: string): Promise<JobEvent[]> {
  const text = await readFile(path.join(folder, jobFiles.events), 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => parseJobEvent(JSON.parse(line)));
}
