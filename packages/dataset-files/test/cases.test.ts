// Folders as other tools write them: each keeps every label and box, and accounts for the rest.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planImport } from '../src/plan.ts';
import type { ImportPlan } from '../src/planned-images.ts';
import { hasLoss } from '../src/ledger.ts';
import { imageHeader } from '../src/image-header.ts';
import { ledgerGroups } from '../src/summary.ts';
import { type Case, cases, memorySource } from './case-files.ts';

/** Boxes in pixels of the upright image, by the image's path. */
async function pixels(one: Case, plan: ImportPlan): Promise<Map<string, (string | number)[][]>> {
  const source = memorySource(one.files);
  const found = new Map<string, (string | number)[][]>();
  for (const { path, boxes } of plan.images) {
    const read = imageHeader(await source.read(path), true);
    assert.ok('header' in read);
    const { width, height } = read.header.upright;
    const edges = boxes.map(({ label, xMin, yMin, xMax, yMax }) => [
      label,
      ...[xMin * width, yMin * height, xMax * width, yMax * height].map((edge) => Number(edge.toFixed(2))),
    ]);
    found.set(path, edges);
  }
  return found;
}

const isBoxes = (value: unknown): value is [string, ...number[]][] =>
  Array.isArray(value) && value.every((one) => Array.isArray(one));
const isLabels = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string');

/** Compares with the boxes and labels of the case. */
async function compare(one: Case, plan: ImportPlan): Promise<number> {
  const boxes = await pixels(one, plan);
  let compared = 0;
  for (const [name, value] of Object.entries(one.expected ?? {})) {
    if (!name.endsWith('.png')) continue;
    const image = plan.images.find(({ path }) => `/${path}`.normalize('NFC').endsWith(`/${name}`.normalize('NFC')));
    assert.ok(image, name);
    compared++;
    if (isLabels(value)) assert.deepEqual(image.labels, value, name);
    else if (isBoxes(value)) {
      const found = boxes.get(image.path) ?? [];
      assert.equal(found.length, value.length, name);
      for (const [at, box] of value.entries())
        for (const [edge, expected] of box.entries()) {
          const actual = found[at]?.[edge];
          // Label Studio's percents have two digits.
          if (typeof expected === 'number')
            assert.ok(Math.abs(Number(actual) - expected) < 0.05, `${name}: ${String(actual)}`);
          else assert.equal(actual, expected);
        }
    }
  }
  return compared;
}

interface Right {
  readonly refusal?: RegExp;
  /** Groups of the ledger, as `outcome count reason: first example`. */
  readonly ledger?: readonly string[];
  readonly labels?: Readonly<Record<string, number>>;
  readonly boxes?: Readonly<Record<string, (string | number)[][]>>;
  readonly splits?: Readonly<Record<string, string>>;
  readonly isLoss?: boolean;
  readonly warning?: RegExp;
}
/** What the cases do not say of themselves. Without `isLoss` nothing may be left out. */
const right: Readonly<Record<string, Right>> = {
  'coco-exif-raw-coordinates': {
    boxes: { 'a.jpg': [['cup', 40, 10, 60, 30]] },
    ledger: ['changed 1 turned upright with the image (EXIF): _annotations.coco.json: annotation 1'],
  },
  'coco-iscrowd-rle': { ledger: ['left out 1 crowd region: _annotations.coco.json: annotation 2'], isLoss: true },
  'coco-missing-category': {
    ledger: ['invalid 1 category_id 9 is not the id of one of the "categories": _annotations.coco.json: annotation 77'],
    isLoss: true,
  },
  'coco-nan-literal': {
    ledger: [
      'invalid 1 NaN at line 1, column 147 is not JSON, though Python writes it: replace it by null or a number: _annotations.coco.json: file',
    ],
    isLoss: true,
  },
  'coco-one-zero-area-box': { ledger: ['left out 1 no area: _annotations.coco.json: annotation 2'], isLoss: true },
  'coco-segmentation-only': { ledger: ['changed 1 box around an outline: _annotations.coco.json: annotation 1'] },
  'createml-json': { splits: { 'train/a.png': 'train' } },
  'darknet-obj-names': { splits: { 'obj_train_data/a.png': 'train' } },
  'folders-class-named-train': { labels: { bus: 3, car: 3, train: 3 }, splits: {} },
  'folders-labels-alike': {
    labels: { Kröte: 6, kröte: 2, 'toad, green': 2 },
    warning: /look alike stay apart \(kröte, Kröte\)$/,
  },
  'folders-macosx-and-checkpoints': {
    labels: { cat: 2, dog: 2 },
    ledger: [
      'not data 3 hidden: .ipynb_checkpoints/x-checkpoint.png',
      'not data 1 of the operating system: Thumbs.db',
      'not data 1 in a folder of the operating system: __MACOSX/cat/._0.png',
    ],
  },
  'roboflow-yolov8-layout': {
    splits: {
      'test/images/x_jpg.rf.1.jpg': 'test',
      'train/images/x_jpg.rf.1.jpg': 'train',
      'valid/images/x_jpg.rf.1.jpg': 'validation',
    },
  },
  'voc-beside-ide-xml': { ledger: ['not data 1 hidden: .idea/misc.xml'] },
  'voc-beside-other-xml-later': { ledger: ['not data 1 its first element is <metadata>: zz-metadata.xml'] },
  'voc-float-and-swapped': { ledger: ['changed 1 swapped corners put in order: a.xml: object 2'] },
  'wrong-extensions': {
    labels: { cat: 2 },
    ledger: [
      'left out 1 is text, no image: cat/note.png',
      'left out 1 is a HEIC image: convert it to JPEG: cat/photo.jpg',
      'changed 1 is WEBP, whatever its name says: cat/really-webp.jpg',
    ],
    isLoss: true,
  },
  'yolo-labelstudio-encoded-label-file': { ledger: ['not data 1 names no image: notes.json'] },
  'yolo-without-names': {
    refusal: /looks like YOLO: labels\/a\.txt has boxes, but the class names are missing: add classes\.txt/,
  },
};

test('the table of cases: every label and box, and the account of the rest', () => {
  const names = new Set(cases.map(({ name }) => name));
  assert.deepEqual(
    Object.keys(right).filter((name) => !names.has(name)),
    [],
  );
  assert.ok(cases.length >= 33, `${cases.length} cases`);
});

for (const one of cases)
  test(`${one.name}: ${one.right}`, async () => {
    const plan = await planImport(memorySource(one.files));
    const { refusal, ledger, labels, boxes, splits, isLoss = false, warning } = right[one.name] ?? {};
    if (refusal) return assert.match(plan.refusal?.problem ?? '', refusal);
    assert.equal(plan.refusal, undefined);
    const compared = await compare(one, plan);
    assert.ok(compared > 0 || labels || boxes || splits || ledger, 'the case compares something');
    const groups = ledgerGroups(plan.ledger).map(
      (group) => `${group.outcome} ${group.count} ${group.reason}: ${group.examples[0] ?? ''}`,
    );
    assert.deepEqual(groups, ledger ?? []);
    assert.equal(hasLoss(plan.ledger), isLoss);
    // Every file has exactly one entry.
    assert.deepEqual(
      plan.ledger.files.map(({ path }) => path),
      Object.keys(one.files).toSorted(),
    );
    const { seen, used, leftOut, invalid } = plan.ledger.counts;
    assert.equal(seen, used + leftOut + invalid);
    if (labels)
      assert.deepEqual(Object.fromEntries([...plan.counts].map(([label, { images }]) => [label, images])), labels);
    if (boxes) assert.deepEqual(Object.fromEntries(await pixels(one, plan)), boxes);
    if (splits)
      assert.deepEqual(
        Object.fromEntries(plan.images.flatMap(({ path, split }) => (split === undefined ? [] : [[path, split]]))),
        splits,
      );
    if (warning) assert.match(plan.ledger.warnings.join('\n'), warning);
    return undefined;
  });
