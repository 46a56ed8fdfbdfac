import type { Box } from '@platform/client';
import type { Split } from '@platform/contract/job';
import { PlatformError } from '@platform/contract/errors';

/** What is known about an image from a file of annotations. */
export interface Annotated {
  readonly labels: readonly string[];
  readonly boxes: readonly Box[];
  readonly split?: Split | undefined;
}

/** What a reader changed or left out; each is said before anything is sent. */
export interface ReadNotes {
  /** Boxes cut at the edge of their image. */
  clipped: number;
  /** Boxes left out: most of them lies outside of their image, or they have no area. */
  outside: number;
  /** Outlines of which only the box around them is kept. */
  outlines: number;
  /** Image entries that name an image twice; their boxes are put together. */
  repeated: number;
}
export const noNotes = (): ReadNotes => ({ clipped: 0, outside: 0, outlines: 0, repeated: 0 });

/** A folder as readers see it: they name files by their path below it, and reach no others. */
export interface Folder {
  /** With slashes. */
  readonly paths: readonly string[];
  readonly read: (path: string) => Promise<string>;
  /** Of an image, upright. */
  readonly sizeOf: (path: string) => Promise<{ width: number; height: number }>;
}

/** What a reader found, by the path of the image below the folder. */
export interface Found {
  /** As people call it, with the file that says so: `YOLO (data.yaml)`. */
  readonly format: string;
  readonly annotations: ReadonlyMap<string, Annotated>;
  /** Annotated, but not in the folder. */
  readonly missing: readonly string[];
  readonly notes: ReadNotes;
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
/** The part of the data that a folder or a file of this name holds. */
export const splitOf = (name: string): Split | undefined => {
  const key = name.toLowerCase();
  return Object.hasOwn(splitNames, key) ? splitNames[key] : undefined;
};

const isSplitTag = (label: string): Split | undefined =>
  label.startsWith('split:') ? splitOf(label.slice('split:'.length)) : undefined;

/** Files that `dataset export` wrote earlier have the split among the labels. */
export function withoutSplitTags(labels: readonly string[]): { labels: string[]; split: Split | undefined } {
  return {
    labels: labels.filter((label) => isSplitTag(label) === undefined),
    split: labels.map(isSplitTag).find((split) => split !== undefined),
  };
}

/** Of a box, that part must lie inside of its image: less is a mistake of units or of the image. */
const minInside = 0.2;
/** What rounding to six digits does is no cut. */
const rounding = 0.001;

const inside = (value: number): number => Math.min(1, Math.max(0, value));

/** The box cut at the edges of its image; undefined: it has no area there. Counted in `notes`. */
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
/** Forward slashes, without a start that leads nowhere or up. */
export const plainPath = (path: string): string =>
  path
    .replaceAll('\\', '/')
    .replace(/^[A-Za-z]:\//, '/')
    .split('/')
    .filter((part) => part !== '' && part !== '.' && part !== '..')
    .join('/');

/** Finds the file that a path means which was written elsewhere: by its end, the longest one that fits one file alone. */
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
