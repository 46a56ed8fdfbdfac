import { type Split, splits } from '@platform/contract/job/job';
import type { LedgerWriter } from './ledger.ts';
import type { PlannedImage } from './planned-images.ts';
import type { Source } from './source.ts';

/** The split that keeps a test image out of the training where two disagree. */
export const heldOut = (a: Split | undefined, b: Split | undefined): Split | undefined =>
  splits.findLast((split) => split === a || split === b);

/** Enough to tell nearly all images of one size apart. */
const startBytes = 4_096;

/** Gives equal files one split, the held-out one. Reads files whole only if others begin with the same bytes. */
export async function holdOutEqualFiles(
  images: readonly PlannedImage[],
  source: Pick<Source, 'read' | 'readStart'>,
  ledger: Pick<LedgerWriter, 'warn'>,
): Promise<PlannedImage[]> {
  const chosen = new Map<string, Split | undefined>();
  for (const sized of divided(Map.groupBy(images, ({ sizeBytes }) => sizeBytes))) {
    const byStart = new Map<string, PlannedImage[]>();
    for (const image of sized) {
      const start = textOf(await source.readStart(image.path, startBytes));
      byStart.set(start, [...(byStart.get(start) ?? []), image]);
    }
    for (const alike of divided(byStart)) {
      const byContent = new Map<string, PlannedImage[]>();
      for (const image of alike) {
        const content = textOf(await source.read(image.path));
        byContent.set(content, [...(byContent.get(content) ?? []), image]);
      }
      for (const equal of divided(byContent)) {
        const split = equal.map((one) => one.split).reduce(heldOut);
        for (const { path } of equal) chosen.set(path, split);
        const named = equal.flatMap((one) => (one.split === undefined ? [] : [`${one.path} in ${one.split}`]));
        if (new Set(equal.flatMap((one) => one.split ?? [])).size > 1)
          ledger.warn('Equal files in several splits are held out', named.join(', '));
      }
    }
  }
  return images.map((image) => (chosen.has(image.path) ? { ...image, split: chosen.get(image.path) } : image));
}

/** The groups whose images are in several splits. */
const divided = (groups: ReadonlyMap<unknown, PlannedImage[]>): PlannedImage[][] =>
  [...groups.values()].filter((group) => new Set(group.map(({ split }) => split)).size > 1);

/** A key of its own for each sequence of bytes. */
const textOf = (bytes: Uint8Array): string => {
  let text = '';
  for (let at = 0; at < bytes.length; at += startBytes)
    text += String.fromCharCode(...bytes.subarray(at, at + startBytes));
  return text;
};
