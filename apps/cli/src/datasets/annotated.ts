import type { Box } from '@platform/client';
import type { Split } from '@platform/contract/job';
import { PlatformError } from '@platform/contract/errors';

/** Annotations of an image from an annotation file. */
export interface Annotated {
  readonly labels: readonly string[];
  readonly boxes: readonly Box[];
  readonly split?: Split | undefined;
}

/** What a reader changed or skipped; printed before the upload. */
export interface ReadNotes {
  /** Boxes clipped at the edge of their image. */
  clipped: number;
  /** Skipped boxes: mostly outside their image, or without an area. */
  outside: number;
  /** Outlines replaced by their bounding box. */
  outlines: number;
  /** Entries that name an image again; their boxes are merged. */
  repeated: number;
}
export const noNotes = (): ReadNotes => ({ clipped: 0, outside: 0, outlines: 0, repeated: 0 });

/** A folder as readers see it: files by their path below it, and no others. */
export interface Folder {
  /** With slashes. */
  readonly paths: readonly string[];
  readonly read: (path: string) => Promise<string>;
  /** Size of an image, upright. */
  readonly sizeOf: (path: string) => Promise<{ width: number; height: number }>;
}

/** A reader's result, by the path of the image below the folder. */
export interface Found {
  /** Name of the format with its identifying file: `YOLO (data.yaml)`. */
  readonly format: string;
  readonly annotations: ReadonlyMap<string, Annotated>;
  /** Annotated images that the folder lacks. */
  readonly missing: readonly string[];
  readonly notes: ReadNotes;
}

/** Adds boxes of an image. If the image was named before, its boxes are merged and counted in `notes`. */
export function addBoxes(
  annotations: Map<string, Annotated>,
  image: string,
  { boxes, split }: { boxes: readonly Box[]; split: Split | undefined },
  notes: ReadNotes,
): void {
  const before = annotations.get(image);
  if (before) notes.repeated++;
  annotations.set(image, {
    labels: [],
    boxes: [...(before?.boxes ?? []), ...boxes],
    split: split ?? before?.split,
  });
}

export const refused = (file: string, problem: string, line?: number): PlatformError =>
  new PlatformError('INVALID_ARGUMENT', { field: line === undefined ? file : `${file}:${line}`, limit: problem });

const splitNames: Readonly<Record<string, Split>> = {
  train: 'train',
  training: 'train',
  val: 'validation',
  valid: 'validation',
  validation: 'validation',
  test: 'test',
  testing: 'test',
};
/** The split that a folder or file name stands for. */
export const splitOf = (name: string): Split | undefined => {
  const key = name.toLowerCase();
  return Object.hasOwn(splitNames, key) ? splitNames[key] : undefined;
};

const isSplitTag = (label: string): Split | undefined =>
  label.startsWith('split:') ? splitOf(label.slice('split:'.length)) : undefined;

/** Earlier versions of `dataset export` stored the split as a label. */
export function withoutSplitTags(labels: readonly string[]): { labels: string[]; split: Split | undefined } {
  return {
    labels: labels.filter((label) => isSplitTag(label) === undefined),
    split: labels.map(isSplitTag).find((split) => split !== undefined),
  };
}

/** Minimum share of a box inside its image: less suggests wrong units or the wrong image. */
const minInside = 0.2;
/** Tolerance for rounding to six digits. */
const rounding = 0.001;

const inside = (value: number): number => Math.min(1, Math.max(0, value));

/** Clips the box to its image; undefined if no area remains. Counts in `notes`. */
export function boxInside(box: Box, notes: ReadNotes): Box | undefined {
  const cut = {
    label: box.label,
    xMin: inside(box.xMin),
    yMin: inside(box.yMin),
    xMax: inside(box.xMax),
    yMax: inside(box.yMax),
  };
  const area = (box.xMax - box.xMin) * (box.yMax - box.yMin);
  const left = (cut.xMax - cut.xMin) * (cut.yMax - cut.yMin);
  if (!(cut.xMin < cut.xMax && cut.yMin < cut.yMax && left >= area * minInside)) {
    notes.outside++;
    return undefined;
  }
  const moved = Math.max(cut.xMin - box.xMin, cut.yMin - box.yMin, box.xMax - cut.xMax, box.yMax - cut.yMax);
  if (moved > rounding) notes.clipped++;
  return cut;
}

export const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
export const folderName = (path: string): string => (path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '');
export const withoutExtension = (path: string): string => path.replace(/\.[^./]*$/, '');
export const isImage = (path: string): boolean => /\.(jpe?g|png|webp)$/i.test(path);
/** The path with forward slashes, without a drive, a root or dot segments. */
export const plainPath = (path: string): string =>
  path
    .replaceAll('\\', '/')
    .replace(/^[A-Za-z]:\//, '/')
    .split('/')
    .filter((part) => part !== '' && part !== '.' && part !== '..')
    .join('/');

/** Finds the file for a path from another host: by the longest suffix that matches exactly one file. */
export function pathFinder(paths: readonly string[]): (written: string) => string | undefined {
  const byEnd = new Map<string, string | undefined>();
  const known = new Set(paths);
  for (const path of paths)
    for (let end = path; end !== ''; end = shorter(end))
      byEnd.set(end, byEnd.has(end) && !known.has(end) ? undefined : path);
  return (written) => {
    for (let end = plainPath(written); end !== ''; end = shorter(end)) {
      if (known.has(end)) return end;
      if (byEnd.has(end)) return byEnd.get(end);
    }
    return undefined;
  };
}
const shorter = (path: string): string => (path.includes('/') ? path.slice(path.indexOf('/') + 1) : '');
