import type { Split } from '@platform/contract/job/job';
import type { Box } from '../boxes.ts';

/** An image to export. */
export interface ExportedImage {
  /** Unique name, also without the extension. */
  readonly file: string;
  readonly labels: readonly string[];
  readonly split: Split | undefined;
  readonly boxes: readonly (Box & { readonly confidence?: number | undefined })[];
  /** Size in pixels, upright. */
  readonly width: number;
  readonly height: number;
}
/** What decides where an image lies. */
export type PlacedImage = Pick<ExportedImage, 'file' | 'labels' | 'split'>;

/** File layout of a format. */
export interface Layout {
  /** Paths of each image below the folder, by its name; several if it has several labels. */
  readonly placesOf: (images: readonly PlacedImage[]) => ReadonlyMap<string, readonly string[]>;
  /** Annotation files, by path. */
  readonly textsOf: (images: readonly ExportedImage[]) => ReadonlyMap<string, string>;
  /** What the format cannot store. Some store labels of whole images, too, but not in a file with boxes. */
  readonly omits: 'labels' | 'boxes' | 'labels beside boxes' | 'nothing';
}

export const haveBoxes = (images: readonly Pick<ExportedImage, 'boxes'>[]): boolean =>
  images.some(({ boxes }) => boxes.length > 0);

/** How many labels and boxes an export in this layout leaves out. */
export function omitted(
  { omits }: Pick<Layout, 'omits'>,
  images: readonly Pick<ExportedImage, 'labels' | 'boxes'>[],
): { labels: number; boxes: number } {
  const sum = (of: 'labels' | 'boxes'): number => images.reduce((total, image) => total + image[of].length, 0);
  const isWithoutLabels = omits === 'labels' || (omits === 'labels beside boxes' && haveBoxes(images));
  return { labels: isWithoutLabels ? sum('labels') : 0, boxes: omits === 'boxes' ? sum('boxes') : 0 };
}

export const join = (...parts: readonly string[]): string => parts.filter((part) => part !== '').join('/');

/** Each image in one place. */
export const inPlaces =
  (placeOf: (image: PlacedImage) => string): Layout['placesOf'] =>
  (images) =>
    new Map(images.map((image) => [image.file, [placeOf(image)]]));

const splitFolders = { train: 'train', validation: 'valid', test: 'test' } as const;
/** A folder per split; images without one lie at the top. */
export const inSplitFolder = ({ file, split }: PlacedImage): string => join(split ? splitFolders[split] : '', file);

/** Texts of a file per split, which lies beside its images. */
export const textPerSplit = (
  name: string,
  images: readonly ExportedImage[],
  textOf: (images: readonly ExportedImage[]) => string,
): Map<string, string> =>
  new Map(
    [...Map.groupBy(images, ({ split }) => split)].map(([split, own]) => [
      inSplitFolder({ file: name, labels: [], split }),
      textOf(own),
    ]),
  );

export const labelsOfBoxes = (images: readonly ExportedImage[]): string[] =>
  [...new Set(images.flatMap(({ boxes }) => boxes.map(({ label }) => label)))].toSorted();

/** Edges of a box in pixels. */
export const edgesOf = (box: Box, { width, height }: Pick<ExportedImage, 'width' | 'height'>) => ({
  left: box.xMin * width,
  top: box.yMin * height,
  right: box.xMax * width,
  bottom: box.yMax * height,
});

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
export const escapedXml = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => escapes[character] ?? character);
