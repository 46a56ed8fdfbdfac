import type { Box } from '@platform/client';
import { PlatformError } from '@platform/contract/errors';
import type { Annotated } from './upload-plan.ts';

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

/**
 * Labels and boxes by picture, out of dataset.jsonl as `dataset export` writes it, or out of COCO's instances JSON.
 *
 * @throws PlatformError INVALID_ARGUMENT naming file and line.
 */
export function readAnnotations(fileName: string, text: string): Map<string, Annotated> {
  const bad = (problem: string, line?: number): PlatformError =>
    new PlatformError('INVALID_ARGUMENT', {
      field: line === undefined ? fileName : `${fileName}:${line}`,
      limit: problem,
    });
  if (/^\s*\{[^]*"annotations"\s*:/.test(text) && !fileName.endsWith('.jsonl')) return coco(text, bad);
  const found = new Map<string, Annotated>();
  text.split('\n').forEach((line, index) => {
    if (line.trim() === '') return;
    const one = parse(line);
    const place = isObject(one) ? one['image_path'] : undefined;
    if (!isObject(one) || typeof place !== 'string' || place === '')
      throw bad('each line must be a JSON object with image_path', index + 1);
    found.set(plain(place), {
      labels: list(one['classification_annotations']).map((label) =>
        textOf(label, 'annotation_label', () => bad('a classification has no annotation_label', index + 1)),
      ),
      boxes: list(one['bounding_box_annotations']).map((box) => boxOf(box, (problem) => bad(problem, index + 1))),
    });
  });
  return found;
}

const plain = (place: string): string =>
  place
    .replaceAll('\\', '/')
    .replace(/^(\.\/)+/, '')
    .replace(/^\//, '');

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function textOf(from: Json, key: string, bad: () => PlatformError): string {
  const value = from[key];
  if (typeof value !== 'string' || value === '') throw bad();
  return value;
}

const numberOf = (from: Json, key: string): number => (typeof from[key] === 'number' ? from[key] : Number.NaN);

function boxOf(box: Json, bad: (problem: string) => PlatformError): Box {
  const found = {
    label: textOf(box, 'annotation_label', () => bad('a box has no annotation_label')),
    xMin: numberOf(box, 'x_min_normalized'),
    yMin: numberOf(box, 'y_min_normalized'),
    xMax: numberOf(box, 'x_max_normalized'),
    yMax: numberOf(box, 'y_max_normalized'),
  };
  const isInside = found.xMin >= 0 && found.yMin >= 0 && found.xMax <= 1 && found.yMax <= 1;
  if (!isInside || found.xMin >= found.xMax || found.yMin >= found.yMax)
    throw bad('x_min_normalized … y_max_normalized of a box must be numbers in 0..1, min below max');
  return found;
}

const inside = (value: number): number => Math.min(1, Math.max(0, value));

function coco(text: string, bad: (problem: string) => PlatformError): Map<string, Annotated> {
  const all = parse(text);
  if (!isObject(all)) throw bad('it is neither COCO JSON nor one JSON object per line');
  const names = new Map(list(all['categories']).map((one) => [one['id'], one['name']]));
  const byId = new Map<unknown, { place: string; width: number; height: number; boxes: Box[] }>();
  for (const picture of list(all['images'])) {
    const place = textOf(picture, 'file_name', () => bad('an image has no file_name'));
    const width = numberOf(picture, 'width');
    const height = numberOf(picture, 'height');
    if (!(width > 0 && height > 0)) throw bad(`image ${place} has no width and height`);
    byId.set(picture['id'], { place: plain(place), width, height, boxes: [] });
  }
  for (const one of list(all['annotations'])) {
    const picture = byId.get(one['image_id']);
    const label = names.get(one['category_id']);
    const sides = Array.isArray(one['bbox']) ? one['bbox'].map(Number) : [];
    const [x = Number.NaN, y = Number.NaN, w = Number.NaN, h = Number.NaN] = sides;
    if (!picture || typeof label !== 'string' || !(w > 0 && h > 0) || !Number.isFinite(x + y))
      throw bad(`annotation ${String(one['id'])} needs image_id and category_id that exist, and a bbox with an area`);
    picture.boxes.push({
      label,
      xMin: inside(x / picture.width),
      yMin: inside(y / picture.height),
      xMax: inside((x + w) / picture.width),
      yMax: inside((y + h) / picture.height),
    });
  }
  return new Map([...byId.values()].map(({ place, boxes }) => [place, { labels: [], boxes }]));
}
