/** Reads dataset.jsonl and decodes its images; skips unusable ones and reports them. */
import { createReadStream } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { PlatformError } from '@platform/contract/errors/errors';
import { JobFormatError, parseDatasetLine } from '@platform/contract/job/job';
import type { DatasetLine } from '@platform/contract/job/job';
import { dimensionsOf } from './images.ts';
import { PixelBudget } from './pixel-budget.ts';

export interface Skipped {
  line: DatasetLine;
  reason: string;
}

/** @throws PlatformError INVALID_ARGUMENT with the number of the line. */
export async function readLines(file: string): Promise<DatasetLine[]> {
  const lines: DatasetLine[] = [];
  let number = 0;
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    number++;
    if (text.trim() === '') continue;
    try {
      lines.push(parseDatasetLine(JSON.parse(text)));
    } catch (e) {
      if (!(e instanceof JobFormatError) && !(e instanceof SyntaxError)) throw e;
      const field = `line ${number} of ${path.basename(file)}`;
      throw new PlatformError('INVALID_ARGUMENT', { field, limit: e.message }, e);
    }
  }
  return lines;
}

/** Runs `work` on every item, `width` at a time; rejects with the first failure. */
async function forEachConcurrently<T>(
  items: readonly T[],
  width: number,
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const queue = items.entries();
  const lane = async (): Promise<void> => {
    for (const [index, item] of queue) await work(item, index);
  };
  await Promise.all(Array.from({ length: width }, lane));
}

/** @throws PlatformError INVALID_ARGUMENT when the path leaves the folder. */
export function imageFileOf(line: DatasetLine, folder: string): string {
  const image = path.resolve(folder, line.image_path);
  if (image.startsWith(path.resolve(folder) + path.sep)) return image;
  throw new PlatformError('INVALID_ARGUMENT', {
    field: 'image_path',
    value: line.image_path,
    limit: 'it must lie beside the dataset file',
  });
}

/**
 * Calls `decodeOne` with the file of each image and the image's number. Skips invalid images. A missing image file is a
 * defect of the runner and ends the job. Both lists keep the order of the examples. `edge` is the median of the shorter
 * edges, in pixels.
 */
export async function decodeImages<E extends { line: DatasetLine }>(
  examples: readonly E[],
  folder: string,
  decodeOne: (file: string, index: number, example: E) => Promise<void>,
  { width, signal, onDone }: { width: number; signal: AbortSignal; onDone: (share: number) => void },
): Promise<{ samples: (E & { index: number })[]; skipped: Skipped[]; edge: number }> {
  const samples: (E & { index: number })[] = [];
  const skipped: (Skipped & { index: number })[] = [];
  const budget = new PixelBudget();
  const edges: number[] = [];
  let done = 0;
  await forEachConcurrently(examples, width, async (example, index) => {
    signal.throwIfAborted();
    const { line } = example;
    const file = imageFileOf(line, folder);
    try {
      const { width: w, height: h } = (await dimensionsOf(file)) ?? { width: 0, height: 0 };
      await budget.run(w * h, () => decodeOne(file, index, example));
      edges.push(Math.min(w, h));
      samples.push({ ...example, index });
    } catch (e) {
      if (!(e instanceof Error)) throw e;
      if (/^Input file is missing|no such file|ENOENT|ENOSPC|no space/i.test(e.message)) throw e;
      skipped.push({ index, line, reason: `cannot be decoded: ${e.message.split('\n')[0] ?? ''}` });
    }
    onDone(++done / examples.length);
  });
  const inOrder = <T extends { index: number }>(all: readonly T[]): T[] => all.toSorted((a, b) => a.index - b.index);
  const edge = edges.toSorted((a, b) => a - b)[edges.length >> 1] ?? 0;
  return { samples: inOrder(samples), skipped: inOrder(skipped), edge };
}

/** @param edge - median of the images' shorter edges, in pixels. */
export const smallImagesAdvice = (edge: number, side: number): string[] =>
  edge > 0 && edge * 2 < side
    ? [
        `Half of the images are at most ${edge} px wide or high and are enlarged to ${side} px, which adds no detail. Larger images show more.`,
      ]
    : [];

/** One warning per skipped image, at most a hundred. */
export function reportSkipped(skipped: readonly Skipped[], tell: (code: string, message: string) => void): void {
  for (const { line, reason } of skipped.slice(0, 100)) {
    const code = reason.startsWith('cannot be decoded') ? 'INVALID_IMAGE' : 'INVALID_ARGUMENT';
    tell(code, `Skipped ${line.file_name || line.image_path}: it ${reason}.`);
  }
}

const maxExamples = 3;

/** @throws PlatformError IMAGES_UNREADABLE when no image could be decoded: reporting an empty dataset would mislead. */
export function requireReadable(taken: number, skipped: readonly Skipped[]): void {
  if (taken > 0 || skipped.length === 0) return;
  const unreadable = skipped.filter(({ reason }) => reason.startsWith('cannot be decoded'));
  if (unreadable.length === 0) return;
  const reasons = Map.groupBy(unreadable, ({ reason }) => reason.replace('cannot be decoded: ', ''));
  const most = [...reasons].toSorted(([, a], [, b]) => b.length - a.length).slice(0, maxExamples);
  throw new PlatformError('IMAGES_UNREADABLE', {
    count: unreadable.length,
    problem: most.map(([reason, { length }]) => `${length} × ${reason}`).join(', '),
    examples: unreadable
      .slice(0, maxExamples)
      .map(({ line }) => [line.file_name || line.image_path, line.binary_data_id ?? ''].filter(Boolean).join(' '))
      .join(', '),
  });
}
