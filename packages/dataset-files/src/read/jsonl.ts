import { isObject, type Json } from '@platform/contract/text/json-object';
import { splitOf } from '../file-names.ts';
import { linesOf, parseJsonText } from '../text.ts';
import { numberIn, type ReadFiles, type ReadView, textIn, textOf } from './reader.ts';

const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** Reads dataset.jsonl as `dataset export` writes it. */
export const readJsonl: ReadFiles = async (view, files) => {
  for (const file of files) {
    const text = await textOf(view, file);
    if (text === undefined) continue;
    for (const [index, line] of linesOf(text).entries())
      if (line.trim() !== '') readLine(view, file, `line ${index + 1}`, line);
  }
};

function readLine({ collector, ledger }: ReadView, file: string, where: string, line: string): void {
  const parsed = parseJsonText(line);
  if ('problem' in parsed) return ledger.invalid(file, where, parsed.problem);
  const path = isObject(parsed.value) ? textIn(parsed.value['image_path']) : undefined;
  if (!isObject(parsed.value) || path === undefined)
    return ledger.invalid(file, where, 'each line must be a JSON object with image_path');
  const labels = list(parsed.value['classification_annotations']).map((one) => textIn(one['annotation_label']));
  const split = splitOf(textIn(parsed.value['split']) ?? '');
  const boxes = list(parsed.value['bounding_box_annotations']);
  const image = collector.imageFor(path, { file, count: labels.length + boxes.length });
  if (image === undefined) return undefined;
  const entry = collector.open({ file, image, split, unit: 1 });
  for (const label of labels) {
    if (label === undefined) ledger.invalid(file, where, 'a classification has no annotation_label');
    else entry.label(where, label);
  }
  for (const [index, box] of boxes.entries()) {
    const label = textIn(box['annotation_label']);
    const keys = ['x_min_normalized', 'y_min_normalized', 'x_max_normalized', 'y_max_normalized'];
    const [left = NaN, top = NaN, right = NaN, bottom = NaN] = keys.map((key) => numberIn(box[key]));
    const place = `${where}, box ${index + 1}`;
    if (label === undefined) ledger.invalid(file, place, 'it has no annotation_label');
    else if (![left, top, right, bottom].every((edge) => edge >= 0 && edge <= 1))
      ledger.invalid(file, place, 'x_min_normalized … y_max_normalized must be numbers in 0..1');
    else entry.box(place, { label, shape: { kind: 'box', edges: [left, top, right, bottom] } });
  }
}
