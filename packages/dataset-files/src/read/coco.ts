import type { Split } from '@platform/contract/job/job';
import { isObject, type Json } from '@platform/contract/text/json-object';
import type { Annotation, Shape } from '../boxes.ts';
import { baseName, folderName, plainPath, splitOf, splitOfFolders, withoutExtension } from '../file-names.ts';
import { jsonOf, numberIn, type ReadFiles, type ReadView, textIn } from './reader.ts';

const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** The split in a file name: `train` for `instances_train2017.json` and for `train/_annotations.coco.json`. */
function splitOfFile(file: string): Split | undefined {
  const words = withoutExtension(baseName(file)).split(/[^a-z]+/i);
  return words.map(splitOf).findLast((split) => split !== undefined) ?? splitOfFolders(file);
}

/**
 * Where the image of a file of annotations lies if several have its name: below the file's folder, otherwise in a
 * folder that is called like the file's split or the end of its name.
 */
function placesOf(file: string): ((path: string) => boolean)[] {
  const folder = folderName(file);
  const tail = withoutExtension(baseName(file)).split('_').at(-1) ?? '';
  const split = splitOfFile(file);
  const isOfFile = (part: string): boolean => part === tail || (split !== undefined && splitOf(part) === split);
  return [
    (path) => folder === '' || path.startsWith(`${folder}/`),
    (path) => folderName(path).split('/').some(isOfFile),
  ];
}

/** Reads the files of one folder: one per split, as in Roboflow's and COCO's datasets. */
export const readCoco: ReadFiles = async (view, files) => {
  for (const file of files) {
    const document = await jsonOf(view, file);
    if (isObject(document)) readDocument(view, file, document);
  }
};

function readDocument({ collector, ledger }: ReadView, file: string, document: Json): void {
  const names = categoriesOf(document, (problem) => ledger.invalid(file, 'categories', problem));
  const images = imagesOf(document, (where, problem) => ledger.invalid(file, where, problem));
  const own = new Map<string, [where: string, annotation: Annotation][]>([...images.keys()].map((id) => [id, []]));
  for (const [index, one] of list(document['annotations']).entries()) {
    const where = one['id'] === undefined ? `annotation at position ${index + 1}` : `annotation ${String(one['id'])}`;
    const label = names.get(String(one['category_id']));
    const shape = shapeOf(one);
    const bad = (problem: string): void => ledger.invalid(file, where, problem);
    const ofImage = own.get(String(one['image_id']));
    if (!ofImage) bad(`image_id ${String(one['image_id'])} is not the id of an image in "images"`);
    else if (label === undefined)
      bad(`category_id ${String(one['category_id'])} is not the id of one of the "categories"`);
    else if (shape === undefined) bad(`bbox ${JSON.stringify(one['bbox'])} is not [x, y, width, height] in numbers`);
    else ofImage.push([where, { label, shape }]);
  }
  const split = splitOfFile(file);
  const among = placesOf(file);
  for (const [id, { name, width, height }] of images) {
    const annotations = own.get(id) ?? [];
    const image = collector.imageFor(name, { file, count: annotations.length, among });
    if (image === undefined) continue;
    const entry = collector.open({ file, image, declared: { width, height }, split });
    for (const [where, annotation] of annotations) entry.box(where, annotation);
  }
}

function categoriesOf(document: Json, bad: (problem: string) => void): Map<string, string> {
  const names = new Map<string, string>();
  for (const one of list(document['categories'])) {
    const id = String(one['id']);
    const name = textIn(one['name']);
    const other = names.get(id);
    if (name === undefined) bad(`category ${id} has no name`);
    else if (other !== undefined && other !== name) bad(`id ${id} names two categories: ${other} and ${name}`);
    else names.set(id, name);
  }
  return names;
}

interface CocoImage {
  readonly name: string;
  readonly width: number;
  readonly height: number;
}
function imagesOf(document: Json, bad: (where: string, problem: string) => void): Map<string, CocoImage> {
  const images = new Map<string, CocoImage>();
  for (const one of list(document['images'])) {
    const id = String(one['id']);
    const name = textIn(one['file_name']) ?? textIn(one['path']) ?? textIn(one['coco_url']);
    const other = images.get(id);
    if (name === undefined) bad(`image ${id}`, 'it has no file_name');
    else if (other && plainPath(other.name) !== plainPath(name))
      bad(`image ${id}`, `two images have this id: ${other.name} and ${name}`);
    else images.set(id, { name, width: numberIn(one['width']), height: numberIn(one['height']) });
  }
  return images;
}

/** Undefined: it has a box that cannot be understood. */
function shapeOf(one: Json): Shape | undefined {
  if (numberIn(one['iscrowd'] === true ? 1 : one['iscrowd']) > 0) return { kind: 'left out', reason: 'crowd region' };
  const segmentation = one['segmentation'];
  const outline = outlineOf(segmentation);
  const bbox = one['bbox'];
  if (Array.isArray(bbox) && bbox.length > 0) {
    const [x = NaN, y = NaN, w = NaN, h = NaN] = bbox.map(numberIn);
    if (bbox.length !== 4 || ![x, y, w, h].every(Number.isFinite)) return undefined;
    if ((w !== 0 && h !== 0) || !outline) return { kind: 'box', edges: [x, y, x + w, y + h] };
  } else if (bbox !== undefined && bbox !== null && !Array.isArray(bbox)) return undefined;
  if (outline) return outline;
  const isMask = isObject(segmentation) && 'counts' in segmentation;
  return { kind: 'left out', reason: isMask ? 'mask without a box' : 'neither box nor outline' };
}

/** The outer corners of polygons: a file may have millions of points, and only these decide. */
function outlineOf(segmentation: unknown): Shape | undefined {
  if (!Array.isArray(segmentation)) return undefined;
  const polygons: unknown[] = Array.isArray(segmentation[0]) ? segmentation : [segmentation];
  let [xMin, yMin, xMax, yMax, count] = [Infinity, Infinity, -Infinity, -Infinity, 0];
  for (const polygon of polygons)
    for (let i = 0; Array.isArray(polygon) && i + 1 < polygon.length; i += 2, count++) {
      const [x, y] = [numberIn(polygon[i]), numberIn(polygon[i + 1])];
      if (!Number.isFinite(x + y)) return undefined;
      [xMin, yMin, xMax, yMax] = [Math.min(xMin, x), Math.min(yMin, y), Math.max(xMax, x), Math.max(yMax, y)];
    }
  if (count < 3) return undefined;
  return {
    kind: 'outline',
    points: [
      [xMin, yMin],
      [xMax, yMax],
    ],
  };
}
