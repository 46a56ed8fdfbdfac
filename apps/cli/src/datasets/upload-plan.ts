import path from 'node:path';
import type { Box } from '@platform/client';
import type { Split } from '@platform/contract/job';
import { counted, printable } from '../output.ts';
import { type Annotated, splitOf } from './annotated.ts';

/** A file below the selected folder. */
export interface FoundFile {
  /** Relative path, with slashes. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly isLink?: boolean;
}
export interface PlannedImage {
  readonly path: string;
  readonly fileName: string;
  readonly sizeBytes: number;
  /** Without the dot. */
  readonly extension: string;
  readonly labels: readonly string[];
  readonly split: Split | undefined;
  readonly boxes: readonly Box[];
}
export interface UploadPlan {
  readonly images: readonly PlannedImage[];
  /** Number of images and boxes per label. */
  readonly counts: ReadonlyMap<string, { images: number; boxes: number }>;
  readonly refused: readonly { path: string; reason: string }[];
  /** Annotated images that the folder lacks. */
  readonly missing: readonly string[];
}

const kinds: Readonly<Record<string, string>> = { '.jpg': 'jpg', '.jpeg': 'jpg', '.png': 'png', '.webp': 'webp' };
/** The server's message limit is 64 MiB. */
const mostBytes = 60_000_000;

/** Tags on the wire. */
export const tagsOf = ({ labels, split }: Pick<PlannedImage, 'labels' | 'split'>): string[] =>
  split === undefined ? [...labels] : [...labels, `split:${split}`];

/**
 * Decides which files to send with which labels: those of --label, otherwise those of the annotations, otherwise the
 * name of the file's folder. The split comes from the annotations, otherwise from a parent folder: train, validation,
 * valid, val or test.
 */
export function uploadPlan(
  files: readonly FoundFile[],
  of: { labels?: readonly string[]; annotations?: ReadonlyMap<string, Annotated> } = {},
): UploadPlan {
  const images: PlannedImage[] = [];
  const refused: { path: string; reason: string }[] = [];
  const counts = new Map<string, { images: number; boxes: number }>();
  const count = (label: string, kind: 'images' | 'boxes'): void => {
    const sum = counts.get(label) ?? { images: 0, boxes: 0 };
    sum[kind]++;
    counts.set(label, sum);
  };
  const used = new Set<string>();
  const keyOf = keysOf(of.annotations);
  for (const file of files) {
    const extension = kinds[path.posix.extname(file.path).toLowerCase()];
    const reason = refusal(file, extension);
    if (extension === undefined || reason !== undefined) {
      if (reason !== '') refused.push({ path: file.path, reason: reason ?? '' });
      continue;
    }
    const key = keyOf(file.path);
    const annotated = key === undefined ? undefined : of.annotations?.get(key);
    if (key !== undefined) used.add(key);
    const folders = file.path.split('/').slice(0, -1);
    const split = annotated?.split ?? folders.map(splitOf).findLast((one) => one !== undefined);
    const folder = folders.findLast((name) => splitOf(name) === undefined);
    const own = annotated?.labels ?? (of.annotations || folder === undefined ? [] : [folder]);
    const labels = [...new Set(of.labels && of.labels.length > 0 ? of.labels : own)];
    const boxes = annotated?.boxes ?? [];
    for (const label of labels) count(label, 'images');
    for (const box of boxes) count(box.label, 'boxes');
    images.push({
      path: file.path,
      fileName: path.posix.basename(file.path),
      sizeBytes: file.sizeBytes,
      extension,
      labels,
      split,
      boxes,
    });
  }
  const missing = [...(of.annotations?.keys() ?? [])].filter((key) => !used.has(key));
  return { images, counts: new Map([...counts].toSorted(([a], [b]) => a.localeCompare(b))), refused, missing };
}

/** Why a file is skipped; '' for files to skip silently; undefined: it is sent. */
function refusal({ path: place, sizeBytes, isLink }: FoundFile, extension: string | undefined): string | undefined {
  if (isLink) return 'is a link';
  if (/\.(json|jsonl|txt|md|csv|xml|ya?ml)$/i.test(place)) return '';
  if (extension === undefined) return 'is not a JPEG, PNG or WebP file';
  if (sizeBytes === 0) return 'is empty';
  return sizeBytes > mostBytes ? 'is larger than 60 MB' : undefined;
}

const shorter = (place: string): string => (place.includes('/') ? place.slice(place.indexOf('/') + 1) : '');

/**
 * Matches annotations to files: by the path below the folder, by its suffix, or by the file name. The folder may also
 * be deeper than the start of their paths.
 */
function keysOf(annotations: ReadonlyMap<string, Annotated> | undefined): (place: string) => string | undefined {
  const byEnd = new Map<string, string | undefined>();
  for (const key of annotations?.keys() ?? [])
    for (let at = shorter(key); at !== ''; at = shorter(at)) byEnd.set(at, byEnd.has(at) ? undefined : key);
  return (place) => {
    for (let at = place; at !== ''; at = shorter(at)) if (annotations?.has(at)) return at;
    return byEnd.get(place);
  };
}

/** The plan as text for users: counts per label, skipped files. */
export function planLines({ images, counts, refused, missing }: UploadPlan): string[] {
  const labels = [...counts].map(([label, { images: n, boxes }]) =>
    [printable(label), n > 0 ? String(n) : '', boxes > 0 ? counted(boxes, 'box', 'boxes') : '']
      .filter(Boolean)
      .join(' '),
  );
  const without = images.filter((one) => one.boxes.length === 0 && one.labels.length === 0);
  const few = (names: readonly string[]): string =>
    `${names.slice(0, 5).map(printable).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''}`;
  return [
    `${counted(images.length, 'image')}${labels.length > 0 ? `: ${labels.join(', ')}` : ''}.`,
    without.length > 0 && counts.size > 0 ? `${without.length} of them without a label.` : '',
    refused.length > 0 ? `Left out: ${few(refused.map((one) => `${one.path} (${one.reason})`))}.` : '',
    missing.length > 0 ? `Annotated, but not in the folder: ${few(missing)}.` : '',
  ].filter((line) => line !== '');
}
