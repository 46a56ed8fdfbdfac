import { CORE_SCHEMA, load } from 'js-yaml';
import type { Box } from '@platform/client';
import type { Split } from '@platform/contract/job';
import { isObject, type Json } from '@platform/contract/json-object';
import { errorText } from '@platform/kit';
import {
  type Annotated,
  baseName,
  boxInside,
  folderName,
  type Folder,
  type Found,
  isImage,
  noNotes,
  pathFinder,
  plainPath,
  type ReadNotes,
  refused,
  splitOf,
  withoutExtension,
} from '../annotated.ts';

/** Class names by number. */
type Classes = ReadonlyMap<number, string>;
const classFiles = ['classes.txt', 'obj.names', 'names.txt'];

/** The file with the class names: a YAML file with `names`, otherwise a list, one name per line. */
export async function yoloClassFile(folder: Folder): Promise<string | undefined> {
  const top = folder.paths.filter((path) => path.split('/').length <= 2);
  for (const path of top.filter((one) => /\.ya?ml$/i.test(one)))
    if (/^\s*['"]?names['"]?\s*:/m.test(await folder.read(path))) return path;
  const hasLabels = folder.paths.some((path) => /(^|\/)labels\/.*\.txt$/i.test(path));
  return hasLabels ? top.find((path) => classFiles.includes(baseName(path))) : undefined;
}

/** Reads a folder with images/ and labels/, as Ultralytics and Roboflow write it. */
export async function readYolo(folder: Folder, file: string): Promise<Found> {
  const text = await folder.read(file);
  const document = /\.ya?ml$/i.test(file) ? parsedYaml(file, text) : {};
  const classes = /\.ya?ml$/i.test(file) ? classesOf(file, document) : listedClasses(text);
  const splitsOf = await splitFinder(folder, document);
  const notes = noNotes();
  const texts = new Set(folder.paths.filter((path) => path.endsWith('.txt')));
  const annotations = new Map<string, Annotated>();
  const used = new Set<string>();
  for (const image of folder.paths.filter(isImage)) {
    const labels = labelFiles(image).find((path) => texts.has(path));
    if (labels !== undefined) used.add(labels);
    const boxes = labels === undefined ? [] : boxesOf(labels, await folder.read(labels), { classes, file, notes });
    annotations.set(image, { labels: [], boxes, split: splitsOf(image) });
  }
  const missing = [...texts].filter((path) => /(^|\/)labels\//.test(path) && !used.has(path));
  return { format: `YOLO (${file})`, annotations, missing, notes };
}

function parsedYaml(file: string, text: string): Json {
  try {
    const document = load(text, { schema: CORE_SCHEMA });
    if (isObject(document)) return document;
  } catch (error) {
    throw refused(file, `it is not YAML: ${errorText(error).split('\n')[0] ?? ''}`);
  }
  throw refused(file, 'it must have the keys names, train and val');
}

const listedClasses = (text: string): Classes =>
  new Map(
    text
      .split(/\r?\n/)
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .map((name, index) => [index, name]),
  );

function classesOf(file: string, { names }: Json): Classes {
  const entries = Array.isArray(names)
    ? names.map((name: unknown, index) => [index, name] as const)
    : isObject(names)
      ? Object.entries(names).map(([key, name]) => [Number(key), name] as const)
      : [];
  const classes = new Map<number, string>();
  for (const [index, name] of entries) {
    if (!Number.isInteger(index) || index < 0 || (typeof name !== 'string' && typeof name !== 'number'))
      throw refused(file, 'names must be a list of texts, or a map from class numbers to texts');
    classes.set(index, String(name));
  }
  if (classes.size === 0) throw refused(file, 'names has no class');
  return classes;
}

/** Candidate paths of an image's boxes: labels/ instead of images/, or beside it. */
function labelFiles(image: string): string[] {
  const text = `${withoutExtension(image)}.txt`;
  const parts = text.split('/');
  const at = parts.lastIndexOf('images', parts.length - 2);
  return at < 0 ? [text] : [parts.with(at, 'labels').join('/'), text];
}

/**
 * Resolves the file's entries train, val and test: folders, or lists of images. Foreign paths match by their longest
 * suffix.
 */
async function splitFinder(folder: Folder, document: Json): Promise<(image: string) => Split | undefined> {
  const images = folder.paths.filter(isImage);
  const find = pathFinder(images);
  const chosen = new Map<string, Split>();
  for (const [key, value] of Object.entries(document)) {
    const split = splitOf(key);
    if (!split) continue;
    const places = (Array.isArray(value) ? value : [value]).filter((one) => typeof one === 'string').map(plainPath);
    for (const place of places) {
      const named = place.endsWith('.txt') ? await listed(folder, place, find) : inFolder(images, place);
      for (const image of named) if (!chosen.has(image)) chosen.set(image, split);
    }
  }
  return (image) => chosen.get(image);
}

async function listed(folder: Folder, place: string, find: (written: string) => string | undefined): Promise<string[]> {
  const file = pathFinder(folder.paths.filter((path) => path.endsWith('.txt')))(place);
  if (file === undefined) return [];
  return (await folder.read(file)).split(/\r?\n/).flatMap((line) => find(line.trim()) ?? []);
}

/** Images below the folder with this path, or with its longest existing suffix. */
function inFolder(images: readonly string[], place: string): readonly string[] {
  for (let end = place; end !== ''; end = end.includes('/') ? end.slice(end.indexOf('/') + 1) : '') {
    const within = images.filter((path) => `/${folderName(path)}/`.includes(`/${end}/`));
    if (within.length > 0) return within;
  }
  return [];
}

interface Reading {
  readonly classes: Classes;
  /** The file with the class names. */
  readonly file: string;
  readonly notes: ReadNotes;
}

function boxesOf(path: string, text: string, reading: Reading): Box[] {
  const boxes: Box[] = [];
  text.split(/\r?\n/).forEach((line, at) => {
    if (line.trim() === '') return;
    const box = boxOf(line.trim(), reading, (problem) => refused(path, problem, at + 1));
    const cut = boxInside(box, reading.notes);
    if (cut) boxes.push(cut);
  });
  return boxes;
}

/** Larger values must be pixels. */
const mostShare = 2;

function boxOf(line: string, { classes, file, notes }: Reading, bad: (problem: string) => Error): Box {
  const [number = Number.NaN, ...values] = line.split(/\s+/).map(Number);
  const label = classes.get(number);
  if (!Number.isInteger(number) || values.some((value) => !Number.isFinite(value)) || values.length < 4)
    throw bad('each line must be a class number and x, y, width, height of a box, or the corners of an outline');
  if (label === undefined) throw bad(`class ${number} has no name: ${file} names ${classes.size} classes, from 0 on`);
  if (values.some((value) => Math.abs(value) > mostShare))
    throw bad('coordinates must be shares of width and height, 0 to 1; these look like pixels');
  // Four values are a box; a fifth is a model's confidence; more are the corners of an outline.
  if (values.length > 5) {
    if (values.length % 2 !== 0) throw bad('an outline must have pairs of x and y');
    notes.outlines++;
    const xs = values.filter((_value, at) => at % 2 === 0);
    const ys = values.filter((_value, at) => at % 2 === 1);
    return { label, xMin: Math.min(...xs), yMin: Math.min(...ys), xMax: Math.max(...xs), yMax: Math.max(...ys) };
  }
  const [x = 0, y = 0, width = 0, height = 0] = values;
  return { label, xMin: x - width / 2, yMin: y - height / 2, xMax: x + width / 2, yMax: y + height / 2 };
}
