import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planImport } from '../src/plan.ts';
import { memorySource, pngStart } from './case-files.ts';

const box = {
  annotation_label: 'lid',
  x_min_normalized: 0.1,
  x_max_normalized: 0.5,
  y_min_normalized: 0,
  y_max_normalized: 1,
};
const lines = (...all: object[]): string => all.map((line) => `${JSON.stringify(line)}\n`).join('\n');
const plan = async (paths: readonly string[], text: string) =>
  planImport(
    memorySource({ 'dataset.jsonl': text, ...Object.fromEntries(paths.map((path) => [path, pngStart(4, 4)])) }),
  );
const read = async (paths: readonly string[], text: string) =>
  (await plan(paths, text)).images.map(({ path, labels, split, boxes }) => [path, labels, split, boxes]);

test('dataset.jsonl: labels, boxes and the split by path', async () => {
  const text = lines(
    {
      image_path: './data/a.jpg',
      classification_annotations: [{ annotation_label: 'cup' }],
      bounding_box_annotations: [box],
      split: 'validation',
    },
    { image_path: 'data\\b.jpg' },
  );
  assert.deepEqual(await read(['data/a.jpg', 'data/b.jpg', 'data/c.jpg'], text), [
    ['data/a.jpg', ['cup'], 'validation', [{ label: 'lid', xMin: 0.1, yMin: 0, xMax: 0.5, yMax: 1 }]],
    ['data/b.jpg', [], undefined, []],
    ['data/c.jpg', [], undefined, []],
  ]);
});

test('paths are found by their end where only one image can be meant', async () => {
  const of = (path: string, label: string) => ({
    image_path: path,
    classification_annotations: [{ annotation_label: label }],
  });
  const text = lines(of('data/1.jpg', 'a'), of('x/2.jpg', 'b'), of('y/2.jpg', 'c'), of('gone.jpg', 'd'));
  const { images, ledger } = await plan(['1.jpg', '2.jpg'], text);
  assert.deepEqual(images[0]?.labels, ['a']);
  assert.deepEqual(ledger.missing, ['gone.jpg']);
  assert.match(
    ledger.annotations.find(({ outcome }) => outcome === 'invalid')?.reason ?? '',
    /two images are meant by 2\.jpg: x\/2\.jpg and y\/2\.jpg/,
  );
});

const line = (more: object) => lines({ image_path: 'a.jpg' }, { image_path: 'a.jpg', ...more });
const bad: readonly [name: string, text: string, problem: RegExp][] = [
  ['no JSON', `${lines({ image_path: 'a.jpg' })}nonsense`, /line 2: it is not JSON/],
  [
    'a box outside',
    line({ bounding_box_annotations: [{ ...box, x_max_normalized: 1.1 }] }),
    /line 3, box 1: .*in 0\.\.1/,
  ],
  ['a box of words', line({ bounding_box_annotations: [{ ...box, x_max_normalized: 'left' }] }), /in 0\.\.1/],
  ['a box without label', line({ bounding_box_annotations: [{ ...box, annotation_label: '' }] }), /annotation_label/],
  ['a label that is an object', line({ classification_annotations: [{ annotation_label: {} }] }), /annotation_label/],
];
for (const [name, text, problem] of bad)
  test(`invalid by its place: ${name}`, async () => {
    const { ledger } = await plan(['a.jpg'], text);
    const invalid = ledger.annotations.filter(({ outcome }) => outcome === 'invalid');
    assert.match(invalid.map(({ where, reason }) => `${where}: ${reason}`).join('\n'), problem);
  });
