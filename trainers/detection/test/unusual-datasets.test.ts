/** Whole jobs on datasets that give no good detector: each is refused with its cause, or its score has a warning. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DetectionEvaluation } from '@platform/contract/job/evaluation';
import type { TestImage } from '../../engine/test/job-folder.ts';
import { groupedBy, noisyImages } from '../../engine/test/noisy-images.ts';
import type { LabelImages } from '../../engine/test/noisy-images.ts';
import { assertWarned, runJob } from '../../engine/test/run-job.ts';
import type { JobOptions, JobResult } from '../../engine/test/run-job.ts';

const main = new URL('../src/main.ts', import.meta.url);
const run = (
  images: AsyncIterable<TestImage>,
  options: Partial<JobOptions> = {},
): Promise<JobResult<DetectionEvaluation>> => runJob(main, images, { kind: 'object_detection', ...options });
const usual = { train: 6, validation: 2, test: 2 };
const corrupt = (i: number): Buffer => Buffer.from(`no image ${i}`);

const refused: [string, LabelImages[], RegExp, ReturnType<typeof groupedBy>?][] = [
  [
    'two images',
    [{ label: 'cup', count: { train: 2 } }],
    /TOO_FEW_BOXES: Label "cup" has 2 bounding boxes; the minimum/,
  ],
  [
    'a label of which all images are corrupt',
    [
      { label: 'cup', count: usual },
      { label: 'pen', count: usual, bytes: corrupt },
    ],
    /Label "pen" has 0 bounding boxes to train on: 10 are in images that cannot be decoded; the minimum is 3/,
  ],
  [
    'a label whose images are all for validation',
    [
      { label: 'cup', count: usual },
      { label: 'pen', count: { validation: 10 } },
    ],
    /Label "pen" has 0 bounding boxes to train on: 10 are for validation; the minimum is 1/,
  ],
  [
    'all images are identical',
    [{ label: 'cup', count: { train: 12 }, scene: 'cup', shot: 'one' }],
    /NOTHING_HELD_OUT: .*: the images with boxes are of one group or equal files\./,
  ],
  [
    'all images are of one group',
    [{ label: 'cup', count: { train: 12 } }],
    /NOTHING_HELD_OUT: .*: the images with boxes are of one group or equal files\./,
    groupedBy({ one: /cup/ }),
  ],
];
for (const [name, images, message, lines] of refused) {
  test(`${name}: refused, without a model`, async () => {
    const { code, stderr, evaluation } = await run(noisyImages(images), lines && { lines });
    assert.equal(code, 65, stderr);
    assert.match(stderr, message);
    assert.equal(evaluation, undefined);
  });
}

test('held-out images without boxes give no score', async () => {
  const images = noisyImages([{ label: 'cup', count: usual }]);
  const lines: JobOptions['lines'] = (all) =>
    all.map((one) => (one.split === 'test' ? { ...one, bounding_box_annotations: [] } : one));
  const { code, stderr } = await run(images, { lines });
  assert.equal(code, 65, stderr);
  assert.match(stderr, /NOTHING_HELD_OUT: .*: its 2 held-out images have no box of these labels\./);
});

test('images of 10 × 10 px, a corrupt one, and a label without test images: stated in the report', async () => {
  const images = async function* (): AsyncGenerator<TestImage> {
    yield* noisyImages([
      { label: 'cup', count: usual, side: 10 },
      { label: 'pen', count: { train: 8 }, side: 10 },
    ]);
    yield { name: 'broken.jpg', split: 'train', bytes: corrupt(0) };
  };
  const lines = groupedBy({ left: /pen-train-[0-3]\./, right: /pen/ });
  const result = await run(images(), { lines });
  assert.deepEqual([result.code, result.evaluation?.skipped.length], [0, 1], result.stderr);
  assertWarned(result, /No held-out image has a box with "pen": the score says nothing about it\./);
  assert.match(result.card, /^\| pen \| – \| – \| – \| – \| – \| 0 \|/m);
  assert.match(result.card, /Half of the images are at most 10 px wide or high and are enlarged to 96 px/);
  assert.match(result.card, /^- broken\.jpg: cannot be decoded/m);
});

test('all images are near copies of one: the score has a warning', async () => {
  const result = await run(noisyImages([{ label: 'cup', count: usual, scene: 'shelf' }]));
  assert.equal(result.evaluation?.held_out?.all_alike, true, result.stderr);
  assertWarned(result, /All training images are near copies of one: the score says nothing about other images/);
  assertWarned(result, /2 of 2 held-out images are near copies of training images/);
});
