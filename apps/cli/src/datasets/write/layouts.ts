import { dump } from 'js-yaml';
import type { Box } from '@platform/client';
import type { Split } from '@platform/contract/job';
import { withoutExtension } from '../annotated.ts';

/** An image to export. */
export interface ExportedImage {
  /** Unique name, also without the extension. */
  readonly file: string;
  readonly labels: readonly string[];
  readonly split: Split | undefined;
  readonly boxes: readonly (Box & { readonly confidence?: number | undefined })[];
  /** Size in pixels, upright. */
  readonly width: number;
  readonly height: number;
}

/** File layout of a format. */
export interface Layout {
  /** Paths of an image below the folder; several if it has several labels. */
  readonly pathsOf: (image: Pick<ExportedImage, 'file' | 'labels' | 'split'>) => readonly string[];
  /** Annotation files, by path. */
  readonly textsOf: (images: readonly ExportedImage[]) => ReadonlyMap<string, string>;
  /** What the format cannot store. */
  readonly omits: 'labels' | 'boxes';
}

export const layoutNames = ['folders', 'coco', 'yolo', 'voc'] as const;
export type LayoutName = (typeof layoutNames)[number];

const join = (...parts: readonly string[]): string => parts.filter((part) => part !== '').join('/');
const labelsOfBoxes = (images: readonly ExportedImage[]): string[] =>
  [...new Set(images.flatMap(({ boxes }) => boxes.map(({ label }) => label)))].toSorted();
const splitsOf = (images: readonly ExportedImage[]): (Split | undefined)[] => [
  ...new Set(images.map(({ split }) => split)),
];

const classSplits = { train: 'train', validation: 'validation', test: 'test' } as const;

/** Converts a label to a valid folder name. */
export const folderOf = (label: string): string =>
  label.replace(/[\p{Cc}<>:"/\\|?*]/gu, '_').replace(/^[. ]+|[. ]+$/g, (dots) => '_'.repeat(dots.length));

/** One folder per label; an image with several labels is in each of their folders. */
const folders: Layout = {
  omits: 'boxes',
  pathsOf: ({ file, labels, split }) => {
    const root = split ? classSplits[split] : '';
    return labels.length === 0 ? [join(root, file)] : labels.map((label) => join(root, folderOf(label), file));
  },
  textsOf: () => new Map(),
};

const cocoSplits = { train: 'train', validation: 'valid', test: 'test' } as const;

/** A folder per split with its images and `_annotations.coco.json`. */
const coco: Layout = {
  omits: 'labels',
  pathsOf: ({ file, split }) => [join(split ? cocoSplits[split] : '', file)],
  textsOf: (images) => {
    const names = labelsOfBoxes(images);
    const ids = new Map(names.map((name, index) => [name, index + 1]));
    const categories = names.map((name, index) => ({ id: index + 1, name, supercategory: '' }));
    return new Map(
      splitsOf(images).map((split) => {
        const own = images.filter((image) => image.split === split);
        const document = { images: own.map(cocoImage), categories, annotations: cocoAnnotations(own, ids) };
        return [join(split ? cocoSplits[split] : '', '_annotations.coco.json'), `${JSON.stringify(document)}\n`];
      }),
    );
  },
};

const cocoImage = ({ file, width, height }: ExportedImage, index: number) => ({
  id: index + 1,
  file_name: file,
  width,
  height,
});

function cocoAnnotations(images: readonly ExportedImage[], ids: ReadonlyMap<string, number>) {
  return images
    .flatMap(({ boxes, width, height }, image) =>
      boxes.map((box) => ({
        image_id: image + 1,
        category_id: ids.get(box.label) ?? 0,
        bbox: [box.xMin * width, box.yMin * height, (box.xMax - box.xMin) * width, (box.yMax - box.yMin) * height],
        area: (box.xMax - box.xMin) * width * (box.yMax - box.yMin) * height,
        iscrowd: 0,
        ...(box.confidence !== undefined && { score: box.confidence }),
      })),
    )
    .map((one, index) => ({ id: index + 1, ...one }));
}

const yoloSplits = { train: 'train', validation: 'val', test: 'test' } as const;

/** images/ and labels/ with a folder per split, and data.yaml with the class names. */
const yolo: Layout = {
  omits: 'labels',
  pathsOf: ({ file, split }) => [join('images', split ? yoloSplits[split] : '', file)],
  textsOf: (images) => {
    const names = labelsOfBoxes(images);
    const splits = splitsOf(images).filter((split) => split !== undefined);
    const entries = splits.map((split) => [yoloSplits[split], `images/${yoloSplits[split]}`]);
    const document = { ...Object.fromEntries(entries), nc: names.length, names };
    const texts = images.map(({ file, split, boxes }): [string, string] => [
      join('labels', split ? yoloSplits[split] : '', `${withoutExtension(file)}.txt`),
      boxes.map((box) => `${yoloLine(box, names)}\n`).join(''),
    ]);
    return new Map([['data.yaml', dump(document)], ...texts]);
  },
};

const yoloLine = (box: Box, names: readonly string[]): string =>
  [
    names.indexOf(box.label),
    ...[(box.xMin + box.xMax) / 2, (box.yMin + box.yMax) / 2, box.xMax - box.xMin, box.yMax - box.yMin].map((share) =>
      share.toFixed(6),
    ),
  ].join(' ');

const vocSplits = { train: 'train', validation: 'val', test: 'test' } as const;

/** Annotations/, JPEGImages/ and ImageSets/Main/ with the image names of each split. */
const voc: Layout = {
  omits: 'labels',
  pathsOf: ({ file }) => [`JPEGImages/${file}`],
  textsOf: (images) => {
    const texts = images.map((image): [string, string] => [
      `Annotations/${withoutExtension(image.file)}.xml`,
      vocText(image),
    ]);
    const splits = splitsOf(images).filter((split) => split !== undefined);
    const sets = splits.map((split): [string, string] => [
      `ImageSets/Main/${vocSplits[split]}.txt`,
      images
        .filter((image) => image.split === split)
        .map(({ file }) => `${withoutExtension(file)}\n`)
        .join(''),
    ]);
    return new Map([...texts, ...sets]);
  },
};

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => escapes[character] ?? character);

/** Integer pixels, because many readers require them; a box keeps an area of at least one pixel. */
function vocText({ file, width, height, boxes }: ExportedImage): string {
  const objects = boxes.map((box) => {
    const [xmin, ymin] = [Math.round(box.xMin * width), Math.round(box.yMin * height)];
    const xmax = Math.max(xmin + 1, Math.round(box.xMax * width));
    const ymax = Math.max(ymin + 1, Math.round(box.yMax * height));
    return `  <object>
    <name>${escaped(box.label)}</name>
    <pose>Unspecified</pose>
    <truncated>0</truncated>
    <difficult>0</difficult>
    <bndbox><xmin>${xmin}</xmin><ymin>${ymin}</ymin><xmax>${xmax}</xmax><ymax>${ymax}</ymax></bndbox>
  </object>
`;
  });
  return `<annotation>
  <folder>JPEGImages</folder>
  <filename>${escaped(file)}</filename>
  <size><width>${width}</width><height>${height}</height><depth>3</depth></size>
  <segmented>0</segmented>
${objects.join('')}</annotation>
`;
}

export const layouts: Readonly<Record<LayoutName, Layout>> = { folders, coco, yolo, voc };
