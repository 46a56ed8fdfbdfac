/** Files that annotation tools and training services read. */
import Papa from 'papaparse';
import {
  edgesOf,
  escapedXml,
  type ExportedImage,
  haveBoxes,
  inPlaces,
  inSplitFolder,
  labelsOfBoxes,
  type Layout,
  textPerSplit,
} from './layout.ts';

/** "CVAT for images 1.1": tags and boxes; the split is the subset. */
export const cvat: Layout = {
  omits: 'nothing',
  placesOf: inPlaces(({ file }) => `images/${file}`),
  textsOf: (images) => {
    const elements = images.map((image, id) => {
      const { file, split, labels, boxes, width, height } = image;
      const tags = labels.map((label) => `    <tag label="${escapedXml(label)}" source="manual"/>\n`);
      const rectangles = boxes.map((box) => {
        const { left, top, right, bottom } = edgesOf(box, image);
        return `    <box label="${escapedXml(box.label)}" source="manual" occluded="0" xtl="${left}" ytl="${top}" xbr="${right}" ybr="${bottom}" z_order="0"/>\n`;
      });
      const subset = split === undefined ? '' : ` subset="${split}"`;
      return `  <image id="${id}" name="${escapedXml(file)}"${subset} width="${width}" height="${height}">\n${[...tags, ...rectangles].join('')}  </image>\n`;
    });
    const text = `<?xml version="1.0" encoding="utf-8"?>\n<annotations>\n  <version>1.1</version>\n${elements.join('')}</annotations>\n`;
    return new Map([['annotations.xml', text]]);
  },
};

const percent = (share: number): number => share * 100;

/** Label Studio's JSON: choices and rectangles. It has no splits: folders hold them. */
export const labelstudio: Layout = {
  omits: 'nothing',
  placesOf: inPlaces(inSplitFolder),
  textsOf: (images) => {
    const tasks = images.map((image, index) => {
      const { labels, boxes, width, height } = image;
      const sized = { original_width: width, original_height: height, image_rotation: 0 };
      const choices = { ...sized, type: 'choices', from_name: 'choice', to_name: 'image', value: { choices: labels } };
      const rectangles = boxes.map(({ label, xMin, yMin, xMax, yMax }) => ({
        ...sized,
        type: 'rectanglelabels',
        from_name: 'label',
        to_name: 'image',
        value: {
          x: percent(xMin),
          y: percent(yMin),
          width: percent(xMax - xMin),
          height: percent(yMax - yMin),
          rotation: 0,
          rectanglelabels: [label],
        },
      }));
      const result = [...(labels.length > 0 ? [choices] : []), ...rectangles];
      return { id: index + 1, data: { image: inSplitFolder(image) }, annotations: [{ result }] };
    });
    return new Map([['tasks.json', `${JSON.stringify(tasks, undefined, 1)}\n`]]);
  },
};

/** Create ML: one file per split; x and y are the center of a box. Without boxes: the labels of each image. */
export const createml: Layout = {
  omits: 'labels beside boxes',
  placesOf: inPlaces(inSplitFolder),
  textsOf: (all) =>
    textPerSplit('_annotations.createml.json', all, (images) => {
      const annotationsOf = haveBoxes(all) ? createmlBoxes : ({ labels }: ExportedImage) => labels;
      const entries = images.map((image) => ({ image: image.file, annotations: annotationsOf(image) }));
      return `${JSON.stringify(entries)}\n`;
    }),
};

const createmlBoxes = (image: ExportedImage): object[] =>
  image.boxes.map((box) => {
    const { left, top, right, bottom } = edgesOf(box, image);
    const coordinates = { x: (left + right) / 2, y: (top + bottom) / 2, width: right - left, height: bottom - top };
    return { label: box.label, coordinates };
  });

const csvHeader = ['filename', 'width', 'height', 'class', 'xmin', 'ymin', 'xmax', 'ymax'];

const labelHeader = ['filename', 'label'];

/**
 * The table that TensorFlow and Roboflow use: one row per box, one file per split. Without boxes: one row per label, and
 * one for an image without any.
 */
export const csv: Layout = {
  omits: 'labels beside boxes',
  placesOf: inPlaces(inSplitFolder),
  textsOf: (all) =>
    textPerSplit('_annotations.csv', all, (images) => {
      const table = haveBoxes(all)
        ? [csvHeader, ...images.flatMap(csvBoxes)]
        : [
            labelHeader,
            ...images.flatMap(({ file, labels }) => (labels.length > 0 ? labels : ['']).map((one) => [file, one])),
          ];
      return `${Papa.unparse(table, { newline: '\n' })}\n`;
    }),
};

const csvBoxes = (image: ExportedImage): (string | number)[][] =>
  image.boxes.map((box) => {
    const { left, top, right, bottom } = edgesOf(box, image);
    return [image.file, image.width, image.height, box.label, left, top, right, bottom];
  });

/** Augmented manifest of SageMaker Ground Truth: one file per split. */
export const sagemaker: Layout = {
  omits: 'nothing',
  placesOf: inPlaces(inSplitFolder),
  textsOf: (all) => {
    const boxNames = labelsOfBoxes(all);
    const labelNames = [...new Set(all.flatMap(({ labels }) => labels))].toSorted();
    return textPerSplit('output.manifest', all, (images) =>
      images.map((image) => `${JSON.stringify(manifestLine(image, boxNames, labelNames))}\n`).join(''),
    );
  },
};

const classMap = (names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name, index) => [String(index), name]));

function manifestLine(image: ExportedImage, boxNames: readonly string[], labelNames: readonly string[]): object {
  const annotations = image.boxes.map((box) => {
    const { left, top, right, bottom } = edgesOf(box, image);
    return { class_id: boxNames.indexOf(box.label), left, top, width: right - left, height: bottom - top };
  });
  const size = { width: image.width, height: image.height, depth: 3 };
  return {
    'source-ref': image.file,
    boxes: { annotations, image_size: [size] },
    'boxes-metadata': { 'class-map': classMap(boxNames), type: 'groundtruth/object-detection' },
    ...(image.labels.length > 0 && {
      labels: image.labels.map((label) => labelNames.indexOf(label)),
      'labels-metadata': { 'class-map': classMap(labelNames), type: 'groundtruth/image-classification-multilabel' },
    }),
  };
}
