import sax from 'sax';
import type { Box } from '@platform/client';
import type { Split } from '@platform/contract/job';
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
  type ReadNotes,
  refused,
  splitOf,
  withoutExtension,
} from '../annotated.ts';

/** One annotation file, coordinates in pixels. */
interface VocFile {
  readonly fileName: string;
  readonly width: number;
  readonly height: number;
  readonly objects: readonly VocObject[];
}
type VocObject = Record<'name' | 'xmin' | 'ymin' | 'xmax' | 'ymax', string>;

const maxDepth = 32;
const objectPaths: Readonly<Record<string, keyof VocObject>> = {
  'annotation/object/name': 'name',
  'annotation/object/bndbox/xmin': 'xmin',
  'annotation/object/bndbox/ymin': 'ymin',
  'annotation/object/bndbox/xmax': 'xmax',
  'annotation/object/bndbox/ymax': 'ymax',
};

/**
 * Parses the XML of one image. Ignores the boxes of object parts.
 *
 * @throws PlatformError INVALID_ARGUMENT: broken XML, a document type (its entities could grow without limit), or
 *   no annotation.
 */
function parseVoc(file: string, text: string): VocFile {
  const parser = sax.parser(true, { trim: true });
  const path: string[] = [];
  const texts = new Map<string, string>();
  const objects: VocObject[] = [];
  const ontext = (value: string): void => {
    const place = path.join('/');
    const key = objectPaths[place];
    const last = objects.at(-1);
    if (key !== undefined && last) last[key] += value;
    else texts.set(place, value);
  };
  Object.assign(parser, {
    ontext,
    oncdata: ontext,
    onerror: (error: Error) => {
      throw refused(file, `it is not XML: ${error.message.split('\n')[0] ?? ''}`);
    },
    ondoctype: () => {
      throw refused(file, 'a document type (<!DOCTYPE …>) is not read');
    },
    onopentag: ({ name }: { name: string }) => {
      path.push(name);
      if (path.length > maxDepth) throw refused(file, `elements must lie at most ${maxDepth} deep`);
      if (path.length === 1 && name !== 'annotation') throw refused(file, 'its first element must be annotation');
      if (path.join('/') === 'annotation/object') objects.push({ name: '', xmin: '', ymin: '', xmax: '', ymax: '' });
    },
    onclosetag: () => path.pop(),
  });
  parser.write(text).close();
  const sizeOf = (key: string): number => Number(texts.get(`annotation/size/${key}`) ?? 0);
  return {
    fileName: texts.get('annotation/filename') ?? '',
    width: sizeOf('width'),
    height: sizeOf('height'),
    objects,
  };
}

/** Reads a folder with Annotations/, JPEGImages/ and ImageSets/, or with the XML beside each image. */
export async function readVoc(folder: Folder, files: readonly string[]): Promise<Found> {
  const notes = noNotes();
  const annotations = new Map<string, Annotated>();
  const missing: string[] = [];
  const images = Map.groupBy(folder.paths.filter(isImage), (path) => baseName(withoutExtension(path)));
  const splits = await imageSets(folder);
  for (const file of files) {
    const stem = baseName(withoutExtension(file));
    const voc = parseVoc(file, await folder.read(file));
    const image = imageFor(images.get(stem) ?? images.get(withoutExtension(baseName(voc.fileName))) ?? [], file);
    if (image === undefined) {
      missing.push(voc.fileName || file);
      continue;
    }
    const size = voc.width > 0 && voc.height > 0 ? voc : await folder.sizeOf(image);
    addBoxes(annotations, image, { boxes: boxesOf(file, voc.objects, size, notes), split: splits.get(stem) }, notes);
  }
  return { format: `Pascal VOC (${files.length} XML files)`, annotations, missing, notes };
}

/**
 * Chooses among images with the XML file's name: the one beside it, otherwise the only one, otherwise the one in the
 * neighbouring folder.
 */
function imageFor(named: readonly string[], file: string): string | undefined {
  const root = folderName(file);
  const beside = named.find((path) => folderName(path) === root);
  if (beside !== undefined || named.length < 2) return beside ?? named[0];
  const near = named.filter((path) => folderName(folderName(path)) === folderName(root));
  return near.length === 1 ? near[0] : undefined;
}

/** Names of images by split, from ImageSets/Main/train.txt, val.txt and test.txt. */
async function imageSets(folder: Folder): Promise<Map<string, Split>> {
  const found = new Map<string, Split>();
  for (const path of folder.paths) {
    const split = /(^|\/)ImageSets\/Main\/[^/]+\.txt$/.test(path)
      ? splitOf(baseName(withoutExtension(path)))
      : undefined;
    if (!split) continue;
    for (const line of (await folder.read(path)).split(/\r?\n/)) {
      const [stem = ''] = line.trim().split(/\s+/);
      if (stem !== '') found.set(stem, split);
    }
  }
  return found;
}

function boxesOf(
  file: string,
  objects: readonly VocObject[],
  { width, height }: { width: number; height: number },
  notes: ReadNotes,
): Box[] {
  return objects.flatMap(({ name, xmin, ymin, xmax, ymax }, at) => {
    const edges = [xmin, ymin, xmax, ymax].map((text) => (text === '' ? Number.NaN : Number(text)));
    const [left = 0, top = 0, right = 0, bottom = 0] = edges;
    if (name === '' || edges.some((edge) => !Number.isFinite(edge)))
      throw refused(file, `object ${at + 1} needs a name and a bndbox with numbers xmin, ymin, xmax, ymax`);
    const box = { label: name, xMin: left / width, yMin: top / height, xMax: right / width, yMax: bottom / height };
    return boxInside(box, notes) ?? [];
  });
}
