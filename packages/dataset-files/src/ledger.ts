/** An account of everything that an import saw: each file, and each annotation that was not taken as it is. */

/** What a file is used as. `left out` is a loss, `not data` is none: hidden files, notes, files of other programs. */
export type FileUse = 'image' | 'annotations' | 'class names' | 'splits' | 'left out' | 'not data';

export interface FileEntry {
  readonly path: string;
  readonly use: FileUse;
  /** Why it is left out or no data; what was changed. */
  readonly reason?: string;
  /** What became of the annotations in it. */
  readonly annotations?: AnnotationCounts;
}

/** Why an annotation is left out. */
export type LeftOutReason =
  | 'crowd region'
  | 'mask without a box'
  | 'no area'
  | 'outside of the image'
  | 'neither box nor outline'
  | 'outline, left out as chosen'
  | 'another annotation of the same task is used'
  | 'canceled or skipped annotation'
  | 'the image is not in the folder'
  | 'the image is left out';
/** How an annotation is changed. */
export type ChangeReason =
  | 'cut at the edge of the image'
  | 'box around an outline'
  | 'box around a rotated box'
  | 'box around an ellipse'
  | 'swapped corners put in order'
  | 'turned upright with the image (EXIF)'
  | 'key points dropped, box kept'
  | 'label trimmed or normalized'
  | 'the same box twice';

export interface AnnotationEntry {
  readonly file: string;
  /** Place in the file: `annotation 77`, `line 3`, `object 2`. */
  readonly where: string;
  readonly outcome: 'changed' | 'left out' | 'invalid';
  readonly reason: string;
}

/** Counts of the annotations: boxes, and labels of whole images. */
export interface AnnotationCounts {
  readonly seen: number;
  readonly used: number;
  readonly changed: number;
  readonly leftOut: number;
  readonly invalid: number;
}

export interface Ledger {
  readonly files: readonly FileEntry[];
  readonly annotations: readonly AnnotationEntry[];
  readonly counts: AnnotationCounts;
  /** Images that annotations name and the folder lacks. */
  readonly missing: readonly string[];
  /** What deserves a look, without a loss: labels that look alike, sizes that differ. */
  readonly warnings: readonly string[];
}

/** What readers report to. */
export interface LedgerWriter {
  readonly file: (path: string, use: FileUse, reason?: string) => void;
  /** An annotation that is used; `changes` is empty if it is used as it is. */
  readonly used: (file: string, where: string, changes?: readonly ChangeReason[]) => void;
  readonly leftOut: (file: string, where: string, reason: LeftOutReason) => void;
  /** An annotation that cannot be understood, or a file of annotations that cannot be read. */
  readonly invalid: (file: string, where: string, problem: string) => void;
  readonly missing: (image: string, file: string, annotations: number) => void;
  /** Warnings of one kind become one line with the first examples. */
  readonly warn: (warning: string, example: string) => void;
  readonly useOf: (path: string) => FileUse | undefined;
  readonly read: () => Ledger;
}

type Counts = { -readonly [Key in keyof AnnotationCounts]: number };
const noCounts = (): Counts => ({ seen: 0, used: 0, changed: 0, leftOut: 0, invalid: 0 });

export function openLedger(): LedgerWriter {
  const files = new Map<string, FileEntry>();
  const annotations: AnnotationEntry[] = [];
  const missing = new Set<string>();
  const warnings = new Map<string, string[]>();
  const counts = noCounts();
  const byFile = new Map<string, Counts>();
  const count = (file: string, outcome: Exclude<keyof Counts, 'seen'>, number = 1): void => {
    const own = byFile.get(file) ?? noCounts();
    byFile.set(file, own);
    for (const sum of [counts, own]) {
      sum[outcome] += number;
      if (outcome !== 'changed') sum.seen += number;
    }
  };
  return {
    file: (path, use, reason) => void files.set(path, { path, use, ...(reason !== undefined && { reason }) }),
    used: (file, where, changes = []) => {
      count(file, 'used');
      if (changes.length > 0) count(file, 'changed');
      for (const reason of new Set(changes)) annotations.push({ file, where, outcome: 'changed', reason });
    },
    leftOut: (file, where, reason) => {
      count(file, 'leftOut');
      annotations.push({ file, where, outcome: 'left out', reason });
    },
    invalid: (file, where, reason) => {
      count(file, 'invalid');
      annotations.push({ file, where, outcome: 'invalid', reason });
    },
    missing: (image, file, number) => {
      missing.add(image);
      count(file, 'leftOut', number);
      const reason: LeftOutReason = 'the image is not in the folder';
      for (let i = 0; i < number; i++) annotations.push({ file, where: image, outcome: 'left out', reason });
    },
    warn: (warning, example) => {
      const examples = warnings.get(warning) ?? [];
      examples.push(example);
      warnings.set(warning, examples);
    },
    useOf: (path) => files.get(path)?.use,
    read: () => ({
      files: [...files.values()].map((file) => withCounts(file, byFile)).toSorted((a, b) => (a.path < b.path ? -1 : 1)),
      annotations,
      counts: { ...counts },
      missing: [...missing],
      warnings: [...warnings].map(([warning, examples]) => `${warning} (${fewOf([...new Set(examples)])})`),
    }),
  };
}

const mostExamples = 3;
const fewOf = (examples: readonly string[]): string =>
  examples.length <= mostExamples
    ? examples.join('; ')
    : `${examples.slice(0, mostExamples).join('; ')} and ${examples.length - mostExamples} more`;

function withCounts(file: FileEntry, byFile: ReadonlyMap<string, AnnotationCounts>): FileEntry {
  const annotations = file.use === 'annotations' ? byFile.get(file.path) : undefined;
  return annotations ? { ...file, annotations } : file;
}

/** A cell that no program takes for a formula. */
const cell = (text: string): string => `"${text.replace(/^[=+\-@\t\r]/, "'$&").replaceAll('"', '""')}"`;

/** The whole ledger as CSV: a row per file, and a row per annotation that is not used as it is. */
export function ledgerCsv({ files, annotations, missing }: Ledger): string {
  const rows = [
    ...files.map(({ path, use, reason = '', annotations: of }) => [
      path,
      '',
      use,
      reason,
      of ? `${of.used} of ${of.seen} annotations used, ${of.changed} of them changed` : '',
    ]),
    ...missing.map((image) => [image, '', 'left out', 'annotated, but not in the folder', '']),
    ...annotations.map(({ file, where, outcome, reason }) => [file, where, outcome, reason, '']),
  ];
  const lines = rows.map((row) => `${row.map(cell).join(',')}\n`);
  return `file,place,outcome,reason,annotations\n${lines.join('')}`;
}

/** Whether something that may have been meant was not taken. */
export const hasLoss = ({ files, counts, missing }: Ledger): boolean =>
  counts.leftOut > 0 || counts.invalid > 0 || missing.length > 0 || files.some(({ use }) => use === 'left out');
