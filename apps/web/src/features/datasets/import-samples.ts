import type { PlannedImage } from '@platform/dataset-files/planned-images';

/** Images that show an import: with boxes if some have boxes, and of each label in turn. */
export function importSamples<T extends Pick<PlannedImage, 'labels' | 'boxes'>>(
  images: readonly T[],
  most: number,
): T[] {
  const boxed = images.filter(({ boxes }) => boxes.length > 0);
  const groups = [...Map.groupBy(boxed.length > 0 ? boxed : images, labelOf).values()];
  const samples: T[] = [];
  for (let round = 0; samples.length < most; round++) {
    const next = groups.flatMap((group) => group.slice(round, round + 1));
    if (next.length === 0) break;
    samples.push(...next.slice(0, most - samples.length));
  }
  return samples;
}

const labelOf = ({ labels, boxes }: Pick<PlannedImage, 'labels' | 'boxes'>): string =>
  labels[0] ?? boxes[0]?.label ?? '';
