import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlatformError } from '@platform/contract/errors/errors';
import type { BoxAnnotation, DatasetLine, Split } from '@platform/contract/job/job';
import { ofSplit, requireEnough } from '@platform/trainer-engine/label-minimum';
import { advice, labelExamples, labelMinimum, withValidation } from './dataset.ts';
import { epochsFor, recipeOf, rowsPerRun } from './recipe.ts';
import { isAsGood, isBetter, slotsFor } from './train-model.ts';

const box = (label: string, left = 0.1, top = 0.1, right = 0.5, bottom = 0.5): BoxAnnotation => ({
  annotation_label: label,
  x_min_normalized: left,
  y_min_normalized: top,
  x_max_normalized: right,
  y_max_normalized: bottom,
});
function line(number: number, boxes: BoxAnnotation[], split: Split = 'train'): DatasetLine {
  const sha256 = number.toString(16).padStart(64, '0');
  return {
    image_path: `data/${sha256}.jpg`,
    sha256,
    size_bytes: 1,
    file_name: `${number}.jpg`,
    split,
    classification_annotations: [],
    bounding_box_annotations: boxes,
    timestamp: '',
    part_id: '',
    component_name: '',
  };
}

test('boxes of other labels are ignored; images without a wanted one teach what is not to be found', () => {
  const lines = [
    line(1, [box('cup'), box('dog')]),
    line(2, [box('dog')]),
    line(3, []),
    line(4, [box('ant'), box('cup')]),
  ];
  const some = labelExamples(lines, ['cup', 'ant', 'never']);
  assert.deepEqual(some.labels, ['ant', 'cup']);
  assert.deepEqual(
    some.examples.map(({ boxes }) => boxes.map(({ label }) => label)),
    [[1], [], [], [0, 1]],
  );
  assert.deepEqual(labelExamples(lines, []).labels, ['ant', 'cup', 'dog']);
});

test('boxes without an area are left out, tiny ones kept, with a warning for each', () => {
  const lines = [
    line(1, [box('cup', 0.3, 0.1, 0.3, 0.5), box('cup', 0.5, 0.1, 0.2, 0.5), box('cup')]),
    line(2, [box('cup', 0.1, 0.1, 0.105, 0.5)]),
    line(3, [box('dog', 0.1, 0.1, 0.1, 0.1)]),
  ];
  const { examples, warnings } = labelExamples(lines, ['cup']);
  assert.deepEqual(
    examples.map(({ boxes }) => boxes.length),
    [1, 1, 0],
  );
  assert.deepEqual(
    warnings.map(({ line: { file_name: name }, reason }) => `${name} ${reason}`),
    [
      '1.jpg has 2 boxes without an area, which are left out',
      '2.jpg has 1 boxes under 1 % of its width or height, hardly to be found',
    ],
  );
});

test('too little to learn from', () => {
  const three = [line(1, [box('cup'), box('cup')]), line(2, [box('cup')])];
  const cases: [string, DatasetLine[], string | undefined][] = [
    ['enough', three, undefined],
    ['nothing', [], 'DATASET_EMPTY'],
    ['test images alone', three.map((one) => ({ ...one, split: 'test' })), 'DATASET_EMPTY'],
    ['no box', [line(1, []), line(2, [])], 'TOO_FEW_LABELS'],
    ['two boxes of a label', [...three, line(3, [box('dog'), box('dog')])], 'TOO_FEW_BOXES'],
    [
      'the third one is for the test',
      [...three, line(3, [box('dog'), box('dog')]), line(4, [box('dog')], 'test')],
      'TOO_FEW_BOXES',
    ],
  ];
  for (const [name, lines, code] of cases) {
    const { labels, examples } = labelExamples(lines, []);
    const work = (): void => requireEnough(labelMinimum, labels, examples);
    if (code === undefined) assert.doesNotThrow(work, name);
    else assert.throws(work, (e) => e instanceof PlatformError && e.code === code, name);
  }
});

test('a sixth of the images is set apart, with and without boxes, equal images together, by seed', () => {
  const lines = [
    ...Array.from({ length: 24 }, (_, i) => line(i % 12, [box('cup')])),
    ...Array.from({ length: 12 }, (_, i) => line(100 + i, [])),
    line(200, [box('cup')], 'test'),
  ];
  const { examples } = labelExamples(lines, []);
  const split = withValidation(examples, 1);
  const apart = ofSplit(split, 'validation');
  assert.deepEqual([apart.filter(({ boxes }) => boxes.length > 0).length, apart.length], [4, 6]);
  const names = (parts: readonly { line: DatasetLine }[]): Set<string> => new Set(parts.map((one) => one.line.sha256));
  assert.ok(names(apart).isDisjointFrom(names(ofSplit(split, 'train'))));
  assert.deepEqual(withValidation(examples, 1), split);
  assert.notDeepEqual(withValidation(examples, 2), split);
  assert.equal(ofSplit(withValidation(labelExamples([line(1, [box('cup')])], []).examples, 1), 'train').length, 1);
});

test('advice: few boxes, imbalance, small boxes, images without boxes', () => {
  const many = Array.from({ length: 40 }, (_, i) => line(i, [box('cup')]));
  const few = Array.from({ length: 9 }, (_, i) => line(100 + i, [box('dog', 0.1, 0.1, 0.12, 0.4)]));
  const none = Array.from({ length: 20 }, (_, i) => line(200 + i, []));
  const { labels, examples } = labelExamples([...many, ...few, ...none], []);
  const found = advice(labels, examples);
  assert.deepEqual(
    found.map((one) => one.split(/[:;]/)[0]),
    [
      '"dog" has 9 boxes',
      '"cup" has 40 boxes, "dog" only 9',
      '9 of 49 boxes are under 3 % of the image',
      '20 of 69 images have no box of these labels',
    ],
  );
  const good = labelExamples(many, []);
  assert.deepEqual(advice(good.labels, good.examples), []);
});

test('the recipe: what the arguments change, and what is refused', () => {
  assert.deepEqual(recipeOf({ arguments: {} }).unknown, []);
  const { recipe, unknown } = recipeOf({ arguments: { epochs: '7', side: '192', wings: '2' }, recipe: 'probe' });
  assert.deepEqual([recipe.epochs, recipe.side, recipe.recipe, unknown], [7, 192, 'probe', ['wings']]);
  for (const wrong of [{ epochs: '0' }, { side: '100' }, { recipe: 'magic' }]) {
    assert.throws(
      () => recipeOf({ arguments: wrong }),
      (e) => e instanceof PlatformError && e.code === 'INVALID_ARGUMENT',
    );
  }
  const usual = recipeOf({ arguments: {} }).recipe;
  assert.equal(epochsFor(recipe, 1000), 7);
  assert.ok(epochsFor(usual, 10) > epochsFor(usual, 200) && epochsFor(usual, 200) >= epochsFor(usual, 100_000));
});

test('a run of the graph takes fewer images where they are large', () => {
  const rows = (side: number): number => rowsPerRun({ batch: 4, side });
  assert.deepEqual([96, 320, 352, 448, 512].map(rows), [4, 2, 1, 1, 1]);
});

test('the file of features is bounded, however many images there are', () => {
  const { recipe } = recipeOf({ arguments: {} });
  assert.equal(slotsFor(10, recipe, 8192), 10 * recipe.augmentations);
  assert.equal(slotsFor(100_000, recipe, 100_000), slotsFor(200_000, recipe, 100_000));
  assert.ok(slotsFor(100_000, recipe, 200) < slotsFor(100_000, recipe, 2000));
  assert.equal(slotsFor(100_000, recipe, 0), recipe.batch);
});

test('later weights are as good where the boxes cannot tell them from the best', () => {
  const at = (map50: number, map75 = 0.5, loss = 1) => ({ map50, map75, loss });
  assert.ok(isAsGood(at(0.84), at(0.9), 20), 'one of twenty boxes is chance');
  assert.ok(!isAsGood(at(0.83), at(0.9), 200), 'twenty of two hundred are not');
  assert.ok(!isAsGood(at(0.99), at(1), 20), 'nothing is as good as all found, but that');
  assert.ok(isAsGood(at(0.2), at(0.1), 0));
  assert.ok(isBetter(at(0.6, 0.1, 9), at(0.5, 0.9, 1)) && isBetter(at(0.5, 0.6, 9), at(0.5, 0.5, 1)));
  assert.ok(isBetter(at(0.5, 0.5, 1), at(0.5, 0.5, 2)) && !isBetter(at(0.5), at(0.5)));
});
