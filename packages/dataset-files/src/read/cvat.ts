import { type Annotation, type Point, rotatedCorners, type Shape } from '../boxes.ts';
import { splitOf } from '../file-names.ts';
import { numberIn, type ReadFiles, type ReadView, xmlTextOf } from './reader.ts';
import { walkXml } from './xml.ts';

type Attributes = Readonly<Record<string, string>>;
interface CvatImage {
  readonly attributes: Attributes;
  readonly shapes: { readonly kind: string; readonly attributes: Attributes }[];
}

const imagePath = 'annotations/image';
const shapeKinds = new Set(['box', 'polygon', 'ellipse', 'mask', 'polyline', 'points', 'cuboid', 'skeleton', 'tag']);

/** Reads "CVAT for images 1.1". */
export const readCvat: ReadFiles = async (view, files) => {
  for (const file of files) {
    const text = await xmlTextOf(view, file);
    if (text === undefined) continue;
    const images: CvatImage[] = [];
    let tracks = 0;
    const problem = walkXml(text, {
      open: (path, attributes) => {
        if (path === imagePath) images.push({ attributes, shapes: [] });
        else if (path === 'annotations/track') tracks++;
        else if (path.startsWith(`${imagePath}/`)) {
          const kind = path.slice(imagePath.length + 1);
          if (shapeKinds.has(kind)) images.at(-1)?.shapes.push({ kind, attributes });
        }
      },
      text: () => undefined,
    });
    if (problem !== undefined) view.ledger.invalid(file, 'file', problem);
    else if (tracks > 0)
      view.ledger.invalid(file, 'file', 'it is "CVAT for video": export the task as "CVAT for images 1.1"');
    else for (const image of images) readImage(view, file, image);
  }
};

function readImage({ collector, ledger }: ReadView, file: string, { attributes, shapes }: CvatImage): void {
  const name = attributes['name'] ?? '';
  if (name === '') return ledger.invalid(file, `image ${attributes['id'] ?? '?'}`, 'it has no name');
  const image = collector.imageFor(name, { file, count: shapes.length });
  if (image === undefined) return undefined;
  const declared = { width: numberIn(attributes['width']), height: numberIn(attributes['height']) };
  const entry = collector.open({ file, image, declared, split: splitOf(attributes['subset'] ?? '') });
  for (const [index, one] of shapes.entries()) {
    const where = `image ${name}, ${one.kind} ${index + 1}`;
    const label = one.attributes['label'] ?? '';
    const shape = shapeOf(one.kind, one.attributes);
    if (label === '') ledger.invalid(file, where, 'it has no label');
    else if (one.kind === 'tag') entry.label(where, label);
    else if (shape === undefined) ledger.invalid(file, where, 'its coordinates are not numbers');
    else entry.box(where, { label, shape } satisfies Annotation);
  }
}

function shapeOf(kind: string, attributes: Attributes): Shape | undefined {
  const numbers = (...keys: string[]): number[] => keys.map((key) => numberIn(attributes[key]));
  if (kind === 'box') {
    const [left = NaN, top = NaN, right = NaN, bottom = NaN] = numbers('xtl', 'ytl', 'xbr', 'ybr');
    const edges = [left, top, right, bottom] as const;
    if (!edges.every(Number.isFinite)) return undefined;
    const rotation = numberIn(attributes['rotation'] ?? '0');
    if (rotation % 360 === 0) return { kind: 'box', edges };
    return { kind: 'rotated box', corners: rotatedCorners(edges, [(left + right) / 2, (top + bottom) / 2], rotation) };
  }
  if (kind === 'ellipse') {
    const [cx = NaN, cy = NaN, rx = NaN, ry = NaN] = numbers('cx', 'cy', 'rx', 'ry');
    if (![cx, cy, rx, ry].every(Number.isFinite)) return undefined;
    return { kind: 'ellipse', center: [cx, cy], radii: [rx, ry] };
  }
  if (kind === 'mask') {
    const [left = NaN, top = NaN, width = NaN, height = NaN] = numbers('left', 'top', 'width', 'height');
    if (![left, top, width, height].every(Number.isFinite)) return { kind: 'left out', reason: 'mask without a box' };
    return {
      kind: 'outline',
      points: [
        [left, top],
        [left + width, top + height],
      ],
    };
  }
  if (kind !== 'polygon') return { kind: 'left out', reason: 'neither box nor outline' };
  const points = (attributes['points'] ?? '').split(';').map((pair): Point => {
    const [x = NaN, y = NaN] = pair.split(',').map(numberIn);
    return [x, y];
  });
  return points.flat().every(Number.isFinite) ? { kind: 'outline', points } : undefined;
}
