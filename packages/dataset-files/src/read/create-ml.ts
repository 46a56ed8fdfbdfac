import { isObject } from '@platform/contract/text/json-object';
import { folderName } from '../file-names.ts';
import { jsonOf, numberIn, type ReadFiles, textIn } from './reader.ts';

/** Reads Create ML's JSON: a list of images; x and y are the center of a box in pixels. */
export const readCreateMl: ReadFiles = async (view, files) => {
  for (const file of files) {
    const document = await jsonOf(view, file);
    const folder = folderName(file);
    for (const [index, one] of (Array.isArray(document) ? document : []).entries()) {
      const name = isObject(one) ? (textIn(one['image']) ?? textIn(one['imagefilename'])) : undefined;
      if (!isObject(one) || name === undefined) {
        view.ledger.invalid(file, `entry ${index + 1}`, 'it has no image');
        continue;
      }
      const given: unknown = one['annotations'] ?? one['annotation'] ?? [];
      const annotations: readonly unknown[] = Array.isArray(given) ? given : [given];
      const isBelow = (path: string): boolean => folder === '' || path.startsWith(`${folder}/`);
      const image = view.collector.imageFor(name, { file, count: annotations.length, among: [isBelow] });
      if (image === undefined) continue;
      const entry = view.collector.open({ file, image });
      for (const [at, annotation] of annotations.entries()) {
        const where = `image ${name}, annotation ${at + 1}`;
        const label = isObject(annotation) ? textIn(annotation['label']) : textIn(annotation);
        const place: unknown = isObject(annotation) ? annotation['coordinates'] : undefined;
        if (label === undefined) view.ledger.invalid(file, where, 'it has no label');
        else if (!isObject(place)) entry.label(where, label);
        else {
          const [x = NaN, y = NaN, w = NaN, h = NaN] = ['x', 'y', 'width', 'height'].map((key) => numberIn(place[key]));
          if (![x, y, w, h].every(Number.isFinite))
            view.ledger.invalid(file, where, 'coordinates need the numbers x, y, width and height');
          else entry.box(where, { label, shape: { kind: 'box', edges: [x - w / 2, y - h / 2, x + w / 2, y + h / 2] } });
        }
      }
    }
  }
};
