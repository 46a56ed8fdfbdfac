import { isObject, type Json } from '@platform/contract/text/json-object';
import { type Annotation, type Point, rotatedCorners, type Shape } from '../boxes.ts';
import { jsonOf, numberIn, type ReadFiles, type ReadView, textIn } from './reader.ts';

const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** Reads Label Studio's JSON and JSON-MIN. Coordinates are in percent of width and height. */
export const readLabelStudio: ReadFiles = async (view, files) => {
  for (const file of files)
    for (const [index, task] of list(await jsonOf(view, file)).entries()) {
      const where = `task ${textIn(task['id']) ?? index + 1}`;
      if (isObject(task['data'])) readTask(view, file, where, task);
      else readMinimal(view, file, where, task);
    }
};

/** The path of an image; a file that Label Studio serves from a disk has it after `?d=`. */
const pathIn = (url: string): string => {
  const local = /[?&]d=([^&]*)/.exec(url)?.[1];
  return (local ?? url).split('?', 1).join('');
};

function imageNameIn(data: Json): string | undefined {
  const texts = Object.entries(data).flatMap(([key, value]) =>
    typeof value === 'string' ? [[key, value] as const] : [],
  );
  const [found] = [
    texts.find(([key]) => /^(image|img|photo)/i.test(key)),
    texts.find(([, value]) => /\.(jpe?g|png|webp)([?#]|$)/i.test(value)),
  ].filter((one) => one !== undefined);
  return found && pathIn(found[1]);
}

function readTask(view: ReadView, file: string, where: string, task: Json): void {
  const { ledger } = view;
  const name = imageNameIn(task['data'] as Json);
  if (name === undefined) return ledger.invalid(file, where, 'its data names no image');
  const all = list(task['annotations'] ?? task['completions']);
  const given = all.filter((one) => one['was_cancelled'] !== true);
  const chosen = given.find((one) => one['ground_truth'] === true) ?? newest(given);
  for (const [index, one] of all.entries()) {
    if (one === chosen) continue;
    const reason =
      one['was_cancelled'] === true ? 'canceled or skipped annotation' : 'another annotation of the same task is used';
    for (const _result of list(one['result'])) ledger.leftOut(file, `${where}, annotation ${index + 1}`, reason);
  }
  readResults(view, file, where, name, list(chosen?.['result']));
}

const newest = (annotations: readonly Json[]): Json | undefined =>
  annotations.toSorted((a, b) => (textIn(a['updated_at']) ?? '').localeCompare(textIn(b['updated_at']) ?? '')).at(-1);

function readResults(view: ReadView, file: string, where: string, name: string, results: readonly Json[]): void {
  const { collector, ledger } = view;
  const regions = results.filter((one) => isObject(one['value']));
  const image = collector.imageFor(name, { file, count: regions.length });
  if (image === undefined) return;
  const sized = regions.find((one) => numberIn(one['original_width']) > 0);
  const declared = sized && { width: numberIn(sized['original_width']), height: numberIn(sized['original_height']) };
  const entry = collector.open({ file, image, declared, unit: 100 });
  for (const [index, { type, value }] of regions.entries()) {
    const place = `${where}, region ${index + 1}`;
    const labels = labelsIn(value as Json);
    if (type === 'choices') for (const label of labels) entry.label(place, label);
    else addRegion(view, { file, place, entry }, value as Json, labels);
  }
  if (results.length > regions.length) ledger.warn('Tasks have results without a value', `${file}: ${where}`);
}

interface Place {
  readonly file: string;
  readonly place: string;
  readonly entry: ReturnType<ReadView['collector']['open']>;
}
function addRegion({ ledger }: ReadView, { file, place, entry }: Place, value: Json, labels: readonly string[]): void {
  const shape = shapeOf(value);
  if (shape === undefined) ledger.invalid(file, place, 'its coordinates are not numbers');
  else if (shape.kind === 'left out') ledger.leftOut(file, place, shape.reason);
  else if (labels.length === 0) ledger.invalid(file, place, 'it has no label');
  else for (const label of labels) entry.box(place, { label, shape } satisfies Annotation);
}

const labelsIn = (value: Json): string[] =>
  Object.entries(value).flatMap(([key, one]) =>
    (key.endsWith('labels') || key === 'choices') && Array.isArray(one)
      ? one.flatMap((label: unknown) => textIn(label) ?? [])
      : [],
  );

function shapeOf(value: Json): Shape | undefined {
  const numbers = (...keys: string[]): number[] => keys.map((key) => numberIn(value[key]));
  if ('rle' in value || 'brushlabels' in value) return { kind: 'left out', reason: 'mask without a box' };
  if (Array.isArray(value['points'])) {
    const points = value['points'].map((one: unknown): Point => {
      const [x, y]: unknown[] = Array.isArray(one) ? one : [];
      return [numberIn(x), numberIn(y)];
    });
    return points.flat().every(Number.isFinite) && points.length > 1 ? { kind: 'outline', points } : undefined;
  }
  const [x = NaN, y = NaN, w = NaN, h = NaN, rx = NaN, ry = NaN] = numbers(
    'x',
    'y',
    'width',
    'height',
    'radiusX',
    'radiusY',
  );
  if ('radiusX' in value)
    return [x, y, rx, ry].every(Number.isFinite) ? { kind: 'ellipse', center: [x, y], radii: [rx, ry] } : undefined;
  if ('keypointlabels' in value || !('width' in value && 'x' in value))
    return { kind: 'left out', reason: 'neither box nor outline' };
  const edges = [x, y, x + w, y + h] as const;
  if (!edges.every(Number.isFinite)) return undefined;
  const rotation = numberIn(value['rotation'] ?? 0);
  // It turns around the upper left corner.
  return rotation === 0 || !Number.isFinite(rotation)
    ? { kind: 'box', edges }
    : { kind: 'rotated box', corners: rotatedCorners(edges, [x, y], rotation) };
}

/** JSON-MIN: regions in a list, choices as text. */
function readMinimal(view: ReadView, file: string, where: string, task: Json): void {
  const name = imageNameIn(task);
  if (name === undefined) return view.ledger.invalid(file, where, 'it names no image');
  const regions = Object.values(task)
    .flatMap((value) => list(value))
    .filter((one) => labelsIn(one).length > 0);
  const choice: unknown = task['choice'];
  const choices = isObject(choice) ? labelsIn(choice) : [textIn(choice) ?? []].flat();
  const image = view.collector.imageFor(name, { file, count: regions.length + choices.length });
  if (image === undefined) return undefined;
  const [first] = regions;
  const declared = first && { width: numberIn(first['original_width']), height: numberIn(first['original_height']) };
  const entry = view.collector.open({ file, image, declared, unit: 100 });
  for (const label of choices) entry.label(where, label);
  for (const [index, region] of regions.entries())
    addRegion(view, { file, place: `${where}, region ${index + 1}`, entry }, region, labelsIn(region));
  return undefined;
}
