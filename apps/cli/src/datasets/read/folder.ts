import { type Annotated, baseName, type Folder, type Found, noNotes, refused } from '../annotated.ts';
import { readAnnotations } from '../annotations.ts';
import { looksLikeCoco, readCoco } from './coco.ts';
import { readVoc } from './voc.ts';
import { readYolo, yoloClassFile } from './yolo.ts';

export const importFormats = ['auto', 'folders', 'jsonl', 'coco', 'yolo', 'voc'] as const;
export type ImportFormat = (typeof importFormats)[number];

/** How each format is recognized. */
const signs: Readonly<Record<Exclude<ImportFormat, 'auto' | 'folders'>, string>> = {
  jsonl: 'a file dataset.jsonl',
  coco: 'a JSON file with images, annotations and categories',
  yolo: 'a YAML file with names, or labels/ with classes.txt',
  voc: 'XML files with annotation as their first element',
};

/**
 * Reads labels, boxes and splits of an image folder; its files determine the format.
 *
 * @returns undefined: its folders name the labels.
 * @throws PlatformError INVALID_ARGUMENT with file and line.
 */
export async function readFolder(folder: Folder, format: ImportFormat = 'auto'): Promise<Found | undefined> {
  if (format === 'folders') return undefined;
  for (const [name, read] of Object.entries(readers)) {
    if (format !== 'auto' && format !== name) continue;
    const found = await read(folder);
    if (found) return found;
  }
  if (format === 'auto') return undefined;
  throw refused('--format', `${format}: the folder needs ${signs[format]}`);
}

const readers: Readonly<Record<keyof typeof signs, (folder: Folder) => Promise<Found | undefined>>> = {
  jsonl: async (folder) => {
    const file = folder.paths.find((path) => path === 'dataset.jsonl');
    if (file === undefined) return undefined;
    const annotations: Map<string, Annotated> = readAnnotations(file, await folder.read(file));
    // The upload plan compares the paths and finds missing images.
    return { format: 'dataset.jsonl', annotations, missing: [], notes: noNotes() };
  },
  coco: async (folder) => {
    const files = await cocoFiles(folder);
    return files.length > 0 ? readCoco(folder, files) : undefined;
  },
  voc: async (folder) => {
    const files = folder.paths.filter((path) => path.toLowerCase().endsWith('.xml'));
    const [first] = files;
    const isVoc = first !== undefined && /<annotation[\s>]/.test(await folder.read(first));
    return isVoc ? readVoc(folder, files) : undefined;
  },
  yolo: async (folder) => {
    const file = await yoloClassFile(folder);
    return file === undefined ? undefined : readYolo(folder, file);
  },
};

/** Selects the files with boxes: COCO datasets also contain files with captions and key points. */
async function cocoFiles(folder: Folder): Promise<readonly string[]> {
  const all = folder.paths.filter((path) => path.endsWith('.json') && !path.startsWith('metadata/'));
  const roboflow = all.filter((path) => baseName(path) === '_annotations.coco.json');
  if (roboflow.length > 0) return roboflow;
  const instances = all.filter((path) => baseName(path).startsWith('instances'));
  if (instances.length > 0) return instances;
  const found: string[] = [];
  for (const path of all) {
    const text = await folder.read(path);
    if (looksLikeCoco(text) && /"images"\s*:/.test(text) && /"categories"\s*:/.test(text)) found.push(path);
  }
  return found;
}
