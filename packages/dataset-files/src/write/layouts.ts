import { dump } from 'js-yaml';
import type { Split } from '@platform/contract/job/job';
import type { Box } from '../boxes.ts';
import { splitOf, withoutExtension } from '../file-names.ts';
import { noSplitFolder } from '../read/folders.ts';
import { createml, csv, cvat, labelstudio, sagemaker } from './annotation-tools.ts';
import {
  edgesOf,
  escapedXml,
  type ExportedImage,
  inPlaces,
  inSplitFolder,
  join,
  labelsOfBoxes,
  type Layout,
  type PlacedImage,
  textPerSplit,
} from './layout.ts';

export const layoutNames = [
  'folders',
  'coco',
  'yolo',
  'voc',
  'cvat',
  'labelstudio',
  'createml',
  'csv',
  'sagemaker',
] as const;
export type LayoutName = (typeof layoutNames)[number];

const splitsOf = (images: readonly ExportedImage[]): (Split | undefined)[] => [
  ...new Set(images.map(({ split }) => split)),
];

const classSplits = { train: 'train', validation: 'validation', test: 'test' } as const;

/** Converts a label to a valid folder name. */
export const folderOf = (label: string): string =>
  label.replace(/[\p{Cc}<>:"/\\|?*]/gu, '_').replace(/^[. ]+|[. ]+$/g, (dots) => '_'.repeat(dots.length));

/** Whether an import could take a label folder for a split, or a split for a label. */
function isAmbiguous(images: readonly PlacedImage[]): boolean {
  const isSplitName = (label: string): boolean => splitOf(label) !== undefined || label.toLowerCase() === noSplitFolder;
  return (
    images.some(({ labels }) => labels.some(isSplitName)) ||
    images.some(({ labels, split }) => split !== undefined && labels.length === 0)
  );
}

/** One folder per label; an image with several labels is in each of their folders. */
const folders: Layout = {
  omits: 'boxes',
  placesOf: (images) => {
    const outside = isAmbiguous(images) ? noSplitFolder : '';
    return new Map(
      images.map(({ file, labels, split }) => {
        if (labels.length === 0) return [file, [join(split ? classSplits[split] : '', file)]];
        const root = split ? classSplits[split] : outside;
        return [file, labels.map((label) => join(root, folderOf(label), file))];
      }),
    );
  },
  textsOf: () => new Map(),
};

/** A folder per split with its images and `_annotations.coco.json`. */
const coco: Layout = {
  omits: 'labels',
  placesOf: inPlaces(inSplitFolder),
  textsOf: (all) => {
    const names = labelsOfBoxes(all);
    const ids = new Map(names.map((name, index) => [name, index + 1]));
    const categories = names.map((name, index) => ({ id: index + 1, name, supercategory: '' }));
    return textPerSplit('_annotations.coco.json', all, (images) => {
      const document = { images: images.map(cocoImage), categories, annotations: cocoAnnotations(images, ids) };
      return `${JSON.stringify(document)}\n`;
    });
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
    .flatMap((image, index) =>
      image.boxes.map((box) => {
        const { left, top, right, bottom } = edgesOf(box, image);
        return {
          image_id: index + 1,
          category_id: ids.get(box.label) ?? 0,
          bbox: [left, top, right - left, bottom - top],
          area: (right - left) * (bottom - top),
          iscrowd: 0,
          ...(box.confidence !== undefined && { score: box.confidence }),
        };
      }),
    )
    .map((one, index) => ({ id: index + 1, ...one }));
}

const yoloSplits = { train: 'train', validation: 'val', test: 'test' } as const;

/** images/ and labels/ with a folder per split, and data.yaml with the class names. */
const yolo: Layout = {
  omits: 'labels',
  placesOf: inPlaces(({ file, split }) => join('images', split ? yoloSplits[split] : '', file)),
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
  placesOf: inPlaces(({ file }) => `JPEGImages/${file}`),
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

/** Integer pixels, because many readers require them; a box keeps an area of at least one pixel. */
function vocText({ file, width, height, boxes }: ExportedImage): string {
  const objects = boxes.map((box) => {
    const [xmin, ymin] = [Math.round(box.xMin * width), Math.round(box.yMin * height)];
    const xmax = Math.max(xmin + 1, Math.round(box.xMax * width));
    const ymax = Math.max(ymin + 1, Math.round(box.yMax * height));
    return `  <object>
    <name>${escapedXml(box.label)}</name>
    <pose>Unspecified</pose>
    <truncated>0</truncated>
    <difficult>0</difficult>
    <bndbox><xmin>${xmin}</xmin><ymin>${ymin}</ymin><xmax>${xmax}</xmax><ymax>${ymax}</ymax></bndbox>
  </object>
`;
  });
  return `<annotation>
  <folder>JPEGImages</folder>
  <filename>${escapedXml(file)}</filename>
  <size><width>${width}</width><height>${height}</height><depth>3</depth></size>
  <segmented>0</segmented>
${objects.join('')}</annotation>
`;
}

export const layouts: Readonly<Record<LayoutName, Layout>> = {
  folders,
  coco,
  yolo,
  voc,
  cvat,
  labelstudio,
  createml,
  csv,
  sagemaker,
};
