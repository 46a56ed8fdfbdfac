/** Whole jobs on datasets that give no good model: each is refused with its cause, or its score has a warning. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { groupedBy, noisyImages } from '../../engine/test/noisy-images.ts';
import type { LabelImages } from '../../engine/test/noisy-images.ts';
import { assertWarned, runJob } from '../../engine/test/run-job.ts';
import type { JobOptions, JobResult } from '../../engine/test/run-job.ts';
import type { TestImage } from '../../engine/test/job-folder.ts';
import type { Evaluation } from '@platform/contract/job/evaluation';
import type { DatasetLine } from '@platform/contract/job/job';

const [single, multi] = ['single_label_classification', 'multi_label_classification'] as const;
const main = new URL('../src/main.ts', import.meta.url);
const run = (images: AsyncIterable<TestImage>, options: Partial<JobOptions> = {}): Promise<JobResult<Evaluation>> =>
  runJob(main, images, { kind: single, ...options });
const usual = { train: 8, validation: 2, test: 2 };
const corrupt = (i: number): Buffer => Buffer.from(`no image ${i}`);

const refused: [string, LabelImages[], RegExp, ReturnType<typeof groupedBy>?][] = [
  [
    'two images per label',
    [
      { label: 'cup', count: { train: 2 } },
      { label: 'pen', count: { train: 2 } },
    ],
    /TOO_FEW_IMAGES: Label "cup" has 2 images; the minimum is 3\./,
  ],
  [
    'a label of which all images are corrupt',
    [
      { label: 'cup', count: usual },
      { label: 'pen', count: usual, bytes: corrupt },
    ],
    /TOO_FEW_IMAGES: Label "pen" has 0 images to train on: 12 cannot be decoded; the minimum is 3/,
  ],
  [
    'a label whose images are all in the test',
    [
      { label: 'cup', count: usual },
      { label: 'pen', count: { test: 12 } },
    ],
    /TOO_FEW_IMAGES: Label "pen" has 0 images to train on: 12 are in the test; the minimum is 3/,
  ],
  [
    'a label whose images are all for validation',
    [
      { label: 'cup', count: usual },
      { label: 'pen', count: { train: 1, validation: 10, test: 1 } },
    ],
    /TOO_FEW_IMAGES: Label "pen" has 1 images to train on: 10 are for validation, 1 are in the test; the minimum is 2/,
  ],
  [
    'all images of a label are identical',
    [
      { label: 'cup', count: { train: 12 }, scene: 'cup', shot: 'one' },
      { label: 'pen', count: { train: 12 }, scene: 'pen', shot: 'one' },
    ],
    /NOTHING_HELD_OUT: No image of the dataset can be held out/,
  ],
  [
    'each label has two groups',
    [
      { label: 'cup', count: { train: 12 } },
      { label: 'pen', count: { train: 12 } },
    ],
    /NOTHING_HELD_OUT: .* fewer than 3 groups .* Or tag images split:test\./,
    groupedBy({ a: /cup-train-[0-5]\./, b: /cup/, c: /pen-train-[0-5]\./, d: /pen/ }),
  ],
];
for (const [name, images, message, lines] of refused) {
  test(`${name}: refused, without a model`, async () => {
    for (const kind of [single, multi] as const) {
      const result = await run(noisyImages(images), { kind, recipe: 'auto', ...(lines && { lines }) });
      assert.equal(result.code, 65, kind);
      assert.match(result.stderr, message, kind);
      assert.equal(result.evaluation, undefined, kind);
    }
  });
}

test('images of 10 × 10 px: the advice states that they are enlarged', async () => {
  const images = ['cup', 'pen'].map((label) => ({ label, count: usual, side: 10 }));
  for (const kind of [single, multi] as const) {
    const result = await run(noisyImages(images), { kind });
    assert.deepEqual([result.code, result.evaluation?.count], [0, 4], result.stderr);
    assert.match(result.card, /Half of the images are at most 10 px wide or high and are enlarged to 96 px/);
    assert.doesNotMatch(result.card, /Warning/);
  }
});

test('group: tags that leave a label without test images: no figure of it, and a warning', async () => {
  const images = [
    { label: 'cup', count: { train: 6, validation: 3, test: 3 } },
    { label: 'pen', count: { train: 12 } },
  ];
  const lines = groupedBy({ left: /pen-train-[0-5]\./, right: /pen/, one: /cup-train/, two: /cup-val/, three: /cup/ });
  for (const kind of [single, multi] as const) {
    const result = await run(noisyImages(images), { kind, lines });
    assert.deepEqual([result.code, result.evaluation?.held_out?.split_by], [0, 'group'], result.stderr);
    assertWarned(result, /No held-out image shows "pen": the score says nothing about it\./);
    assert.match(result.card, /^\| pen \| – \| – \| – \| 0 \|/m);
    assert.match(result.card, /^- Split by group: the 3 held-out images are of 1 group, none of which is among/m);
    const dominant = /3 of 3 held-out images show "cup": a model that always answers "cup" has the same share right/;
    if (kind === single) assertWarned(result, dominant);
  }
});

test('a group with images of several labels: each label keeps images to learn from', async () => {
  const images = [
    { label: 'cup', count: { train: 12 } },
    { label: 'pen', count: { train: 3 } },
  ];
  // The pens are in two groups that have cups, too.
  const lines = groupedBy({ a: /pen-train-0|cup-train-[01]\./, b: /pen|cup-train-[23]\./, c: /cup-train-[4-7]\./ });
  const result = await run(noisyImages(images), { recipe: 'auto', lines });
  assert.equal(result.code, 0, result.stderr);
  assertWarned(result, /No held-out image shows "pen"/);
  assertWarned(result, /There are no test images: the images of the score also chose the weights/);
});

test('bursts in training and test: the trainer keeps each in one split', async () => {
  const bursts = ['cup', 'pen'].flatMap((label) =>
    Array.from({ length: 6 }, (_, i) => ({ label, count: { train: 4, test: 1 }, scene: `${label} ${i}` })),
  );
  const result = await run(noisyImages(bursts));
  const { moved, near_copies: copies, measure } = result.evaluation?.held_out ?? {};
  assert.deepEqual([result.code, copies, measure], [0, 0, 'features'], result.stderr);
  assert.ok((moved ?? 0) >= 10, `${moved} images moved`);
  const tested = result.evaluation?.count ?? 0;
  assert.ok(tested >= 10 && tested < 30, `${tested} of 60 images are in the test`);
  assert.doesNotMatch(result.card, /near copies of training images \(/);
  assert.match(
    result.card,
    /^- Split by image: .* Near copies, found by features of EfficientNet-Lite0 and thumbnails, are kept in one split/m,
  );
  assert.ok(result.log.some((line) => / images changed the split, so that near copies are in one split\./.test(line)));
});

test('a test that users chose gets no other image: near copies of its images are left out', async () => {
  const bursts = ['cup', 'pen'].flatMap((label) =>
    Array.from({ length: 6 }, (_, i) => ({
      label,
      count: { train: 4, ...(i < 2 ? { test: 1 } : {}) },
      scene: `${label} ${i}`,
    })),
  );
  const lines = (all: readonly DatasetLine[]): DatasetLine[] =>
    all.map((line) => (line.split === 'test' ? { ...line, split_chosen: true } : line));
  const result = await run(noisyImages(bursts), { lines });
  const { left_out: leftOut, near_copies: copies } = result.evaluation?.held_out ?? {};
  assert.deepEqual([result.code, result.evaluation?.count, leftOut, copies], [0, 4, 16, 0], result.stderr);
  assert.match(result.card, /16 images were left out: near copies of test images that users chose\./);
});

test('all images are near copies of one per label, or of one: the score has a warning', async () => {
  const perLabel = ['cup', 'pen'].map((label) => ({ label, count: usual, scene: label }));
  const ofOne = [{ label: 'cup', count: usual, scene: 'shelf' }];
  for (const kind of [single, multi] as const) {
    const result = await run(noisyImages(perLabel), { kind });
    assert.deepEqual([result.code, result.evaluation?.held_out?.near_copies], [0, 4], result.stderr);
    assertWarned(result, /4 of 4 held-out images are near copies of training images .*: the score is too high/);
  }
  const images = async function* () {
    yield* noisyImages(ofOne);
    for await (const one of noisyImages([{ ...ofOne[0], label: 'pen', count: usual, scene: 'shelf' }])) yield one;
  };
  const result = await run(images());
  assert.equal(result.evaluation?.held_out?.all_alike, true, result.stderr);
  assertWarned(result, /All training images are near copies of one: the score says nothing about other images/);
});

test('a corrupt image among good ones is skipped with its name', async () => {
  const images = async function* () {
    yield* noisyImages(['cup', 'pen'].map((label) => ({ label, count: usual })));
    yield { name: 'broken.jpg', split: 'train' as const, bytes: corrupt(0), labels: ['cup'] };
  };
  for (const kind of [single, multi] as const) {
    const { code, evaluation, log, card } = await run(images(), { kind });
    assert.deepEqual([code, evaluation?.count, evaluation?.skipped.length], [0, 4, 1]);
    assert.ok(log.some((line) => line.startsWith('Skipped broken.jpg: it cannot be decoded: it is not a JPEG')));
    assert.match(card, /^- broken\.jpg: cannot be decoded/m);
  }
});
