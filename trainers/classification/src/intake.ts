/** Reads dataset.jsonl and decodes its pictures, leaving out what can't be used and saying so. */
import { createReadStream } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { PlatformError } from '@platform/contract/errors';
import { JobFormatError, parseDatasetLine } from '@platform/contract/job';
import type { DatasetLine } from '@platform/contract/job';
import type { Example, Skipped } from './dataset.ts';
import { decode } from '@platform/trainer-engine/pictures';
import type { PixelFile } from '@platform/trainer-engine/pictures';

/** Throws INVALID_ARGUMENT naming the line. */
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

/** An example whose pixels are in the files under `index`. */
export interface Sample extends Example {
  index: number;
}
export interface Intake {
  samples: readonly Sample[];
  skipped: readonly Skipped[];
}
export interface PixelFiles {
  /** As the delivered model sees pictures. */
  exact: PixelFile;
  /** Larger, to cut views out of; training pictures alone. */
  large: PixelFile;
}

/** Runs `work` on every item, `width` at a time; the first failure ends all. */
export async function eachOf<T>(
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

/** Throws INVALID_ARGUMENT where the line leads out of the folder. */
export function placeOf(line: DatasetLine, folder: string): string {
  const picture = path.resolve(folder, line.image_path);
  if (picture.startsWith(path.resolve(folder) + path.sep)) return picture;
  throw new PlatformError('INVALID_ARGUMENT', {
    field: 'image_path',
    value: line.image_path,
    limit: 'it must lie beside the dataset file',
  });
}

/** Wrong pictures are skipped; a picture file that is not there is the runner's fault and ends the job. */
export async function takeIn(
  examples: readonly Example[],
  folder: string,
  files: PixelFiles,
  { width, signal, onDone }: { width: number; signal: AbortSignal; onDone: (share: number) => void },
): Promise<Intake> {
  const samples: Sample[] = [];
  const skipped: Skipped[] = [];
  let done = 0;
  await eachOf(examples, width, async (example, index) => {
    signal.throwIfAborted();
    const { line } = example;
    const picture = placeOf(line, folder);
    try {
      files.exact.write(index, await decode(picture, files.exact.side));
      if (line.split === 'train') files.large.write(index, await decode(picture, files.large.side));
      samples.push({ ...example, index });
    } catch (e) {
      if (!(e instanceof Error)) throw e;
      if (/missing|no such file|ENOENT|ENOSPC|no space/i.test(e.message)) throw e;
      skipped.push({ line, reason: `cannot be decoded: ${e.message.split('\n')[0] ?? ''}` });
    }
    onDone(++done / examples.length);
  });
  return { samples: samples.toSorted((a, b) => a.index - b.index), skipped };
}
