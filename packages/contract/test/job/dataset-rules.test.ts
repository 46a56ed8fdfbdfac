import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brokenRules, datasetAdvice, type LabelCounts } from '../../src/job/dataset-rules.ts';
import type { BuiltInKind } from '../../src/job/model-kinds.ts';

const single = 'single_label_classification';
const boxes = 'object_detection';
const counts = (images: number, labels: Record<string, number>, more: Partial<LabelCounts> = {}): LabelCounts => ({
  images: images,
  labels,
  unlabelled: 0,
  ambiguous: 0,
  absent: [],
  ...more,
});

const table: [name: string, kind: BuiltInKind, counts: LabelCounts, broken: string[]][] = [
  ['enough', single, counts(20, { cup: 10, pen: 10 }), []],
  ['one short of enough', single, counts(19, { cup: 10, pen: 9 }), ['TOO_FEW_IMAGES pen 9/10']],
  [
    'everything at once, in the order of the remedies',
    boxes,
    counts(14, { cup: 1, pen: 2 }, { unlabelled: 9 }),
    ['DATASET_TOO_SMALL 14/15', 'TOO_FEW_BOXES cup 1/10', 'TOO_FEW_BOXES pen 2/10', 'TOO_MANY_UNLABELED 9/2'],
  ],
  ['one label, which is rare', single, counts(3, { cup: 3 }), ['TOO_FEW_LABELS 1/2', 'TOO_FEW_IMAGES cup 3/10']],
  ['nothing', boxes, counts(0, { cup: 0 }), ['DATASET_EMPTY']],
  ['all ambiguous', single, counts(20, { cup: 0, pen: 0 }, { ambiguous: 20 }), ['LABELS_AMBIGUOUS 20']],
  ['a fifth without a label', single, counts(25, { cup: 10, pen: 10 }, { unlabelled: 5 }), []],
  ['one more', single, counts(26, { cup: 10, pen: 10 }, { unlabelled: 6 }), ['TOO_MANY_UNLABELED 6/5']],
];
for (const [name, kind, of, expected] of table)
  test(`broken rules: ${name}`, () => {
    const broken = brokenRules(kind, of).map(({ code, data: { label, count, limit } }) => {
      const numbers = [count, limit].filter((one) => one !== undefined).join('/');
      return [code, label, numbers].filter(Boolean).join(' ');
    });
    assert.deepEqual(broken, expected);
  });

const advised: [name: string, kind: BuiltInKind, counts: LabelCounts, lines: RegExp[]][] = [
  ['nothing to say', single, counts(20, { cup: 10, pen: 10 }), []],
  ['three times as many', single, counts(40, { cup: 30, pen: 10 }), []],
  ['more than that', single, counts(41, { cup: 31, pen: 10 }), [/31 images, the rarest 10/]],
  ['boxes are counted', boxes, counts(41, { cup: 31, pen: 10 }), [/31 boxes, the rarest 10/]],
  ['an absent label is not the rarest', single, counts(20, { cup: 10, pen: 10, lid: 0 }), []],
  ['few images', single, counts(14, { cup: 10, pen: 10 }), [/14 images; from 15 on/]],
  ['one without a label', single, counts(21, { cup: 10, pen: 10 }, { unlabelled: 1 }), [/^1 image carries none/]],
  ['background', boxes, counts(21, { cup: 10 }, { unlabelled: 2 }), [/^2 images have no box .*: background\.$/]],
  ['one ambiguous', single, counts(21, { cup: 10, pen: 10 }, { ambiguous: 1 }), [/^1 image carries several/]],
];
for (const [name, kind, of, expected] of advised)
  test(`advice: ${name}`, () => {
    const lines = datasetAdvice(kind, of);
    assert.equal(lines.length, expected.length, lines.join('\n'));
    expected.forEach((pattern, at) => assert.match(lines[at] ?? '', pattern));
  });
