import { longestLabel, nameProblem } from '@platform/contract/text/names';
import type { Split } from '@platform/contract/job/job';
import { type Annotation, type Box, boxOrLeftOut, type Frame, frameOf } from './boxes.ts';
import { heldOut } from './equal-files.ts';
import { fileFinder, type FindFile, plainPath } from './file-names.ts';
import type { ImageHeader } from './image-header.ts';
import { plainLabel } from '@platform/contract/job/alike-labels';
import type { LedgerWriter } from './ledger.ts';
import type { SortedFiles } from './image-files.ts';

/** Annotations of an image. */
export interface Annotated {
  readonly labels: readonly string[];
  readonly boxes: readonly Box[];
  readonly split: Split | undefined;
}

/** What a file says of one image. */
export interface ImageEntry {
  /** The file of annotations. */
  readonly file: string;
  /** Path in the folder, from `imageFor`. */
  readonly image: string;
  /** Size that the file states; undefined if it states none. */
  readonly declared?: { readonly width: number; readonly height: number } | undefined;
  /** For coordinates in units other than pixels: percent, shares. */
  readonly unit?: number | undefined;
  readonly split?: Split | undefined;
}

export interface Collector {
  /** The image of a path that a file names. If the folder lacks it, its annotations are counted as left out. */
  readonly imageFor: (
    written: string,
    of: { readonly file: string; readonly count: number; readonly among?: readonly ((path: string) => boolean)[] },
  ) => string | undefined;
  /** Starts with the entry of an image; what it returns adds boxes and labels. */
  readonly open: (entry: ImageEntry) => {
    readonly box: (where: string, annotation: Annotation) => void;
    readonly label: (where: string, label: string) => void;
  };
  readonly result: () => ReadonlyMap<string, Annotated>;
}

interface Growing {
  readonly labels: Set<string>;
  readonly boxes: Box[];
  /** The boxes as texts: an image may have 100,000. */
  readonly known: Set<string>;
  split: Split | undefined;
}

const keyOf = ({ label, xMin, yMin, xMax, yMax }: Box): string => `${xMin} ${yMin} ${xMax} ${yMax} ${label}`;

/** Label Studio prefixes an uploaded file with eight hexadecimal digits. */
const withoutUploadPrefix = (name: string): string => name.replace(/(^|\/)[0-9a-f]{8}-(?=[^/]+$)/, '$1');

export function openCollector(
  { headers, unusable }: Pick<SortedFiles, 'headers' | 'unusable'>,
  ledger: LedgerWriter,
  withoutOutlines: boolean,
): Collector {
  const found = new Map<string, Growing>();
  const find = fileFinder([...headers.keys()]);
  const writtenAs = new Map<string, string>();
  const elsewhere = new Map<string, string>();
  const findUnusable = fileFinder(unusable);
  return {
    imageFor: (written, { file, count, among = [] }) => {
      const image = firstFit(find, written, among) ?? firstFit(find, withoutUploadPrefix(written), among);
      if (image !== undefined) {
        const [name, other] = [nameKey(written), writtenAs.get(image) ?? nameKey(written)];
        if (isSuffix(name, other) || isSuffix(other, name)) {
          writtenAs.set(image, other.length < name.length ? name : other);
          if (isRelative(written) && !isNamedLike(name, image)) elsewhere.set(name, image);
          return image;
        }
        ledger.invalid(file, written, `two images are meant by ${image}: ${other} and ${name}`);
        return undefined;
      }
      if (findUnusable(written) === undefined) ledger.missing(written, file, count);
      else for (let i = 0; i < count; i++) ledger.leftOut(file, written, 'the image is left out');
      return undefined;
    },
    open: ({ file, image, declared, unit, split }) => {
      const header = headers.get(image);
      if (!header) throw new Error(`${image} is not an image of the folder`);
      const own = found.get(image) ?? { labels: new Set(), boxes: [], known: new Set(), split: undefined };
      found.set(image, own);
      if (own.split !== undefined && split !== undefined && own.split !== split)
        ledger.warn('Images that are named in two splits are held out', `${image}: ${own.split} and ${split}`);
      own.split = heldOut(own.split, split);
      const frame = frameIn(header, { declared, unit }, (warning, example) =>
        ledger.warn(warning, `${image}${example}`),
      );
      return adder({ own, file, frame, withoutOutlines }, ledger);
    },
    result: () => {
      for (const [name, image] of elsewhere)
        ledger.warn('Images lie in another folder than the annotations say', `${name} in ${image}`);
      return new Map(
        [...found].map(([image, { labels, boxes, split }]) => [image, { labels: [...labels], boxes, split }]),
      );
    },
  };
}

const nameKey = (written: string): string => plainPath(written).normalize('NFC');
/** The folders of a URL, or of a path on another computer, need not be those of this folder. */
const isRelative = (written: string): boolean => !/^([a-z0-9]+:|[\\/]|\.\.)/i.test(written);
const isSuffix = (end: string, path: string): boolean => path === end || path.endsWith(`/${end}`);

/** Whether the folders agree as far as both have some. */
function isNamedLike(name: string, image: string): boolean {
  const [written, found] = [name, image.normalize('NFC')].map((path) => path.split('/').slice(0, -1).toReversed());
  return (written ?? []).every((part, at) => found?.[at] === undefined || found[at] === part);
}

function firstFit(find: FindFile, written: string, among: readonly ((path: string) => boolean)[]): string | undefined {
  for (const one of [...among.slice(0, 1), () => true, ...among.slice(1)]) {
    const path = find(written, one);
    if (path !== undefined) return path;
  }
  return undefined;
}

function frameIn(
  header: ImageHeader,
  { declared, unit }: Pick<ImageEntry, 'declared' | 'unit'>,
  warn: (warning: string, example: string) => void,
): Frame {
  const known = declared && declared.width > 0 && declared.height > 0 ? declared : undefined;
  if (unit === undefined) return frameOf(known, header, warn);
  const { orientation } = known ? frameOf(known, header, warn) : { orientation: 1 };
  return { width: unit, height: unit, orientation };
}

interface Target {
  readonly own: Growing;
  readonly file: string;
  readonly frame: Frame;
  readonly withoutOutlines: boolean;
}
function adder({ own, file, frame, withoutOutlines }: Target, ledger: LedgerWriter): ReturnType<Collector['open']> {
  const usable = (where: string, label: string): string | undefined => {
    const plain = plainLabel(label);
    const problem = nameProblem(plain, longestLabel);
    if (problem !== undefined) ledger.invalid(file, where, `label ${JSON.stringify(label)}: ${problem}`);
    return problem === undefined ? plain : undefined;
  };
  const renamed = (label: string, plain: string) => (label === plain ? [] : (['label trimmed or normalized'] as const));
  return {
    label: (where, label) => {
      const plain = usable(where, label);
      if (plain === undefined) return;
      own.labels.add(plain);
      ledger.used(file, where, renamed(label, plain));
    },
    box: (where, annotation) => {
      const plain = usable(where, annotation.label);
      if (plain === undefined) return;
      if (withoutOutlines && annotation.shape.kind === 'outline')
        return ledger.leftOut(file, where, 'outline, left out as chosen');
      const outcome = boxOrLeftOut({ ...annotation, label: plain }, frame);
      if ('leftOut' in outcome) return ledger.leftOut(file, where, outcome.leftOut);
      const key = keyOf(outcome.box);
      const isRepeated = own.known.has(key);
      own.known.add(key);
      if (!isRepeated) own.boxes.push(outcome.box);
      ledger.used(file, where, [
        ...outcome.changes,
        ...renamed(annotation.label, plain),
        ...(isRepeated ? (['the same box twice'] as const) : []),
      ]);
    },
  };
}
