import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DatasetLine, Split } from '@platform/contract/job/job';
import { labelAdvice, ofSplit, requireEnough } from '@platform/trainer-engine/label-minimum';
import {
  classWeights,
  hasSameBalance,
  labelExamples,
  labelMinimum,
  labelWeights,
  requireSplit,
  withValidation,
} from './dataset.ts';

function line(id: number, names: readonly string[], split: Split = 'train'): DatasetLine {
  return {
    image_path: `data/${id}.jpg`,
    sha256: id.toString(16).padStart(64, '0'),
    size_bytes: 1,
    file_name: `${id}.jpg`,
    split,
    classification_annotations: names.map((annotation_label) => ({ annotation_label })),
    bounding_box_annotations: [],
    timestamp: '',
    part_id: '',
    component_name: '',
  };
}
const many = (count: number, from: number, names: readonly string[], split?: Split): DatasetLine[] =>
  Array.from({ length: count }, (_, i) => line(from + i, names, split));

const single = 'single_label_classification';
const multi = 'multi_label_classification';

test('one label per image: none is unknown, several are skipped, others do not count', () => {
  const lines = [
    ...many(3, 0, ['cat']),
    ...many(3, 10, ['dog', 'indoors']),
    ...many(3, 20, []),
    line(30, ['cat', 'dog']),
    line(31, ['indoors']),
    line(32, ['cat', 'cat']),
  ];
  const { labels, examples, skipped } = labelExamples(lines, ['dog', 'cat', 'bird'], single);
  assert.deepEqual(labels, ['cat', 'dog', 'VIAM_UNKNOWN']);
  assert.equal(examples.filter(({ classes }) => classes[0] === 2).length, 4);
  assert.equal(examples.filter(({ classes }) => classes[0] === 0).length, 4);
  assert.deepEqual(
    skipped.map(({ line: { file_name }, reason }) => [file_name, reason]),
    [['30.jpg', 'has several labels: cat, dog']],
  );
});

test('without requested labels every label that occurs is one; too few unknown images are skipped', () => {
  const { labels, skipped } = labelExamples(
    [...many(3, 0, ['b']), ...many(3, 10, ['a']), ...many(2, 20, [])],
    [],
    single,
  );
  assert.deepEqual(labels, ['a', 'b']);
  assert.equal(skipped.length, 2);
});

function checkOf(lines: DatasetLine[]): () => void {
  const { labels, examples } = labelExamples(lines, [], single);
  return () => requireEnough(labelMinimum, labels, examples);
}

test('what cannot be learnt is refused with the label and the counts', () => {
  assert.throws(checkOf([]), { code: 'DATASET_EMPTY' });
  assert.throws(checkOf(many(4, 0, ['a'], 'test')), { code: 'DATASET_EMPTY' });
  assert.throws(checkOf(many(4, 0, ['a'])), { code: 'TOO_FEW_LABELS' });
  assert.throws(checkOf([...many(4, 0, ['a']), ...many(2, 10, ['b']), ...many(9, 20, ['b'], 'test')]), {
    code: 'TOO_FEW_IMAGES',
    data: { label: 'b', count: 2, limit: 3, problem: '9 are in the test' },
  });
  checkOf([...many(3, 0, ['a']), ...many(2, 10, ['b']), ...many(1, 20, ['b'], 'validation')])();
});

test('validation takes an eighth of each class, equal images together, the same by the same seed', () => {
  const lines = [...many(16, 0, ['a']), ...many(16, 0, ['a']), ...many(4, 50, ['b']), ...many(5, 90, ['b'], 'test')];
  const { examples } = labelExamples(lines, [], single);
  const split = withValidation(examples, 1);
  const of = (label: number): string[] =>
    ofSplit(split, 'validation')
      .filter(({ classes }) => classes.includes(label))
      .map((one) => one.line.sha256);
  assert.equal(of(0).length, 4);
  assert.equal(new Set(of(0)).size, 2);
  assert.equal(of(1).length, 1);
  assert.equal(ofSplit(split, 'test').length, 5);
  assert.deepEqual(withValidation(examples, 1), split);
  assert.notDeepEqual(withValidation(examples, 2), split);
});

test('a group with images of several labels stays in training if a label needs it', () => {
  const inGroup = (lines: DatasetLine[], group: string): DatasetLine[] => lines.map((one) => ({ ...one, group }));
  const lines = [
    ...inGroup([line(0, ['pen']), line(1, ['cup'])], 'a'),
    ...inGroup([line(2, ['pen']), line(3, ['pen']), line(4, ['cup'])], 'b'),
    ...inGroup(many(3, 10, ['cup']), 'c'),
  ];
  const { examples, labels } = labelExamples(lines, [], single);
  for (let seed = 0; seed < 10; seed++) {
    const moved = ofSplit(withValidation(examples, seed), 'validation');
    assert.deepEqual([...new Set(moved.map((one) => one.line.group))], ['c'], `seed ${seed}`);
    requireSplit(labels, { train: ofSplit(withValidation(examples, seed), 'train'), validation: moved, test: [] });
  }
});

test('class weights even out, up to a limit, with mean 1', () => {
  const { examples } = labelExamples([...many(30, 0, ['a']), ...many(10, 50, ['b'])], [], single);
  assert.deepEqual(classWeights(examples, 2), [2 / 3, 2]);
  const rare = classWeights(labelExamples([...many(200, 0, ['a']), ...many(3, 500, ['b'])], [], single).examples, 2);
  assert.ok((rare[1] ?? 0) / (rare[0] ?? 1) < 8.1, String(rare));
});

test('advice names thin and unequal classes', () => {
  const { labels, examples } = labelExamples([...many(40, 0, ['a']), ...many(4, 50, ['b'])], [], single);
  assert.deepEqual(
    labelAdvice(labels, (label) => labelMinimum.count(examples, label), 'images'),
    ['"b" has 4 images; 10 or more make it reliable.', '"a" has 40 images, "b" only 4: add to the latter.'],
  );
});

test('any number of labels per image: all requested ones, and unknown where there is none', () => {
  const lines = [...many(3, 0, ['dog', 'cat', 'indoors']), ...many(3, 10, ['dog']), ...many(4, 20, ['indoors'])];
  const { labels, examples, skipped } = labelExamples(lines, ['cat', 'dog'], multi);
  assert.deepEqual(labels, ['cat', 'dog', 'VIAM_UNKNOWN']);
  assert.equal(skipped.length, 0);
  assert.deepEqual(
    [0, 3, 6].map((i) => examples[i]?.classes),
    [[0, 1], [1], [2]],
  );
  const few = labelExamples([...many(3, 0, ['dog', 'cat']), line(9, [])], [], multi);
  assert.deepEqual([few.labels, few.skipped.length], [['cat', 'dog'], 1]);
});

test('validation images of several labels serve each of them', () => {
  const lines = [...many(6, 0, ['a', 'b']), ...many(6, 10, ['a']), ...many(6, 20, ['b', 'c'])];
  const { examples } = labelExamples(lines, [], multi);
  const validation = ofSplit(withValidation(examples, 1), 'validation');
  const counts = [0, 1, 2].map((k) => validation.filter(({ classes }) => classes.includes(k)).length);
  assert.ok(
    counts.every((count) => count >= 1 && count <= 3),
    String(counts),
  );
  assert.ok(validation.length <= 4);
});

test('validation images have the balance of the training images, unless a user chose others', () => {
  const of = (...counts: number[]) =>
    counts.flatMap((count, label) => many(count, 1000 * label, []).map((one) => ({ line: one, classes: [label] })));
  const cases: [number, number, boolean][] = [
    [70, 30, true],
    [80, 20, true],
    [50, 50, false],
    [100, 0, false],
    [7, 3, true],
    [4, 2, true],
    [3, 3, false],
    [0, 9, false],
  ];
  for (const [a, b, expected] of cases) {
    assert.equal(hasSameBalance(of(700, 300, 3), of(a, b), 3), expected, `${a} and ${b}`);
  }
  const examples = of(700, 300, 3);
  for (const seed of [1, 2, 3]) {
    const split = withValidation(examples, seed);
    assert.ok(hasSameBalance(ofSplit(split, 'train'), ofSplit(split, 'validation'), 3));
  }
});

test('rare labels count more where they are there, within limits', () => {
  const lines = [...many(90, 0, ['a']), ...many(10, 100, ['a', 'b']), line(200, ['a', 'c'])];
  const { examples } = labelExamples(lines, [], multi);
  assert.deepEqual(
    labelWeights(examples, 3).map((weight) => Number(weight.toFixed(2))),
    [1, 3.02, 4],
  );
});
