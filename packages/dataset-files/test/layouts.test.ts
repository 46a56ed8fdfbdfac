// A round trip per format: reading returns what was written.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planImport } from '../src/plan.ts';
import { type ExportedImage, omitted } from '../src/write/layout.ts';
import { folderOf, type LayoutName, layoutNames, layouts } from '../src/write/layouts.ts';
import { memorySource, pngStart } from './case-files.ts';

const box = (label: string, xMin: number, yMin: number, xMax: number, yMax: number) => ({
  label,
  xMin,
  yMin,
  xMax,
  yMax,
});
const size = { width: 640, height: 480 };
const images: readonly ExportedImage[] = [
  { file: 'a.jpg', split: 'train', labels: ['cup', 'R&D <x>'], boxes: [box('cup', 0.1, 0.2, 0.5, 0.6)], ...size },
  {
    file: 'b.png',
    split: 'validation',
    labels: ['cup'],
    boxes: [box('R&D "7": {}', 0, 0, 1, 1), { ...box('cup', 0.25, 0.25, 0.75, 0.5), confidence: 0.7 }],
    ...size,
  },
  { file: 'c.webp', split: 'test', labels: [], boxes: [], ...size },
  { file: 'd.jpg', split: undefined, labels: ['no'], boxes: [box('no', 0.123, 0.234, 0.345, 0.456)], ...size },
];

async function again(name: LayoutName, written: readonly ExportedImage[] = images) {
  const layout = layouts[name];
  const texts = layout.textsOf(written);
  const places = layout.placesOf(written);
  const paths = [...texts.keys(), ...places.values()].flat();
  assert.equal(new Set(paths).size, paths.length, 'no file is written twice');
  const image = pngStart(size.width, size.height);
  const files = Object.fromEntries([...places.values()].flat().map((path) => [path, image]));
  const plan = await planImport(memorySource({ ...Object.fromEntries(texts), ...files }));
  assert.equal(plan.refusal, undefined);
  const { counts, missing, annotations } = plan.ledger;
  assert.deepEqual([counts.leftOut, counts.invalid, missing, annotations], [0, 0, [], []]);
  return plan.images;
}

/** Half a pixel for a format with integer pixels. */
const tolerance: Partial<Readonly<Record<LayoutName, number>>> = { yolo: 1e-6, voc: 0.5 / 480 };

const kept = { boxes: 'labels', labels: 'boxes', 'labels beside boxes': 'boxes', nothing: 'labels and boxes' } as const;
for (const name of layoutNames)
  test(`${name}: splits, and ${kept[layouts[name].omits]}, come back`, async () => {
    const planned = await again(name);
    for (const image of images) {
      const own = planned.filter((one) => one.fileName === image.file);
      assert.ok(own.length > 0, image.file);
      assert.ok(
        own.every(({ split }) => split === image.split),
        image.file,
      );
      if (layouts[name].omits === 'boxes') {
        assert.deepEqual(own.flatMap(({ labels }) => labels).toSorted(), image.labels.map(folderOf).toSorted());
        continue;
      }
      if (layouts[name].omits === 'nothing') assert.deepEqual(own[0]?.labels, image.labels);
      const [{ boxes } = { boxes: [] }] = own;
      assert.deepEqual(
        boxes.map(({ label }) => label),
        image.boxes.map(({ label }) => label),
      );
      for (const [at, read] of boxes.entries())
        for (const edge of ['xMin', 'yMin', 'xMax', 'yMax'] as const)
          assert.ok(
            Math.abs(read[edge] - (image.boxes[at]?.[edge] ?? 9)) <= (tolerance[name] ?? 1e-9),
            `${image.file} ${edge}`,
          );
    }
  });

const labelled = images.map((image) => ({ ...image, boxes: [] }));
for (const name of layoutNames.filter((one) => layouts[one].omits !== 'labels' && one !== 'folders'))
  test(`${name}: labels of images without boxes come back`, async () => {
    assert.deepEqual(omitted(layouts[name], labelled), { labels: 0, boxes: 0 });
    const planned = await again(name, labelled);
    for (const { file, labels, split } of labelled) {
      const own = planned.find(({ fileName }) => fileName === file);
      assert.deepEqual([own?.labels, own?.boxes, own?.split], [labels, [], split], file);
    }
  });

test('what an export leaves out is counted', () => {
  const both = { labels: 4, boxes: 4 };
  for (const name of ['coco', 'csv', 'createml'] as const)
    assert.deepEqual(omitted(layouts[name], images), { ...both, boxes: 0 }, name);
  assert.deepEqual(omitted(layouts.coco, labelled), { labels: 4, boxes: 0 });
  assert.deepEqual(omitted(layouts.folders, images), { ...both, labels: 0 });
  assert.deepEqual(omitted(layouts.cvat, images), { labels: 0, boxes: 0 });
});

const named = (file: string, split: ExportedImage['split'], ...labels: string[]): ExportedImage => ({
  file,
  split,
  labels,
  boxes: [],
  ...size,
});
const mixtures: [name: string, images: ExportedImage[]][] = [
  [
    'labels called train and test, without splits',
    [named('a.jpg', undefined, 'train'), named('b.jpg', undefined, 'test')],
  ],
  ['labels called train and test, in splits', [named('a.jpg', 'train', 'train'), named('b.jpg', 'train', 'test')]],
  [
    'unlabelled images in a split beside labelled ones without',
    [named('a.jpg', 'train'), named('b.jpg', undefined, 'cup'), named('c.jpg', undefined)],
  ],
  ['a label called no-split', [named('a.jpg', undefined, 'no-split'), named('b.jpg', 'test', 'no-split')]],
  ['unlabelled images in splits alone', [named('a.jpg', 'train'), named('b.jpg', 'validation')]],
  ['one label called val', [named('a.jpg', undefined, 'val')]],
];
for (const [name, written] of mixtures)
  test(`folders: ${name}, come back`, async () => {
    const read = await again('folders', written);
    const of = (all: readonly Pick<ExportedImage, 'labels' | 'split'>[]) =>
      all.map(({ labels, split }) => [labels, split]);
    const byName = written.map((image) => read.find(({ fileName }) => fileName === image.file) ?? image);
    assert.deepEqual(of(byName), of(written));
  });

test('no label leads out of the folder', () => {
  for (const label of ['..', '.', '../x', 'a/b', '/etc', 'a\\b', 'c:', ' ', 'x\u0000y'])
    assert.doesNotMatch(folderOf(label), /^\.{0,2}$|[/\\:\0]|^ | $/, label);
});
