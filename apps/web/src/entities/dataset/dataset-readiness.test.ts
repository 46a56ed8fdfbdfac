import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BuiltInKind } from '@platform/contract/job/model-kinds';
import { assessReadiness } from './dataset-readiness.ts';

const single = 'single_label_classification';
const multi = 'multi_label_classification';
const boxes = 'object_detection';
const labels = (of: Record<string, number>) => Object.entries(of).map(([label, images]) => ({ label, images }));

type Row = [
  name: string,
  type: BuiltInKind,
  images: number,
  of: Record<string, number>,
  labelled: number | undefined,
  problems: RegExp[],
  advice: RegExp[],
];
const table: Row[] = [
  ['enough', single, 24, { cup: 12, pen: 12 }, 24, [], []],
  ['nothing known yet', single, 24, { cup: 12, pen: 12 }, undefined, [], []],
  ['no label', single, 12, {}, 0, [/^No image has a label yet: a model needs at least 2 labels\.$/], []],
  ['no box', boxes, 20, {}, 0, [/^No image has a box yet/], []],
  ['one label', single, 12, { cup: 12 }, 12, [/^The images have 1 label; a model needs at least 2\./], []],
  ['one label with boxes', boxes, 20, { cup: 12 }, 20, [], []],
  ['too few of one', single, 21, { cup: 12, pen: 9 }, 21, [/Too few: pen \(9\)/], []],
  ['few boxes', boxes, 21, { cup: 12, pen: 9 }, 21, [], [/10 boxes.*pen \(9\)/]],
  [
    'few boxes and many images without',
    boxes,
    21,
    { lid: 1 },
    1,
    [/20 images have no box.*at most 4/],
    [/10 boxes.*lid \(1\)/],
  ],
  ['too few images', boxes, 14, { cup: 12 }, 14, [/needs 15 images; there are 14/], []],
  ['many without a label', single, 40, { cup: 12, pen: 12 }, 24, [/16 images carry none.*at most 8/], []],
  ['some without a label', multi, 27, { cup: 12, pen: 12 }, 24, [], [/3 images carry none/]],
  ['background', boxes, 27, { cup: 12, pen: 12 }, 24, [], [/3 images have no box.*background/]],
  ['several labels at once', single, 20, { cup: 12, pen: 12 }, 20, [], [/several of these labels/]],
  ['several labels at once, wanted', multi, 20, { cup: 12, pen: 12 }, 20, [], []],
  ['out of balance', single, 50, { cup: 40, pen: 10 }, 50, [], [/40 images, the rarest 10/]],
];
for (const [name, type, images, of, labelled, problems, advice] of table)
  test(`the readiness of a dataset: ${name}`, () => {
    const found = assessReadiness(type, { images, labels: labels(of) }, new Set(Object.keys(of)), labelled);
    const matches = (lines: readonly string[], patterns: readonly RegExp[]): void => {
      assert.equal(lines.length, patterns.length, lines.join('\n'));
      patterns.forEach((pattern, at) => assert.match(lines[at] ?? '', pattern));
    };
    matches(found.problems, problems);
    matches(found.advice, advice);
  });

test('too few of the labels are chosen: choose more', () => {
  const counts = { images: 24, labels: labels({ cup: 12, pen: 12 }) };
  const [first] = assessReadiness(single, counts, new Set(['cup']), 12).problems;
  assert.equal(first, 'Choose at least 2 labels.');
});

test('labels that are not chosen do not matter', () => {
  const counts = { images: 24, labels: labels({ cup: 12, pen: 12, dust: 1 }) };
  assert.deepEqual(assessReadiness(single, counts, new Set(['cup', 'pen']), 24), { problems: [], advice: [] });
});
