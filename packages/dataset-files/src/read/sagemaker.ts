import { isObject, type Json } from '@platform/contract/text/json-object';
import { linesOf, parseJsonText } from '../text.ts';
import { numberIn, type ReadFiles, type ReadView, textIn, textOf } from './reader.ts';

/** Reads the augmented manifest of SageMaker Ground Truth: one JSON object per line with source-ref. */
export const readSageMaker: ReadFiles = async (view, files) => {
  for (const file of files) {
    const text = await textOf(view, file);
    for (const [index, line] of linesOf(text ?? '').entries())
      if (line.trim() !== '') readLine(view, file, `line ${index + 1}`, line);
  }
};

type Found = { readonly label: string | undefined; readonly box?: Json };

function readLine({ collector, ledger }: ReadView, file: string, where: string, line: string): void {
  const parsed = parseJsonText(line);
  if ('problem' in parsed) return ledger.invalid(file, where, parsed.problem);
  const one = parsed.value;
  const name = isObject(one) ? textIn(one['source-ref']) : undefined;
  if (!isObject(one) || name === undefined) return ledger.invalid(file, where, 'it has no source-ref');
  const found = Object.keys(one)
    .filter((key) => isObject(one[`${key}-metadata`]))
    .flatMap((key) => annotationsOf(one[key], one[`${key}-metadata`] as Json));
  const image = collector.imageFor(name, { file, count: found.length });
  if (image === undefined) return undefined;
  const entry = collector.open({ file, image, declared: sizeIn(one) });
  for (const [index, { label, box }] of found.entries()) {
    const place = `${where}, annotation ${index + 1}`;
    if (label === undefined) ledger.invalid(file, place, 'its class has no name in class-map');
    else if (!box) entry.label(place, label);
    else {
      const [x = NaN, y = NaN, w = NaN, h = NaN] = ['left', 'top', 'width', 'height'].map((key) => numberIn(box[key]));
      if (![x, y, w, h].every(Number.isFinite))
        ledger.invalid(file, place, 'it needs the numbers left, top, width and height');
      else entry.box(place, { label, shape: { kind: 'box', edges: [x, y, x + w, y + h] } });
    }
  }
}

function annotationsOf(value: unknown, metadata: Json): Found[] {
  const map: unknown = metadata['class-map'];
  const nameOf = (id: unknown): string | undefined => (isObject(map) ? textIn(map[String(id)]) : undefined);
  if (isObject(value) && Array.isArray(value['annotations']))
    return value['annotations'].filter(isObject).map((box) => ({ label: nameOf(box['class_id']), box }));
  if (Array.isArray(value)) return value.map((id) => ({ label: nameOf(id) }));
  return [{ label: textIn(metadata['class-name']) ?? nameOf(value) }];
}

function sizeIn(one: Json): { width: number; height: number } | undefined {
  for (const value of Object.values(one)) {
    const [size]: unknown[] = isObject(value) && Array.isArray(value['image_size']) ? value['image_size'] : [];
    if (isObject(size)) return { width: numberIn(size['width']), height: numberIn(size['height']) };
  }
  return undefined;
}
