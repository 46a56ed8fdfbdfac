import type { Box } from '@platform/client';
import type { PlatformError } from '@platform/contract/errors';
import { isObject, type Json } from '@platform/contract/json-object';
import { type Annotated, noNotes, type ReadNotes, refused, splitOf, withoutSplitTags } from './annotated.ts';
import { cocoImages, looksLikeCoco } from './read/coco.ts';

const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

/**
 * Reads labels and boxes by image from dataset.jsonl as `dataset export` writes it, or from COCO's instances JSON.
 *
 * @throws PlatformError INVALID_ARGUMENT with file and line.
 */
export function readAnnotations(fileName: string, text: string, notes: ReadNotes = noNotes()): Map<string, Annotated> {
  const bad = (problem: string, line: number): PlatformError => refused(fileName, problem, line);
  if (looksLikeCoco(text) && !fileName.endsWith('.jsonl'))
    return new Map(cocoImages(fileName, text, notes).map(({ place, boxes }) => [place, { labels: [], boxes }]));
  const found = new Map<string, Annotated>();
  text.split('\n').forEach((line, index) => {
    if (line.trim() === '') return;
    const one = parse(line);
    const place = isObject(one) ? one['image_path'] : undefined;
    if (!isObject(one) || typeof place !== 'string' || place === '')
      throw bad('each line must be a JSON object with image_path', index + 1);
    const named = list(one['classification_annotations']).map((label) =>
      textOf(label, 'annotation_label', () => bad('a classification has no annotation_label', index + 1)),
    );
    const { labels, split: tagged } = withoutSplitTags(named);
    const split = (typeof one['split'] === 'string' ? splitOf(one['split']) : undefined) ?? tagged;
    found.set(plain(place), {
      labels,
      boxes: list(one['bounding_box_annotations']).map((box) => boxOf(box, (problem) => bad(problem, index + 1))),
      ...(split && { split }),
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
