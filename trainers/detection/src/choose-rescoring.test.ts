import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EvaluatedImage } from './average-precision.ts';
import { chooseNetwork } from './choose-rescoring.ts';
import { imageScores } from './thresholds.ts';
import { keepsPrecision } from './train-rescoring.ts';
import type { TrainingRun } from './training-run.ts';

const here = { left: 0.1, top: 0.1, right: 0.4, bottom: 0.4 };
const there = { left: 0.6, top: 0.6, right: 0.9, bottom: 0.9 };
/** 30 images of one object each; the first `wrong` have its box under another label. */
const images = (wrong: number): EvaluatedImage[] =>
  Array.from({ length: 30 }, (_, i) => ({
    truth: [{ ...here, label: 0 }],
    found: [{ ...here, label: i < wrong ? 1 : 0, score: 0.9 }],
  }));

test('the score of an image is the F1 of its boxes at the thresholds', () => {
  const evaluated: EvaluatedImage[] = [
    { truth: [{ ...here, label: 0 }], found: [{ ...here, label: 0, score: 0.8 }] },
    {
      truth: [
        { ...here, label: 0 },
        { ...there, label: 0 },
      ],
      found: [{ ...here, label: 0, score: 0.7 }],
    },
    { truth: [], found: [] },
    { truth: [], found: [{ ...there, label: 0, score: 0.6 }] },
    { truth: [{ ...there, label: 0 }], found: [{ ...here, label: 0, score: 0.1 }] },
  ];
  assert.deepEqual(
    imageScores(evaluated, 1).map((score) => Math.round(100 * score)),
    [100, 67, 100, 100, 0],
  );
});

test('the accurate network is chosen if it is better or requested, and never if its rescoring is dropped', () => {
  const table: [number, number | undefined, boolean, 'compact' | 'accurate', RegExp][] = [
    [8, 1, false, 'accurate', /is better by more/],
    [8, 8, false, 'compact', /is not better/],
    [8, 8, true, 'accurate', /requests the accurate network.*is not better/],
    [8, undefined, false, 'compact', /boxes of the validation images worse/],
    [8, undefined, true, 'compact', /boxes of the validation images worse/],
  ];
  for (const [before, after, isRequested, wanted, why] of table) {
    const accurate = after === undefined ? undefined : images(after);
    const { chosen, reason, gain } = chooseNetwork(images(before), accurate, 2, isRequested);
    assert.equal(chosen, wanted);
    assert.match(reason, why);
    assert.equal(gain === null, after === undefined);
  }
});

test('rescoring is dropped if the validation images get worse by more than a standard error', () => {
  const prepared = {
    labels: ['a', 'b'],
    validation: images(0).map(({ truth: boxes }) => ({ boxes })),
  } as unknown as TrainingRun['prepared'];
  assert.equal(keepsPrecision(images(8), images(8), prepared), true);
  assert.equal(keepsPrecision(images(8), images(9), prepared), true);
  assert.equal(keepsPrecision(images(8), images(20), prepared), false);
});
