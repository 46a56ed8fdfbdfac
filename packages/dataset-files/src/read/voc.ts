import type { Split } from '@platform/contract/job/job';
import { type Point, rotatedCorners, type Shape } from '../boxes.ts';
import { baseName, fileFinder, folderName, splitOf, withoutExtension } from '../file-names.ts';
import { linesOf } from '../text.ts';
import { numberIn, type ReadFiles, type ReadView, textOf, xmlTextOf } from './reader.ts';
import { walkXml } from './xml.ts';

/** The texts of one object, by their path below it. */
interface VocObject {
  readonly texts: Map<string, string>;
  readonly points: [string, string][];
}
interface VocFile {
  readonly texts: ReadonlyMap<string, string>;
  readonly objects: readonly VocObject[];
}

const inObject = 'annotation/object/';

/** Parses the XML of one image. Ignores the boxes of object parts. */
function parseVoc(text: string): VocFile | { readonly problem: string } {
  const texts = new Map<string, string>();
  const objects: VocObject[] = [];
  const problem = walkXml(text, {
    open: (path) => {
      if (path === 'annotation/object') objects.push({ texts: new Map(), points: [] });
      if (path === `${inObject}polygon/pt`) objects.at(-1)?.points.push(['', '']);
    },
    text: (path, value) => {
      const object = objects.at(-1);
      if (!object || !path.startsWith(inObject)) return void texts.set(path, value);
      const key = path.slice(inObject.length);
      const point = object.points.at(-1);
      if (point && key === 'polygon/pt/x') point[0] += value;
      else if (point && key === 'polygon/pt/y') point[1] += value;
      else object.texts.set(key, (object.texts.get(key) ?? '') + value);
    },
  });
  return problem === undefined ? { texts, objects } : { problem };
}

/** Reads a folder with Annotations/, JPEGImages/ and ImageSets/, or with the XML beside each image. */
export const readVoc: ReadFiles = async (view, files) => {
  const splits = await imageSets(view);
  const byStem = fileFinder(view.images, withoutExtension);
  for (const file of files) {
    const text = await xmlTextOf(view, file);
    if (text === undefined) continue;
    const voc = parseVoc(text);
    if ('problem' in voc) view.ledger.invalid(file, 'file', voc.problem);
    else readImage(view, file, voc, { splits, byStem });
  }
};

interface Names {
  readonly splits: ReadonlyMap<string, Split>;
  readonly byStem: (written: string, among?: (path: string) => boolean) => string | undefined;
}

function readImage({ collector, ledger }: ReadView, file: string, voc: VocFile, { splits, byStem }: Names): void {
  const named = voc.texts.get('annotation/filename') ?? '';
  const stem = baseName(withoutExtension(file));
  const folder = folderName(file);
  const isNear = (path: string): boolean => folderName(folderName(path)) === folderName(folder);
  const isBeside = (path: string): boolean => folderName(path) === folder;
  const image =
    byStem(`${stem}.x`, isBeside) ??
    byStem(`${stem}.x`) ??
    byStem(`${stem}.x`, isNear) ??
    collector.imageFor(named === '' ? `${stem}.jpg` : named, {
      file,
      count: voc.objects.length,
      among: [isBeside, isNear],
    });
  if (image === undefined) return;
  const [width, height] = ['width', 'height'].map((key) => Number(voc.texts.get(`annotation/size/${key}`) ?? 0));
  const declared = { width: width ?? 0, height: height ?? 0 };
  const split = splits.get(stem) ?? splits.get(stem.normalize('NFC'));
  const entry = collector.open({ file, image, declared, split });
  for (const [index, object] of voc.objects.entries()) {
    const where = `object ${index + 1}`;
    const label = object.texts.get('name') ?? '';
    const shape = shapeOf(object);
    if (label === '') ledger.invalid(file, where, 'it has no name');
    else if (shape === undefined)
      ledger.invalid(file, where, 'it needs a bndbox with numbers xmin, ymin, xmax, ymax, or a polygon');
    else entry.box(where, { label, shape });
  }
}

function shapeOf({ texts, points }: VocObject): Shape | undefined {
  const numbers = (prefix: string, keys: readonly string[]): number[] =>
    keys.map((key) => numberIn(texts.get(`${prefix}/${key}`)));
  const edges = numbers('bndbox', ['xmin', 'ymin', 'xmax', 'ymax']);
  const [left = NaN, top = NaN, right = NaN, bottom = NaN] = edges;
  if (edges.every(Number.isFinite)) return { kind: 'box', edges: [left, top, right, bottom] };
  // Roboflow numbers the corners; LabelMe and CVAT have a list of them.
  const corners: Point[] = points.map(([x, y]) => [numberIn(x), numberIn(y)]);
  for (let i = 1; texts.has(`polygon/x${i}`); i++)
    corners.push([numberIn(texts.get(`polygon/x${i}`)), numberIn(texts.get(`polygon/y${i}`))]);
  const hasBox = [...texts.keys()].some((key) => key.startsWith('bndbox/'));
  if (!hasBox && corners.length > 2 && corners.flat().every(Number.isFinite))
    return { kind: 'outline', points: corners };
  const [cx = NaN, cy = NaN, w = NaN, h = NaN, angle = NaN] = numbers('robndbox', ['cx', 'cy', 'w', 'h', 'angle']);
  if (![cx, cy, w, h, angle].every(Number.isFinite)) return undefined;
  const around: Point = [cx, cy];
  const flat = [cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2] as const;
  return { kind: 'rotated box', corners: rotatedCorners(flat, around, (angle * 180) / Math.PI) };
}

/** Names of images by split, from ImageSets/Main/train.txt, val.txt and test.txt. */
async function imageSets(view: ReadView): Promise<Map<string, Split>> {
  const found = new Map<string, Split>();
  for (const path of view.dataFiles) {
    if (!/(^|\/)ImageSets\/[^/]+\/[^/]+\.txt$/.test(path)) continue;
    const split = splitOf(baseName(withoutExtension(path)));
    if (!split) {
      view.ledger.file(path, 'not data', 'a list of images for another use');
      continue;
    }
    const text = await textOf(view, path);
    view.ledger.file(path, 'splits');
    for (const line of linesOf(text ?? '')) {
      const [stem = ''] = line.trim().split(/\s+/);
      if (stem !== '') found.set(stem, split);
    }
  }
  return found;
}
