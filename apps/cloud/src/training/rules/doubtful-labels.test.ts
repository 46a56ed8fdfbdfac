import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PredictedBox } from '@platform/contract/job/predictions';
import { type Doubt, doubtsOf, type ReviewedImage, strengthOf } from './doubtful-labels.ts';

const image = (modelType: string, more: Partial<ReviewedImage>): ReviewedImage => ({
  modelType,
  labels: [],
  boxes: [],
  suggestions: [],
  scores: {},
  ...more,
});
const single = (labels: string[], scores: Record<string, number>) =>
  image('single_label_classification', { labels, scores });
const multi = (labels: string[], scores: Record<string, number>) =>
  image('multi_label_classification', { labels, scores });
const left: PredictedBox = [0.1, 0.1, 0.4, 0.4];
const right: PredictedBox = [0.6, 0.6, 0.9, 0.9];
const beside: PredictedBox = [0.12, 0.1, 0.42, 0.4];
type Found = [label: string, box: PredictedBox, score?: number];
const detector = (boxes: readonly Found[], found: readonly Found[]) =>
  image('object_detection', {
    boxes: boxes.map(([label, box]) => ({ label, box })),
    suggestions: found.map(([label, box, score = 0.9]) => ({ label, box, score })),
    scores: { cup: 0.9, mug: 0.9 },
  });
const shown = ({ label, predicted }: Doubt): string => `${label || 'none'} → ${predicted || 'nothing'}`;

const cases: [what: string, image: ReviewedImage, expected: string[]][] = [
  ['another label for sure', single(['cup'], { cup: 0.05, mug: 0.95 }), ['cup → mug']],
  ['the same label', single(['cup'], { cup: 0.9, mug: 0.1 }), []],
  ['not sure', single(['cup'], { cup: 0.15, mug: 0.7 }), []],
  ['no label yet', single([], { cup: 0.01, mug: 0.99 }), []],
  ['a label that the model does not know', single(['jar'], { cup: 0.01, mug: 0.99 }), []],
  ['unlike anything: no scores', single(['cup'], {}), []],
  ['several: one is unlikely', multi(['cup', 'mug'], { cup: 0.05, mug: 0.9 }), ['cup → nothing']],
  ['several: one is missing', multi(['cup'], { cup: 0.9, mug: 0.95 }), ['none → mug']],
  ['several: no label yet', multi([], { cup: 0.9 }), []],
  ['a box of the same label', detector([['cup', left]], [['cup', beside]]), []],
  ['a box of another label', detector([['cup', left]], [['mug', beside]]), ['cup → mug']],
  ['a box of another label, not sure', detector([['cup', left]], [['mug', beside, 0.5]]), []],
  ['a box that the model does not find', detector([['cup', left]], []), ['cup → nothing']],
  [
    'a box that no user gave',
    detector(
      [['cup', left]],
      [
        ['cup', left],
        ['mug', right],
      ],
    ),
    ['none → mug'],
  ],
  ['no box yet', detector([], [['mug', right]]), []],
  ['a box of a label that the model does not know', detector([['jar', left]], []), []],
  ['a model of another program', image('custom', { labels: ['cup'], scores: { mug: 1 } }), []],
];
for (const [what, given, expected] of cases)
  test(`doubtful labels: ${what}`, () => assert.deepEqual(doubtsOf(given).map(shown), expected));

test('the surer the model, the stronger the doubt; a box that it missed is the weakest', () => {
  const given = [
    single(['cup'], { cup: 0.01, mug: 0.99 }),
    single(['cup'], { cup: 0.15, mug: 0.85 }),
    detector([['cup', left]], []),
  ];
  const strengths = given.flatMap(doubtsOf).map(strengthOf);
  assert.deepEqual(
    strengths,
    strengths.toSorted((a, b) => b - a),
  );
});
