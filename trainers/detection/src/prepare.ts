/** Reads dataset.jsonl into decoded, labelled, split images. */
import path from 'node:path';
import { readLines, requireReadable, decodeImages, reportSkipped } from '@platform/trainer-engine/dataset-images';
import { decode, PixelFile } from '@platform/trainer-engine/images';
import type { PreparedImages } from '@platform/trainer-engine/split-with-copies';
import type { Training } from '@platform/trainer-engine/training';
import { requireEnough } from '@platform/trainer-engine/label-minimum';
import { labelExamples, labelMinimum } from './dataset.ts';
import type { Example } from './dataset.ts';
import type { Recipe } from './recipe.ts';
import { splitImages } from './split.ts';
import type { Sample } from './split.ts';

export interface PreparedDataset extends PreparedImages<Sample> {
  /** @param into - buffer to fill and return. */
  pixels(sample: Sample, into?: Uint8Array<ArrayBuffer>): Uint8Array;
  close(): void;
}

/** @throws PlatformError when the images are not enough to train on. */
export async function prepare(
  training: Training,
  recipe: Recipe,
  tmp: string,
  progress: { found(examples: readonly Example[]): void; decoded(share: number): void; compared(share: number): void },
): Promise<PreparedDataset> {
  const { job, datasetFile, events, signal, threads } = training;
  const found = labelExamples(await readLines(datasetFile), job.labels);
  progress.found(found.examples);
  const warn = (code: string, message: string): void => events.emit({ is: 'warning', code, message });
  for (const { line, reason } of found.warnings.slice(0, 100)) {
    warn('INVALID_ARGUMENT', `${line.file_name || line.image_path} ${reason}.`);
  }
  const file = new PixelFile(path.join(tmp, 'images.rgb'), recipe.side);
  const close = (): void => file.close();
  try {
    const { samples, skipped, edge } = await decodeImages(
      found.examples,
      path.dirname(datasetFile),
      async (source, index) => file.write(index, await decode(source, recipe.side)),
      { width: threads, signal, onDone: (share) => progress.decoded(share) },
    );
    reportSkipped(skipped, warn);
    requireReadable(samples.length, skipped);
    requireEnough(labelMinimum, found.labels, found.examples, samples);
    const { labels } = found;
    const pixels = ({ index }: Sample, into?: Uint8Array<ArrayBuffer>): Uint8Array => file.read(index, into);
    const images = { samples, labels, side: recipe.side, pixels };
    const split = await splitImages(training, images, (share) => progress.compared(share));
    return { labels, ...split, skipped, edge, pixels, close };
  } catch (e) {
    close();
    throw e;
  }
}
