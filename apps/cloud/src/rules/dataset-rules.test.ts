import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDatasetLine } from '@platform/contract/job';
import { advice, checkSingleLabel, chosenSplit, type Labelled, labelsOf } from './dataset-rules.ts';
import { assignSplits } from './dataset-split.ts';
import { goTime, manifestLines, parseBinaryDataId, type Picture } from './manifest.ts';

const sha = (n: number): string => n.toString(16).padStart(64, '0').split('').toReversed().join('');
const some = (count: number, tags: string[], from = 0): Labelled[] =>
  Array.from({ length: count }, (_, n) => ({ sha256: sha(from + n), tags, classifications: [] }));

const rows: [name: string, pictures: Labelled[], labels: string[], expected: string][] = [
  ['two labels, ten each', [...some(10, ['a']), ...some(10, ['b'])], ['a', 'b'], 'a 10 b 10'],
  ['nine of one', [...some(9, ['a']), ...some(10, ['b'])], ['a', 'b'], 'TOO_FEW_PICTURES a 9/10: a 9, b 10'],
  ['one label asked for', some(20, ['a']), ['a'], 'TOO_FEW_LABELS 1'],
  ['the same label twice', some(20, ['a']), ['a', 'a'], 'TOO_FEW_LABELS 1'],
  ['no label asked for', some(20, ['a']), [], 'TOO_FEW_LABELS 0'],
  ['no pictures', [], ['a', 'b'], 'DATASET_EMPTY'],
  ['nothing matches', some(20, ['c']), ['a', 'b'], 'DATASET_EMPTY'],
  ['every picture has both', some(20, ['a', 'b']), ['a', 'b'], 'LABELS_AMBIGUOUS 20'],
  ['only one of the labels occurs', some(20, ['a']), ['a', 'b'], 'TOO_FEW_LABELS 1'],
  [
    'a label that does not occur is left out',
    [...some(10, ['a']), ...some(10, ['b'])],
    ['a', 'b', 'c'],
    'a 10 b 10 c 0',
  ],
  ['a fifth without a label', [...some(10, ['a']), ...some(10, ['b']), ...some(5, [])], ['a', 'b'], 'a 10 b 10'],
  [
    'one more',
    [...some(10, ['a']), ...some(10, ['b']), ...some(6, [])],
    ['a', 'b'],
    'TOO_MANY_UNLABELED 6 of 26, limit 5',
  ],
  ['split tags are no labels', [...some(10, ['a', 'split:test']), ...some(10, ['b'])], ['a', 'b'], 'a 10 b 10'],
];
for (const [name, pictures, labels, expected] of rows) {
  test(`single label: ${name}`, () => {
    const verdict = checkSingleLabel(pictures, labels);
    const { data } = verdict.ok ? { data: {} as Record<string, string | number> } : verdict;
    const said = verdict.ok
      ? Object.entries(verdict.counts.labels).flat().join(' ')
      : [
          verdict.code,
          ...(verdict.code === 'TOO_FEW_PICTURES'
            ? [`${data['label']} ${data['count']}/${data['limit']}: ${data['counts']}`]
            : []),
          ...(verdict.code === 'TOO_FEW_LABELS' || verdict.code === 'LABELS_AMBIGUOUS' ? [data['count']] : []),
          ...(verdict.code === 'TOO_MANY_UNLABELED'
            ? [`${data['count']} of ${data['total']}, limit ${data['limit']}`]
            : []),
        ].join(' ');
    assert.equal(said, expected);
  });
}

test('tags and classifications are labels alike', () => {
  assert.deepEqual(labelsOf({ tags: ['b', 'split:train'], classifications: [{ label: 'a' }, { label: 'b' }] }), [
    'a',
    'b',
  ]);
  assert.equal(chosenSplit(['b', 'split:validation']), 'validation');
  assert.equal(chosenSplit(['split:other']), undefined);
});

test('advice names what would help', () => {
  const verdict = checkSingleLabel(
    [...some(31, ['a']), ...some(10, ['b']), ...some(2, ['a', 'b']), ...some(1, [])],
    ['a', 'b', 'c'],
  );
  assert.ok(verdict.ok);
  assert.deepEqual(
    advice(verdict.counts).map((line) => line.split(' ').slice(0, 4).join(' ')),
    ['No picture carries the', '2 pictures carry several', 'The most frequent label', '1 pictures carry none'],
  );
});

const count = (splits: readonly string[]): string =>
  ['train', 'validation', 'test'].map((split) => splits.filter((one) => one === split).length).join('/');

test('split: 70/15/15 of every label', () => {
  const pictures = [...some(100, ['a']), ...some(20, ['b'], 100)];
  const splits = assignSplits(pictures, ['a', 'b'], 1);
  assert.equal(count(splits.slice(0, 100)), '70/15/15');
  assert.equal(count(splits.slice(100)), '14/3/3');
  assert.deepEqual(assignSplits(pictures, ['a', 'b'], 1), splits, 'the same every time');
  assert.notDeepEqual(assignSplits(pictures, ['a', 'b'], 2), splits, 'another seed, another split');
  const back = pictures.map((picture, at) => [picture, splits[at]] as const).toReversed();
  assert.deepEqual(
    assignSplits(
      back.map(([picture]) => picture),
      ['a', 'b'],
      1,
    ),
    back.map(([, split]) => split),
    'order does not matter',
  );
});

test('split: what the owner chose stays, and nothing is added to a part that the owner chose', () => {
  const pictures = [...some(12, ['a']), ...some(20, ['a', 'split:test'], 50), ...some(3, ['a', 'split:train'], 90)];
  const splits = assignSplits(pictures, ['a'], 1);
  assert.equal(count(splits.slice(0, 12)), '10/2/0');
  assert.equal(count(splits.slice(12, 32)), '0/0/20');
  assert.equal(count(splits.slice(32)), '3/0/0');
});

test('split: equal files stay together, also against their tags', () => {
  const twins = [...some(40, ['a']), ...some(40, ['a'])];
  const splits = assignSplits(twins, ['a'], 1);
  assert.deepEqual(splits.slice(0, 40), splits.slice(40));
  const torn = [...some(1, ['a', 'split:train']), ...some(1, ['a', 'split:test']), ...some(1, ['a'])];
  assert.deepEqual(assignSplits(torn, ['a'], 1), ['train', 'train', 'train']);
});

test('split: one or two of a label are for training', () => {
  assert.equal(count(assignSplits(some(2, ['a']), ['a'], 1)), '2/0/0');
  assert.equal(count(assignSplits(some(3, ['a']), ['a'], 1)), '1/1/1');
});

const org = '11111111-1111-4111-8111-111111111111';
const picture = (n: number, more: Partial<Picture> = {}): Picture => ({
  ...(some(1, ['mug', 'split:test'], n)[0] as Labelled),
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  orgId: org,
  locationId: 'abcdefghij',
  machineId: null,
  partId: null,
  componentName: 'camera',
  sizeBytes: 7,
  fileName: '',
  fileExt: '.jpg',
  timeRequestedUs: 1_704_207_845_999_000,
  classifications: [{ label: 'cup', confidence: 0.5 }],
  boxes: [{ id: 'b', label: 'cup', xMin: 0, yMin: 0.25, xMax: 1, yMax: 0.75, confidence: null }],
  ...more,
});

test('manifest: lines as the job contract reads them, in an order that the content decides', () => {
  const pictures = [picture(2), picture(1), picture(3, { fileName: 'a/b.jpg' })];
  const text = [...manifestLines(pictures, ['test', 'test', 'train'])];
  assert.equal(text.join(''), [...manifestLines(pictures.toReversed(), ['train', 'test', 'test'])].join(''));
  const lines = text.map((line) => parseDatasetLine(JSON.parse(line)));
  assert.deepEqual(lines.map((line) => line.split).toSorted(), ['test', 'test', 'train']);
  const first = lines.find((line) => line.file_name.endsWith('1.jpg'));
  assert.deepEqual(first?.classification_annotations, [
    { annotation_label: 'cup', confidence: 0.5 },
    { annotation_label: 'mug' },
  ]);
  assert.equal(first?.timestamp, '2024-01-02 15:04:05.999 +0000 UTC');
  assert.equal(first?.binary_data_id, `${org}/abcdefghij/00000000-0000-4000-8000-000000000001`);
  assert.equal(lines.find((line) => line.split === 'train')?.image_path, 'a/b.jpg');
});

const times: [us: number, text: string][] = [
  [0, '1970-01-01 00:00:00 +0000 UTC'],
  [1, '1970-01-01 00:00:00.000001 +0000 UTC'],
  [-1, '1969-12-31 23:59:59.999999 +0000 UTC'],
  [1_704_207_845_120_000, '2024-01-02 15:04:05.12 +0000 UTC'],
];
for (const [us, text] of times) test(`time as Go prints it: ${text}`, () => assert.equal(goTime(us), text));

const ids: [text: string, ok: boolean][] = [
  [`${org}/abcdefghij/${org}`, true],
  [`${org}//${org}`, true],
  [`${org}/a/${org}/x`, false],
  [`${org}/a`, false],
  [`x/a/${org}`, false],
  ['', false],
];
for (const [text, ok] of ids)
  test(`binary data id "${text}"`, () => assert.equal(parseBinaryDataId(text) !== undefined, ok));
