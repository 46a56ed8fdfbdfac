import type { Box } from '@platform/client';
import type { Split } from '@platform/contract/job';
import { isObject, type Json } from '@platform/contract/json-object';
import {
  addBoxes,
  type Annotated,
  baseName,
  boxInside,
  folderName,
  type Folder,
  type Found,
  isImage,
  noNotes,
  plainPath,
  type ReadNotes,
  refused,
  splitOf,
} from '../annotated.ts';

const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isObject) : []);
const numberOf = (from: Json, key: string): number => (typeof from[key] === 'number' ? from[key] : Number.NaN);

/** Whether a text is COCO JSON with boxes. */
export const looksLikeCoco = (text: string): boolean => /^\s*\{[^]*"annotations"\s*:/.test(text);

export interface CocoImage {
  /** Path as in the file. */
  readonly place: string;
  readonly boxes: readonly Box[];
}

/**
 * The images of a COCO file with their boxes, in shares of the image size.
 *
 * @throws PlatformError INVALID_ARGUMENT with the file and the entry.
 */
export function cocoImages(file: string, text: string, notes: ReadNotes): CocoImage[] {
  const all = parse(text);
  if (!isObject(all)) throw refused(file, 'it is neither COCO JSON nor one JSON object per line');
  const names = new Map(list(all['categories']).map((one) => [one['id'], one['name']]));
  const byId = new Map<unknown, { place: string; width: number; height: number; boxes: Box[] }>();
  for (const image of list(all['images'])) {
    const place = image['file_name'];
    if (typeof place !== 'string' || place === '') throw refused(file, 'an image has no file_name');
    const width = numberOf(image, 'width');
    const height = numberOf(image, 'height');
    if (!(width > 0 && height > 0)) throw refused(file, `image ${place} has no width and height`);
    byId.set(image['id'], { place: plainPath(place), width, height, boxes: [] });
  }
  for (const one of list(all['annotations'])) {
    const image = byId.get(one['image_id']);
    const label = names.get(one['category_id']);
    const [x = Number.NaN, y = Number.NaN, w = Number.NaN, h = Number.NaN] = Array.isArray(one['bbox'])
      ? one['bbox'].map(Number)
      : [];
    if (!image || typeof label !== 'string' || !(w > 0 && h > 0) || !Number.isFinite(x + y + w + h)) {
      const id = String(one['id']);
      throw refused(file, `annotation ${id} needs image_id and category_id that exist, and a bbox with an area`);
    }
    const { width, height } = image;
    const box = { label, xMin: x / width, yMin: y / height, xMax: (x + w) / width, yMax: (y + h) / height };
    const cut = boxInside(box, notes);
    if (cut) image.boxes.push(cut);
  }
  return [...byId.values()];
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The split in a file name: `train` for `instances_train2017.json` and for `train/_annotations.coco.json`. */
function splitOfFile(file: string): Split | undefined {
  const words = baseName(file)
    .replace(/\.[^.]*$/, '')
    .split(/[^a-z]+/i);
  const own = words.map(splitOf).findLast((split) => split !== undefined);
  return (
    own ??
    folderName(file)
      .split('/')
      .map(splitOf)
      .findLast((split) => split !== undefined)
  );
}

/** Reads several COCO files of one folder: one per split, as in Roboflow's and COCO's datasets. */
export async function readCoco(folder: Folder, files: readonly string[]): Promise<Found> {
  const notes = noNotes();
  const annotations = new Map<string, Annotated>();
  const missing: string[] = [];
  const images = Map.groupBy(folder.paths.filter(isImage), baseName);
  for (const file of files) {
    const split = splitOfFile(file);
    for (const { place, boxes } of cocoImages(file, await folder.read(file), notes)) {
      const path = imageFor(images.get(baseName(place)) ?? [], place, file);
      if (path === undefined) missing.push(place);
      else addBoxes(annotations, path, { boxes, split }, notes);
    }
  }
  return { format: `COCO (${files.join(', ')})`, annotations, missing, notes };
}

/**
 * Chooses among images with that name: the one below the file's folder, otherwise the one whose folder name contains
 * the file's split.
 */
function imageFor(named: readonly string[], place: string, file: string): string | undefined {
  const fitting = named.filter((path) => path === place || path.endsWith(`/${place}`));
  const exact = [folderName(file), ''].map((root) => (root === '' ? place : `${root}/${place}`));
  const direct = exact.find((path) => fitting.includes(path));
  if (direct !== undefined || fitting.length < 2) return direct ?? fitting[0];
  const tail =
    baseName(file)
      .replace(/\.[^.]*$/, '')
      .split('_')
      .at(-1) ?? '';
  const split = splitOfFile(file);
  const isOfFile = (part: string): boolean => part === tail || (split !== undefined && splitOf(part) === split);
  const own = fitting.filter((path) => folderName(path).split('/').some(isOfFile));
  return own.length === 1 ? own[0] : undefined;
}
