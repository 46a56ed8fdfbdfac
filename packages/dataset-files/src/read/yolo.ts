import { CORE_SCHEMA, load } from 'js-yaml';
import type { Split } from '@platform/contract/job/job';
import { isObject, type Json } from '@platform/contract/text/json-object';
import { type Annotation, pairs } from '../boxes.ts';
import { baseName, extensionOf, fileFinder, folderName, plainPath, splitOf, withoutExtension } from '../file-names.ts';
import { linesOf } from '../text.ts';
import { numberIn, type ReadFiles, type ReadView, textIn, textOf } from './reader.ts';

/** Class names by number. */
type Classes = ReadonlyMap<number, string>;
const classFiles = ['classes.txt', 'obj.names', 'names.txt', 'classes.names', '_darknet.labels'];
export const isClassFile = (path: string): boolean => {
  const name = baseName(path).toLowerCase();
  return classFiles.includes(name) || name.endsWith('.names');
};
export const isYaml = (path: string): boolean => /\.ya?ml$/i.test(path);

/** Candidate paths of an image's boxes: labels/ instead of images/, or beside it. */
function labelFiles(image: string): string[] {
  const text = `${withoutExtension(image)}.txt`;
  const parts = text.split('/');
  const at = parts.lastIndexOf('images', parts.length - 2);
  return at < 0 ? [text] : [parts.with(at, 'labels').join('/'), text];
}

/** Text files that may hold boxes. */
const isLabelText = (path: string): boolean => extensionOf(path) === 'txt' && !isClassFile(path);

/** Whether a text has the lines of YOLO boxes or outlines. */
export const isYoloText = (text: string): boolean => {
  const lines = linesOf(text.replace(/^\ufeff/, '')).filter((line) => line.trim() !== '');
  return lines.length > 0 && lines.every((line) => /^\s*\d+(\s+-?\d[\d.eE+-]*){4,}\s*$/.test(line));
};

/** Finds the file of boxes of an image, and the image of a file of boxes. */
export function labelFileFinder(dataFiles: readonly string[]): (image: string) => string | undefined {
  const texts = dataFiles.filter(isLabelText);
  const known = new Set(texts);
  const find = fileFinder(texts, withoutExtension);
  return (image) => {
    const candidates = labelFiles(image);
    const exact = candidates.find((path) => known.has(path));
    if (exact !== undefined) return exact;
    for (const path of candidates) {
      const folder = folderName(path).normalize('NFC');
      const found = find(path, (one) => folderName(one).normalize('NFC') === folder);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

interface Reading {
  readonly classes: Classes;
  /** The file with the class names. */
  readonly file: string;
  /** Key points follow the box in each line. */
  readonly isPose: boolean;
}

/** Reads images with one text file each, as Ultralytics, Roboflow, Darknet and CVAT write them. `files`: the file with the names. */
export const readYolo: ReadFiles = async (view, [file]) => {
  if (file === undefined) return;
  const text = await textOf(view, file);
  if (text === undefined) return;
  view.ledger.file(file, 'class names');
  const document = isYaml(file) ? parsedYaml(text) : await darknetData(view);
  if ('problem' in document) return view.ledger.invalid(file, 'file', document.problem);
  const classes = isYaml(file) ? classesOf(document.values) : listedClasses(text);
  if ('problem' in classes) return view.ledger.invalid(file, 'names', classes.problem);
  const splits = await splitFinder(view, document.values);
  const labelsOf = labelFileFinder(view.dataFiles);
  const reading = { classes: classes.names, file, isPose: 'kpt_shape' in document.values };
  for (const image of view.images) {
    const labels = labelsOf(image);
    const entry = view.collector.open({ file: labels ?? file, image, unit: 1, split: splits(image) });
    if (labels !== undefined) await readLabels(view, labels, reading, entry);
  }
  for (const path of view.dataFiles)
    if (/(^|\/)labels\/.*\.txt$/i.test(path) && view.ledger.useOf(path) === undefined) await readOrphan(view, path);
};

/** A file of boxes without its image. */
async function readOrphan(view: ReadView, path: string): Promise<void> {
  const lines = linesOf((await textOf(view, path)) ?? '').filter((line) => line.trim() !== '');
  view.ledger.file(path, 'annotations');
  view.collector.imageFor(path.replace(/(^|\/)labels\//, '$1images/').replace(/\.txt$/i, '.jpg'), {
    file: path,
    count: lines.length,
  });
}

type Entry = ReturnType<ReadView['collector']['open']>;

async function readLabels(view: ReadView, path: string, reading: Reading, entry: Entry): Promise<void> {
  const text = await textOf(view, path);
  view.ledger.file(path, 'annotations');
  for (const [index, line] of linesOf(text ?? '').entries()) {
    if (line.trim() === '') continue;
    const where = `line ${index + 1}`;
    const found = annotationIn(line.trim(), reading);
    if ('problem' in found) view.ledger.invalid(path, where, found.problem);
    else entry.box(where, found);
  }
}

/** Larger values must be pixels. */
const mostShare = 2;

function annotationIn(line: string, { classes, file, isPose }: Reading): Annotation | { readonly problem: string } {
  const [number = Number.NaN, ...values] = line.split(/\s+/).map(numberIn);
  const label = classes.get(number);
  if (!Number.isInteger(number) || !values.every(Number.isFinite) || values.length < 4)
    return {
      problem: 'each line must be a class number and x, y, width, height of a box, or the corners of an outline',
    };
  if (label === undefined)
    return { problem: `class ${number} has no name: ${file} names ${classes.size} classes, from 0 on` };
  if (values.slice(0, isPose ? 4 : undefined).some((value) => Math.abs(value) > mostShare))
    return { problem: 'coordinates must be shares of width and height, 0 to 1; these look like pixels' };
  // Four values are a box; a fifth is a model's confidence; more are the corners of an outline, or key points.
  if (values.length > 5 && !isPose) {
    if (values.length % 2 !== 0) return { problem: 'an outline must have pairs of x and y' };
    return { label, shape: { kind: 'outline', points: pairs(values) } };
  }
  const [x = 0, y = 0, w = 0, h = 0] = values;
  const shape = { kind: 'box', edges: [x - w / 2, y - h / 2, x + w / 2, y + h / 2] } as const;
  return { label, shape, ...(isPose && values.length > 5 && { changes: ['key points dropped, box kept'] }) };
}

type Document = { readonly values: Json } | { readonly problem: string };

export function parsedYaml(text: string): Document {
  try {
    const document = load(text.replace(/^\ufeff/, ''), { schema: CORE_SCHEMA });
    if (isObject(document)) return { values: document };
  } catch (error) {
    const [problem = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    return { problem: `it is not YAML: ${problem}` };
  }
  return { problem: 'it must have the keys names, train and val' };
}

/** The entries of Darknet's obj.data: `train = data/train.txt`. */
async function darknetData(view: ReadView): Promise<{ readonly values: Json }> {
  const values: Record<string, string> = {};
  for (const path of view.dataFiles.filter((one) => extensionOf(one) === 'data')) {
    const text = await textOf(view, path);
    view.ledger.file(path, 'splits');
    for (const line of linesOf(text ?? '')) {
      const [key = '', value = ''] = line.split('=').map((part) => part.trim());
      if (key !== '') values[key] = value;
    }
  }
  return { values };
}

/** Names by line; an empty line is a number without a name. */
function listedClasses(text: string): { readonly names: Classes } {
  const lines = linesOf(text.replace(/^\ufeff/, '')).map((line) => line.trim());
  return { names: new Map([...lines.entries()].filter(([, name]) => name !== '')) };
}

function classesOf({ names: given }: Json): { readonly names: Classes } | { readonly problem: string } {
  const entries: (readonly [number, unknown])[] = Array.isArray(given)
    ? given.map((name: unknown, index) => [index, name] as const)
    : isObject(given)
      ? Object.entries(given).map(([key, name]) => [Number(key), name] as const)
      : [];
  const names = new Map<number, string>();
  for (const [index, name] of entries) {
    const text = textIn(name);
    if (!Number.isInteger(index) || index < 0 || text === undefined)
      return { problem: 'names must be a list of texts, or a map from class numbers to texts' };
    names.set(index, text);
  }
  return names.size === 0 ? { problem: 'names has no class' } : { names };
}

/**
 * Resolves the file's entries train, val and test: folders, or lists of images. Foreign paths match by their longest
 * suffix.
 */
async function splitFinder(view: ReadView, document: Json): Promise<(image: string) => Split | undefined> {
  const find = fileFinder(view.images);
  const chosen = new Map<string, Split>();
  // Darknet's lists of images are called after their split, also where no file names them.
  const lists = view.dataFiles.filter((path) => isLabelText(path) && splitOf(withoutExtension(baseName(path))));
  const entries = [
    ...Object.entries(document),
    ...lists.map((path) => [withoutExtension(baseName(path)), path] as const),
  ];
  for (const [key, value] of entries) {
    const split = splitOf(key);
    if (!split) continue;
    const places: unknown[] = Array.isArray(value) ? value : [value];
    for (const place of places.filter((one) => typeof one === 'string').map(plainPath)) {
      const named = place.endsWith('.txt') ? await listed(view, place, find) : inFolder(view.images, place);
      for (const image of named) if (!chosen.has(image)) chosen.set(image, split);
    }
  }
  return (image) => chosen.get(image);
}

async function listed(
  view: ReadView,
  place: string,
  find: (written: string) => string | undefined,
): Promise<readonly string[]> {
  const file = fileFinder(view.dataFiles.filter((path) => extensionOf(path) === 'txt'))(place);
  if (file === undefined) return [];
  const named = linesOf((await textOf(view, file)) ?? '').flatMap((line) =>
    line.trim() === '' ? [] : (find(line.trim()) ?? []),
  );
  // A file of boxes may be called test.txt, too.
  if (named.length > 0) view.ledger.file(file, 'splits');
  return named;
}

/** Images below the folder with this path, or with its longest existing suffix. */
function inFolder(images: readonly string[], place: string): readonly string[] {
  for (let end = place; end !== ''; end = end.includes('/') ? end.slice(end.indexOf('/') + 1) : '') {
    const within = images.filter((path) => `/${folderName(path)}/`.includes(`/${end}/`));
    if (within.length > 0) return within;
  }
  return [];
}
