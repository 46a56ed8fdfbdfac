/** Whole jobs on large datasets and large images: what they say, and that time and memory stay bounded. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Evaluation } from '@platform/contract/job/evaluation';
import sharp from 'sharp';
import type { TestImage } from '../../engine/test/job-folder.ts';
import { noisyImages } from '../../engine/test/noisy-images.ts';
import { runJob } from '../../engine/test/run-job.ts';

const main = new URL('../src/main.ts', import.meta.url);
const run = (images: AsyncIterable<TestImage>) =>
  runJob<Evaluation>(main, images, { kind: 'single_label_classification' });

test('2,000 images of one label and 20 of the other: bounded, and the accuracy has a warning', async () => {
  // Both labels look alike, so that nothing but their numbers can be learnt.
  const images = async function* (): AsyncGenerator<TestImage> {
    for (const [label, factor] of [
      ['many', 100],
      ['few', 1],
    ] as const) {
      const count = { train: 14 * factor, validation: 3 * factor, test: 3 * factor };
      yield* noisyImages([{ label, count, side: 24 }]);
    }
  };
  const { code, evaluation, stderr, card, log } = await run(images());
  assert.ok(code === 0 && evaluation, stderr);
  assert.ok(evaluation.accuracy > 0.95 && evaluation.macro_f1 < 0.7, `${evaluation.accuracy} ${evaluation.macro_f1}`);
  const warning =
    '300 of 303 held-out images show "many": a model that always answers "many" has the same share right.';
  assert.ok(card.includes(`> **Warning**: ${warning}`));
  assert.ok(log.some((line) => line.startsWith(warning)));
  assert.match(card, /^- "many" has 1700 images, "few" only 17: add to the latter\.$/m);
  assert.ok(evaluation.machine.peak_rss_mib < 500, `${evaluation.machine.peak_rss_mib} MiB`);
});

/** An interlaced PNG: the decoder needs all of its pixels at the same time. */
const interlaced = (side: number, background: string): Promise<Buffer> =>
  sharp({ create: { width: side, height: side, channels: 3, background } })
    .png({ compressionLevel: 1, progressive: true })
    .toBuffer();

test('images of 100 megapixels train, one at a time; one over the limit is skipped with its name', async () => {
  const header = Buffer.from(
    '89504e470d0a1a0a0000000d4948445200004e2000002710080200000000000000000000004944415400000000',
    'hex',
  );
  const images = async function* (): AsyncGenerator<TestImage> {
    for (const background of ['#b04040', '#a03030'])
      yield { name: `${background}.png`, split: 'train', bytes: await interlaced(10_000, background), labels: ['a'] };
    yield { name: 'panorama.png', split: 'train', bytes: header, labels: ['a'] };
    yield* noisyImages(['a', 'b'].map((label) => ({ label, count: { train: 8, validation: 2, test: 2 } })));
  };
  const { code, evaluation, stderr, log } = await run(images());
  assert.ok(code === 0 && evaluation, stderr);
  assert.deepEqual(
    evaluation.skipped.map(({ file_name: name, reason }) => [name, /pixel limit/.test(reason)]),
    [['panorama.png', true]],
  );
  assert.ok(log.some((line) => line.startsWith('Skipped panorama.png: it cannot be decoded: ')));
  // One takes about 300 MiB.
  assert.ok(evaluation.machine.peak_rss_mib < 600, `${evaluation.machine.peak_rss_mib} MiB`);
});
