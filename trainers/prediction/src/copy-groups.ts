/** Groups of images that are near copies of each other. */
import { CopyUnits } from '@platform/trainer-engine/keep-together';
import { mostCompared, NearCopyFinder } from '@platform/trainer-engine/near-copies';
import type { CopySource } from '@platform/trainer-engine/near-copies';
import { readEfficientnet } from '@platform/trainer-engine/pretrained/efficientnet';
import { ThumbnailIndex, thumbnailOf } from '@platform/trainer-engine/thumbnails';

interface Options {
  threads: number;
  signal: AbortSignal;
  onDone(share: number): void;
}

/** @param hashes - of the files; equal files are copies. @returns the group of each image that has copies, by image. */
export async function copyGroups(
  source: CopySource,
  hashes: readonly string[],
  options: Options,
): Promise<Map<number, number>> {
  const units = new CopyUnits(source.count);
  const firsts = new Map<string, number>();
  for (const [i, hash] of hashes.entries()) {
    const first = firsts.get(hash);
    if (first === undefined) firsts.set(hash, i);
    else units.joinCertain(first, i);
  }
  if (source.count > mostCompared) joinByThumbnails(source, units, options);
  else if (source.count > 1) await joinByFeatures(source, units, options);
  options.onDone(1);
  const unitOf = units.units();
  const sizes = Map.groupBy(unitOf.keys(), (i) => unitOf[i] ?? i);
  return new Map(
    [...sizes.values()].filter(({ length }) => length > 1).flatMap((images, group) => images.map((i) => [i, group])),
  );
}

async function joinByFeatures(source: CopySource, units: CopyUnits, options: Options): Promise<void> {
  const finder = await NearCopyFinder.open(readEfficientnet(), source, options);
  try {
    const all = [...Array(source.count).keys()];
    await finder.eachPair(all, all, (a, b) => units.joinCopies(a, b), options.signal);
  } finally {
    await finder.release();
  }
}

function joinByThumbnails(source: CopySource, units: CopyUnits, { signal, onDone }: Options): void {
  const known = new ThumbnailIndex<number>();
  for (let i = 0; i < source.count; i++) {
    signal.throwIfAborted();
    const thumbnail = thumbnailOf(source.pixels(i), source.side);
    const like = known.find(thumbnail);
    if (like === undefined) known.add(thumbnail, i);
    else units.joinCopies(like, i);
    if (i % 1000 === 0) onDone(i / source.count);
  }
}
