import Papa from 'papaparse';
import type { Split } from '@platform/contract/job/job';
import type { Annotation } from '../boxes.ts';
import { baseName, folderName, splitOf } from '../file-names.ts';
import { numberIn, type ReadFiles, type ReadView, textOf } from './reader.ts';

/** What one row says of an image. */
interface Row {
  readonly image: string;
  readonly labels: readonly string[];
  readonly box?: Annotation;
  readonly size?: { readonly width: number; readonly height: number };
  readonly unit?: number;
  readonly split?: Split | undefined;
}
type RowReader = (cells: readonly string[]) => Row | { readonly problem: string };
/** How the rows of a CSV file are to be read. */
export interface CsvLayout {
  readonly name: string;
  readonly hasHeader: boolean;
  readonly read: RowReader;
}

const imageColumns = ['filename', 'file_name', 'image', 'image_path', 'path', 'file', 'image_id', 'image_name'];
const labelColumns = ['class', 'label', 'category', 'class_name', 'classname', 'label_name'];
const edgeColumns = ['xmin', 'ymin', 'xmax', 'ymax'];
const isImageName = (text: string): boolean => /\.(jpe?g|png|webp)$/i.test(text.split(/[?#]/)[0] ?? '');

export function parseCsv(text: string): { readonly rows: readonly string[][] } | { readonly problem: string } {
  const { data, errors } = Papa.parse<string[]>(text.replace(/^\ufeff/, ''), {
    skipEmptyLines: 'greedy',
    delimitersToGuess: [',', ';', '\t'],
  });
  const wrong = errors.find(({ type }) => type === 'Quotes');
  if (wrong) return { problem: `row ${(wrong.row ?? 0) + 1}: ${wrong.message}` };
  return { rows: data.map((cells) => cells.map((cell) => cell.trim())) };
}

/** Decides by header or first row; undefined for another table. */
export function csvLayout(rows: readonly (readonly string[])[]): CsvLayout | undefined {
  const [first = [], second] = rows;
  const header = first.map((cell) => cell.toLowerCase());
  const image = header.findIndex((cell) => imageColumns.includes(cell));
  if (image >= 0) return withHeader(first, header, image, second);
  return withoutHeader(first);
}

function withHeader(
  first: readonly string[],
  header: readonly string[],
  image: number,
  second: readonly string[] | undefined,
): CsvLayout | undefined {
  const label = header.findIndex((cell) => labelColumns.includes(cell));
  const edges = edgeColumns.map((name) => header.findIndex((cell) => cell.replace('_', '') === name));
  const [width, height] = [header.indexOf('width'), header.indexOf('height')];
  const split = header.findIndex((cell) => cell === 'split' || cell === 'subset');
  const splitIn = (cells: readonly string[]): Split | undefined => splitOf(cells[split] ?? '');
  if (label >= 0 && edges.every((at) => at >= 0))
    return {
      name: 'boxes',
      hasHeader: true,
      read: (cells) => ({
        image: cells[image] ?? '',
        labels: [],
        box: boxIn(
          cells[label],
          edges.map((at) => cells[at]),
        ),
        size: { width: numberIn(cells[width]), height: numberIn(cells[height]) },
        split: splitIn(cells),
      }),
    };
  if (label >= 0)
    return {
      name: 'labels',
      hasHeader: true,
      read: (cells) => ({ image: cells[image] ?? '', labels: filled([cells[label]]), split: splitIn(cells) }),
    };
  const classes = [...header.keys()].filter((at) => at !== image && at !== split);
  const isMarked = classes.length > 0 && classes.every((at) => /^[01](\.0)?$/.test(second?.[at] ?? ''));
  if (!isMarked) return undefined;
  return {
    name: 'a column per label',
    hasHeader: true,
    read: (cells) => {
      const odd = classes.find((at) => !/^([01](\.0)?)?$/.test(cells[at] ?? ''));
      if (odd !== undefined) return { problem: `column ${first[odd] ?? ''} must be 0 or 1, not ${cells[odd] ?? ''}` };
      const labels = classes.filter((at) => Number(cells[at]) === 1).map((at) => first[at] ?? '');
      return { image: cells[image] ?? '', labels, split: splitIn(cells) };
    },
  };
}

/** Vertex AI and Keras RetinaNet have no header. */
function withoutHeader(first: readonly string[]): CsvLayout | undefined {
  const at = first.findIndex(isImageName);
  const isKeras = at === 0 && first.length === 6 && first.slice(1, 5).every((cell) => Number.isFinite(numberIn(cell)));
  if (isKeras)
    return {
      name: 'Keras RetinaNet',
      hasHeader: false,
      read: (cells) => ({ image: cells[0] ?? '', labels: [], box: boxIn(cells[5], cells.slice(1, 5)) }),
    };
  if (at < 0 || at > 1 || first.length < at + 2) return undefined;
  if (at === 1 && !/^(training|train|validation|test|unassigned)$/i.test(first[0] ?? '')) return undefined;
  return { name: 'Vertex AI', hasHeader: false, read: (cells) => vertexRow(cells, at) };
}

/** `[ml_use,]path,label,x_min,y_min,,,x_max,y_max,,` with shares, or `[ml_use,]path,label[,label …]`. */
function vertexRow(cells: readonly string[], at: number): Row | { readonly problem: string } {
  const split = at === 1 ? splitOf(cells[0] ?? '') : undefined;
  const [image = '', label = '', ...rest] = cells.slice(at);
  const numbers = rest.filter((cell) => cell !== '');
  const isBox = numbers.length > 0 && numbers.every((cell) => Number.isFinite(numberIn(cell)));
  if (!isBox) return { image, labels: filled([label, ...rest]), split };
  const xs = [rest[0], rest[2], rest[4], rest[6]].map(numberIn).filter(Number.isFinite);
  const ys = [rest[1], rest[3], rest[5], rest[7]].map(numberIn).filter(Number.isFinite);
  if (xs.length < 2 || ys.length < 2) return { problem: 'a box needs x_min, y_min, x_max and y_max' };
  const edges = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)] as const;
  return { image, labels: [], box: { label, shape: { kind: 'box', edges } }, unit: 1, split };
}

const filled = (cells: readonly (string | undefined)[]): string[] =>
  cells.filter((cell): cell is string => cell !== undefined && cell !== '');

function boxIn(label: string | undefined, cells: readonly (string | undefined)[]): Annotation {
  const [left = NaN, top = NaN, right = NaN, bottom = NaN] = cells.map(numberIn);
  return { label: label ?? '', shape: { kind: 'box', edges: [left, top, right, bottom] } };
}

/** Reads tables of Roboflow, TensorFlow, Vertex AI and Keras RetinaNet. */
export const readCsv: ReadFiles = async (view, files) => {
  for (const file of files) {
    const text = await textOf(view, file);
    if (text === undefined) continue;
    const parsed = parseCsv(text);
    if ('problem' in parsed) {
      view.ledger.invalid(file, 'file', parsed.problem);
      continue;
    }
    const layout = csvLayout(parsed.rows);
    if (!layout) continue;
    for (const [index, cells] of parsed.rows.entries())
      if (index > 0 || !layout.hasHeader) readRow(view, file, `row ${index + 1}`, layout.read(cells));
  }
};

function readRow({ collector, ledger }: ReadView, file: string, where: string, row: ReturnType<RowReader>): void {
  if ('problem' in row) return ledger.invalid(file, where, row.problem);
  const { image: name, labels, box, size, unit, split } = row;
  if (name === '') return ledger.invalid(file, where, 'it names no image');
  const folder = folderName(file);
  const image = collector.imageFor(name, {
    file,
    count: labels.length + (box ? 1 : 0),
    among: [(path) => folder === '' || path.startsWith(`${folder}/`)],
  });
  if (image === undefined) return undefined;
  const entry = collector.open({ file, image, declared: size, split, ...(unit !== undefined && { unit }) });
  for (const label of labels) entry.label(where, label);
  if (!box) return undefined;
  const isWhole = box.shape.kind === 'box' && box.shape.edges.every(Number.isFinite);
  if (box.label === '') ledger.invalid(file, where, 'it has no label');
  else if (!isWhole) ledger.invalid(file, where, 'its edges are not four numbers');
  else entry.box(where, box);
  return undefined;
}

/** Whether a CSV file with this name lists class names with their numbers, as Keras RetinaNet has it. */
export const isClassTable = (path: string, rows: readonly (readonly string[])[]): boolean =>
  /class/i.test(baseName(path)) &&
  rows.length > 0 &&
  rows.every((cells) => cells.length === 2 && /^\d+$/.test(cells[1] ?? ''));
