import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlatformError } from '@platform/contract/errors/errors';
import type { JobKind, Split } from '@platform/contract/job/job';
import { seededRandom } from '@platform/kit/testing';
import { advice, chosenSplit, type Labelled, labelsOf, tally, type TallyResult } from './dataset-rules.ts';
import { assignSplits } from './dataset-split.ts';
import { splitAdvice, splitProblem } from './split-checks.ts';

const sha = (n: number): string => n.toString(16).padStart(64, '0').split('').toReversed().join('');
const some = (count: number, tags: string[], from = 0): Labelled[] =>
  Array.from({ length: count }, (_, n) => ({
    sha256: sha(from + n),
    tags,
    captureTags: [],
    classifications: [],
    boxes: [],
  }));
/** Images with these boxes each. */
const boxed = (count: number, labels: string[], from = 0): Labelled[] =>
  some(count, [], from).map((image) => ({ ...image, boxes: labels.map((label) => ({ label })) }));

const single = 'single_label_classification';
const multi = 'multi_label_classification';
const detection = 'object_detection';

function resultOf(kind: JobKind, images: readonly Labelled[], labels: readonly string[]): TallyResult {
  const counted = tally(kind, labels);
  for (const image of images) counted.add(image);
  return counted.result();
}
const splitsOf = (kind: JobKind, images: readonly Labelled[], labels: readonly string[], seed = 1): Split[] => {
  const counted = tally(kind, labels);
  return assignSplits(
    kind,
    images.map((image) => counted.add(image)),
    seed,
  );
};

/** The counts, or the code with its data. */
function summary(result: TallyResult): string {
  if (result.ok) return Object.entries(result.counts.labels).flat().join(' ');
  const { code, data } = result;
  const of = (name: string): string => String(data[name] ?? '');
  switch (code) {
    case 'TOO_FEW_IMAGES':
    case 'TOO_FEW_BOXES':
      return `${code} ${of('label')} ${of('count')}/${of('limit')}: ${of('counts')}`;
    case 'TOO_MANY_UNLABELED':
      return `${code} ${of('count')} of ${of('total')}, limit ${of('limit')}`;
    case 'DATASET_EMPTY':
      return code;
    default:
      return `${code} ${of('count')}`;
  }
}

const rows: [name: string, images: Labelled[], labels: string[], expected: string][] = [
  ['two labels, ten each', [...some(10, ['a']), ...some(10, ['b'])], ['a', 'b'], 'a 10 b 10'],
  ['nine of one', [...some(9, ['a']), ...some(10, ['b'])], ['a', 'b'], 'TOO_FEW_IMAGES a 9/10: a 9, b 10'],
  ['one label asked for', some(20, ['a']), ['a'], 'TOO_FEW_LABELS 1'],
  ['the same label twice', some(20, ['a']), ['a', 'a'], 'TOO_FEW_LABELS 1'],
  ['no label asked for', some(20, ['a']), [], 'TOO_FEW_LABELS 0'],
  ['no images', [], ['a', 'b'], 'DATASET_EMPTY'],
  ['nothing matches', some(20, ['c']), ['a', 'b'], 'DATASET_EMPTY'],
  ['every image has both', some(20, ['a', 'b']), ['a', 'b'], 'LABELS_AMBIGUOUS 20'],
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
  [
    'split tags do not count as labels',
    [...some(10, ['a', 'split:test']), ...some(10, ['b'])],
    ['a', 'b'],
    'a 10 b 10',
  ],
];
for (const [name, images, labels, expected] of rows) {
  test(`single label: ${name}`, () => assert.equal(summary(resultOf(single, images, labels)), expected));
}

const otherKinds: [kind: JobKind, name: string, images: Labelled[], labels: string[], expected: string][] = [
  [multi, 'a image counts for each of its labels', some(10, ['a', 'b']), ['a', 'b'], 'a 10 b 10'],
  [multi, 'nine of one', [...some(10, ['a', 'b']), ...some(5, ['a'])], ['a', 'b', 'c'], 'a 15 b 10 c 0'],
  [
    multi,
    'too few of one',
    [...some(9, ['a', 'b']), ...some(5, ['a'])],
    ['a', 'b'],
    'TOO_FEW_IMAGES b 9/10: a 14, b 9',
  ],
  [multi, 'one label asked for', some(20, ['a', 'b']), ['a'], 'TOO_FEW_LABELS 1'],
  [multi, 'only one of the labels occurs', some(20, ['a']), ['a', 'b'], 'TOO_FEW_LABELS 1'],
  [multi, 'nothing matches', some(20, ['c']), ['a', 'b'], 'DATASET_EMPTY'],
  [multi, 'a fifth of all labels is: none', [...some(10, ['a', 'b']), ...some(5, [])], ['a', 'b'], 'a 10 b 10'],
  [multi, 'one more', [...some(10, ['a', 'b']), ...some(6, [])], ['a', 'b'], 'TOO_MANY_UNLABELED 6 of 26, limit 5'],
  [detection, 'one label is enough', boxed(15, ['a']), ['a'], 'a 15'],
  [detection, 'boxes count, not images', [...boxed(5, ['a', 'a']), ...boxed(10, ['b'])], ['a', 'b'], 'a 10 b 10'],
  [detection, 'nine boxes', [...boxed(9, ['a']), ...boxed(10, ['b'])], ['a', 'b'], 'TOO_FEW_BOXES a 9/10: a 9, b 10'],
  [detection, 'fourteen images', boxed(14, ['a', 'b']), ['a', 'b'], 'DATASET_TOO_SMALL 14'],
  [detection, 'no label asked for', boxed(20, ['a']), [], 'TOO_FEW_LABELS 0'],
  [detection, 'no box at all', some(20, ['a']), [], 'DATASET_EMPTY'],
  [multi, 'no label at all', boxed(20, ['a']), [], 'DATASET_EMPTY'],
  [detection, 'tags do not count as boxes', some(20, ['a']), ['a'], 'DATASET_EMPTY'],
  [detection, 'boxes with other labels alone', boxed(20, ['b']), ['a'], 'DATASET_EMPTY'],
  [detection, 'no images', [], ['a'], 'DATASET_EMPTY'],
  [detection, 'background up to a fifth', [...boxed(16, ['a']), ...some(4, [])], ['a'], 'a 16'],
  [detection, 'more background', [...boxed(16, ['a']), ...some(5, [])], ['a'], 'TOO_MANY_UNLABELED 5 of 21, limit 4'],
  ['custom', 'one image without any label', some(1, []), [], ''],
  ['custom', 'all labels that occur', [...some(2, ['a']), ...boxed(1, ['b'])], ['x'], 'a 2 b 1'],
  ['custom', 'no images', [], [], 'DATASET_EMPTY'],
];
test('a detector without boxes: the refusal says that labels of whole images do not count, whatever is requested', () => {
  for (const labels of [[], ['a']]) {
    const result = resultOf(detection, some(20, ['a']), labels);
    assert.match(
      result.ok ? '' : String(result.data['problem']),
      /^none of its 20 images has a box, though 20 have labels, which a detector does not learn from/,
    );
  }
});
for (const [kind, name, images, labels, expected] of otherKinds) {
  test(`${kind}: ${name}`, () => assert.equal(summary(resultOf(kind, images, labels)), expected));
}

test('tags and classifications are labels alike', () => {
  const classifications = [{ label: 'a' }, { label: 'b' }];
  assert.deepEqual(labelsOf({ tags: ['b', 'split:train'], captureTags: [], classifications }), ['a', 'b']);
  assert.deepEqual(
    labelsOf({ tags: ['line-3', 'a', 'b'], captureTags: ['line-3', 'b'], classifications }),
    ['a', 'b'],
    'a tag of the capture is none, a classification of the same name is',
  );
  assert.equal(chosenSplit(['b', 'split:validation']), 'validation');
  assert.equal(chosenSplit(['split:other']), undefined);
});

test('advice names what would help', () => {
  const result = resultOf(
    single,
    [...some(31, ['a']), ...some(10, ['b']), ...some(2, ['a', 'b']), ...some(1, [])],
    ['a', 'b', 'c'],
  );
  assert.ok(result.ok);
  assert.deepEqual(
    advice(single, result.counts).map((line) => line.split(' ').slice(0, 4).join(' ')),
    ['No image carries the', '2 images carry several', 'The most frequent label', '1 image carries none'],
  );
});

const count = (splits: readonly string[]): string =>
  ['train', 'validation', 'test'].map((split) => splits.filter((one) => one === split).length).join('/');

test('split: 70/15/15 of every label', () => {
  const images = [...some(100, ['a']), ...some(20, ['b'], 100)];
  const splits = splitsOf(single, images, ['a', 'b'], 1);
  assert.equal(count(splits.slice(0, 100)), '70/15/15');
  assert.equal(count(splits.slice(100)), '14/3/3');
  assert.deepEqual(splitsOf(single, images, ['a', 'b'], 1), splits, 'the same every time');
  assert.notDeepEqual(splitsOf(single, images, ['a', 'b'], 2), splits, 'another seed, another split');
  const back = images.map((image, at) => [image, splits[at]] as const).toReversed();
  assert.deepEqual(
    splitsOf(
      single,
      back.map(([image]) => image),
      ['a', 'b'],
      1,
    ),
    back.map(([, split]) => split),
    'order does not matter',
  );
});

test('split: what the owner chose stays, and nothing is added to a part that the owner chose', () => {
  const images = [...some(12, ['a']), ...some(20, ['a', 'split:test'], 50), ...some(3, ['a', 'split:train'], 90)];
  const splits = splitsOf(single, images, ['a'], 1);
  assert.equal(count(splits.slice(0, 12)), '10/2/0');
  assert.equal(count(splits.slice(12, 32)), '0/0/20');
  assert.equal(count(splits.slice(32)), '3/0/0');
});

test('split: equal files stay together, also against their tags', () => {
  const twins = [...some(40, ['a']), ...some(40, ['a'])];
  const splits = splitsOf(single, twins, ['a'], 1);
  assert.deepEqual(splits.slice(0, 40), splits.slice(40));
  const torn = [...some(1, ['a', 'split:train']), ...some(1, ['a', 'split:test']), ...some(1, ['a'])];
  assert.deepEqual(splitsOf(single, torn, ['a'], 1), ['train', 'train', 'train']);
});

/** `size` images of each group, numbered from `from`. */
const grouped = (label: string, groups: readonly string[], size: number, from = 0): Labelled[] =>
  groups.flatMap((group, at) => some(size, [label, `group:${group}`], from + at * size));

test('split: the images of a group stay together, in every kind', () => {
  const names = Array.from({ length: 20 }, (_, n) => `cup ${n}`);
  const images = [...grouped('cup', names, 4), ...grouped('mug', ['m1', 'm2', 'm3'], 10, 100)];
  for (const kind of [single, multi] as const) {
    const splits = splitsOf(kind, images, ['cup', 'mug']);
    for (let at = 0; at < 80; at += 4)
      assert.equal(new Set(splits.slice(at, at + 4)).size, 1, `${kind}, group ${at / 4}`);
    assert.equal(count(splits.slice(0, 80)), '56/12/12', kind);
    // Three groups: one for each split, though each is a third of the images.
    assert.equal(count(splits.slice(80)), '10/10/10', kind);
    const back = images.map((image, at) => [image, splits[at]] as const).toReversed();
    const shown = back.map(([image]) => image);
    assert.deepEqual(
      splitsOf(kind, shown, ['cup', 'mug']),
      back.map(([, split]) => split),
      'order does not matter',
    );
  }
});

test('split: groups that share a file are one; the first split tag of a group counts for all of it', () => {
  const shared = { ...some(1, ['a', 'group:right'], 2)[0] } as Labelled;
  const images = [...grouped('a', ['left'], 3), shared, ...grouped('a', ['right'], 3, 10), ...some(60, ['a'], 100)];
  assert.equal(new Set(splitsOf(single, images, ['a']).slice(0, 7)).size, 1);
  const chosen = [...some(1, ['a', 'group:x', 'split:test']), ...some(4, ['a', 'group:x'], 5), ...some(20, ['a'], 50)];
  assert.deepEqual(splitsOf(single, chosen, ['a']).slice(0, 5), Array(5).fill('test'));
});

test('split: a label of two groups is for training, and users read that its score means nothing', () => {
  const images = [...grouped('cup', ['a', 'b'], 10), ...some(40, ['mug'], 50)];
  const counted = tally(single, ['cup', 'mug']);
  const examples = images.map((one) => counted.add(one));
  const splits = assignSplits(single, examples, 1);
  assert.equal(count(splits.slice(0, 20)), '20/0/0');
  assert.deepEqual(splitAdvice(single, examples, splits), [
    'No image of "cup" is in the test: its images are in 2 groups, and a group stays in one split. The score says nothing about this label; add images of other groups.',
  ]);
  const plain = some(40, ['mug'], 50).map((one) => counted.add(one));
  assert.deepEqual(splitAdvice(single, plain, assignSplits(single, plain, 1)), []);
});

const checked = (kind: JobKind, images: readonly Labelled[]) => {
  const counted = tally(kind, ['cup', 'pen']);
  const examples = images.map((one) => counted.add(one));
  const assigned = assignSplits(kind, examples, 1);
  const { code, data } = splitProblem(kind, examples, assigned) ?? {};
  const { label = '', count: found = '', limit = '', problem = '' } = data ?? {};
  return {
    problem: code === undefined ? '' : [code, label, found, limit, problem].filter((one) => one !== '').join(' '),
    advice: splitAdvice(kind, examples, assigned),
    assigned,
  };
};
const splitCases: [name: string, kind: JobKind, images: Labelled[], problem: string, advice?: RegExp][] = [
  ['many images', single, [...some(10, ['cup']), ...some(10, ['pen'], 20)], ''],
  [
    'two groups per label',
    single,
    [...grouped('cup', ['a', 'b'], 5), ...grouped('pen', ['c', 'd'], 5, 20)],
    'NOTHING_HELD_OUT each label has fewer than 3 groups',
    /its images are in 2 groups/,
  ],
  [
    'equal files',
    multi,
    [
      ...Array.from({ length: 10 }, () => some(1, ['cup'])),
      ...Array.from({ length: 10 }, () => some(1, ['pen'], 5)),
    ].flat(),
    'NOTHING_HELD_OUT each label has fewer than 3 different images',
    /its images are 1 different file, and equal files stay in one split/,
  ],
  [
    'a label that is in the test as a whole',
    single,
    [...some(10, ['cup', 'split:test']), ...some(10, ['pen'], 20)],
    'TOO_FEW_IMAGES cup 0 2 10 are in the test',
    /No image of "pen" is in the test: other images were chosen for it/,
  ],
  [
    'a label that validates as a whole',
    multi,
    [...some(10, ['cup', 'split:validation']), ...some(10, ['pen'], 20)],
    'TOO_FEW_IMAGES cup 0 2 10 are for validation',
    /No image of "cup" is in the test/,
  ],
  [
    'boxes of one group',
    detection,
    boxed(20, ['cup', 'pen']).map((one) => ({ ...one, tags: ['group:a'] })),
    'NOTHING_HELD_OUT each label has fewer than 2 groups',
    /1 group/,
  ],
  [
    'test images without boxes',
    detection,
    [...boxed(20, ['cup', 'pen']), ...some(5, ['split:test'], 50)],
    'NOTHING_HELD_OUT its 5 held-out images have no box of these labels',
    /other images were chosen/,
  ],
];
for (const [name, kind, images, expected, advised] of splitCases) {
  test(`split: what it leaves no score of, or nothing to learn from: ${name}`, () => {
    const found = checked(kind, images);
    assert.equal(found.problem, expected);
    assert.equal(found.advice.length > 0, advised !== undefined, found.advice.join(' '));
    if (advised) assert.match(found.advice.join(' '), advised);
  });
}

test('split: a group with images of a label of two groups is for training, whatever else it shows', () => {
  const cups = grouped('cup', ['a', 'b', 'c', 'd', 'e', 'f'], 5);
  const pens = [...some(5, ['pen', 'group:a'], 100), ...some(5, ['pen', 'group:b'], 110)];
  for (const kind of [single, multi] as const) {
    for (let seed = 0; seed < 10; seed++) {
      const splits = splitsOf(kind, [...cups, ...pens], ['cup', 'pen'], seed);
      assert.equal(count(splits.slice(30)), '10/0/0', `${kind}, seed ${seed}`);
      assert.ok(splits.slice(0, 30).includes('test'));
    }
  }
});

test('split: one or two of a label are for training', () => {
  assert.equal(count(splitsOf(single, some(2, ['a']), ['a'], 1)), '2/0/0');
  assert.equal(count(splitsOf(single, some(3, ['a']), ['a'], 1)), '1/1/1');
});

test('split: with several labels per image every label is held out in its share, the rarest first', () => {
  const random = seededRandom(3);
  const labels = ['common', 'usual', 'rare'];
  const shares = [0.9, 0.4, 0.05];
  const images = Array.from({ length: 400 }, (_, n): Labelled => {
    const tags = labels.filter((_label, at) => random() < (shares[at] ?? 0));
    return { sha256: sha(n), tags, captureTags: [], classifications: [], boxes: tags.map((label) => ({ label })) };
  });
  for (const kind of [multi, detection] as const) {
    const splits = splitsOf(kind, images, labels);
    for (const label of labels) {
      const own = splits.filter((_split, at) => images[at]?.tags.includes(label));
      for (const part of ['validation', 'test']) {
        const share = own.filter((split) => split === part).length / own.length;
        assert.ok(share > 0.1 && share < 0.2, `${kind} ${label}: ${count(own)}`);
      }
    }
    const shuffled = images.map((image, at) => [image, splits[at]] as const).toReversed();
    assert.deepEqual(
      splitsOf(
        kind,
        shuffled.map(([image]) => image),
        labels,
      ),
      shuffled.map(([, split]) => split),
      'order does not matter',
    );
  }
});

test('split: three images of a label, all its images with others: one for each part', () => {
  const images = [...boxed(3, ['common', 'rare']), ...boxed(60, ['common'], 10)];
  assert.equal(count(splitsOf(detection, images, ['common', 'rare']).slice(0, 3)), '1/1/1');
});

test('split: images without any label are divided, too', () => {
  const images = [...boxed(20, ['a']), ...boxed(20, [], 40)];
  assert.equal(count(splitsOf(detection, images, ['a']).slice(20)), '14/3/3');
});

test('split: boxes, what the owner chose stays, and nothing is added to it', () => {
  const images = [
    ...boxed(20, ['a']),
    ...boxed(5, ['a'], 40).map((image) => ({ ...image, tags: ['split:validation'] })),
  ];
  const splits = splitsOf(detection, images, ['a']);
  assert.deepEqual([count(splits.slice(0, 20)), count(splits.slice(20))], ['17/0/3', '0/5/0']);
});

test('a hundred thousand different labels are divided in a moment, for a script', () => {
  const images = Array.from({ length: 100_000 }, (_, n) => some(1, [`unique ${n}`, 'all'], n)[0] as Labelled);
  assert.equal(count(splitsOf('custom', images, [])), '70000/15000/15000');
});

const whatOf = (kind: JobKind, images: readonly Labelled[], labels: readonly string[]): string => {
  const result = resultOf(kind, images, labels);
  return result.ok ? 'ok' : new PlatformError(result.code, result.data).what;
};
const named = (images: readonly Labelled[]): Labelled[] => images.map((one, at) => ({ ...one, id: `o/l/${at}` }));
const explained: [name: string, kind: JobKind, images: Labelled[], labels: string[], expected: RegExp][] = [
  ['no image', single, [], ['a', 'b'], /: it is empty\.$/],
  [
    'no label at all',
    single,
    named(some(30, [])),
    ['a', 'b'],
    /none of its 30 images has a label; for example o\/l\/0, o\/l\/1, o\/l\/2\.$/,
  ],
  [
    'misspelt labels',
    single,
    [...some(12, ['cup']), ...some(20, ['tea pot'])],
    ['cupp', 'teapot'],
    /none of its 32 images carries "cupp", "teapot"; it has: tea pot 20, cup 12 \(did you mean "cup", "tea pot"\?\)\.$/,
  ],
  [
    'one of two is misspelt',
    single,
    [...some(12, ['cup']), ...some(12, ['mug'])],
    ['cup', 'mgu'],
    /at least 2 label\(s\) with images; there are 1: cup 12, mgu 0\. The dataset has: mug 12 \(did you mean "mug"\?\)\.$/,
  ],
  [
    'labels but no boxes',
    detection,
    some(30, ['a']),
    ['a'],
    /none of its 30 images has a box, though 30 have labels, which a detector does not learn from\.$/,
  ],
  [
    'boxes of other labels',
    detection,
    boxed(30, ['b']),
    ['a'],
    /none of its 30 images has a box with "a"; it has: b 30\.$/,
  ],
  [
    'too many without a label',
    single,
    [...some(10, ['a']), ...some(10, ['b']), ...named(some(9, ['c']))],
    ['a', 'b'],
    /9 of 29 images .*for example o\/l\/0, .* The dataset also has: c 9\.$/,
  ],
];
for (const [name, kind, images, labels, expected] of explained)
  test(`the error lists what exists: ${name}`, () => assert.match(whatOf(kind, images, labels), expected));

test('advice asks for the label that was probably meant', () => {
  const counted = tally(single, ['a', 'b', 'screwdirver']);
  for (const one of [...some(12, ['a']), ...some(12, ['b']), ...some(3, ['screwdriver'])]) counted.add(one);
  const result = counted.result();
  assert.ok(result.ok);
  assert.ok(
    advice(single, result.counts, counted.found()).includes(
      'No image carries the label "screwdirver": the model will not know it. Did you mean "screwdriver"?',
    ),
  );
});
