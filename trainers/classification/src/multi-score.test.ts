import assert from 'node:assert/strict';
import { test } from 'node:test';
import { averagePrecision, labelReports, multiLabelScoreOf, chooseThresholds } from './multi-score.ts';
import { labelsAbove } from '@platform/contract/job/model-output';
import type { EvaluatedImage } from './score.ts';

const evaluatedOf = (...rows: [classes: number[], probabilities: number[]][]): EvaluatedImage[] =>
  rows.map(([classes, probabilities]) => ({ classes, probabilities: Float64Array.from(probabilities) }));
const near = (a: number | undefined, b: number): void =>
  assert.ok(Math.abs((a ?? NaN) - b) < 1e-9, `${a} against ${b}`);

test('average precision by hand: ranks 1, 3 and 5 of five', () => {
  const evaluated = evaluatedOf([[0], [0.9]], [[], [0.8]], [[0], [0.7]], [[], [0.6]], [[0], [0.5]]);
  near(averagePrecision(evaluated, 0), (1 + 2 / 3 + 3 / 5) / 3);
  near(averagePrecision(evaluated, 1), 0);
  near(averagePrecision(evaluatedOf([[0], [0.2]], [[], [0.1]]), 0), 1);
});
test('images of the same probability share a rank: no order among them flatters', () => {
  const evaluated = evaluatedOf([[0], [0.5]], [[], [0.5]], [[], [0.5]], [[0], [0.5]]);
  near(averagePrecision(evaluated, 0), 0.5);
});

const many = (n: number, classes: number[], probabilities: number[]): [number[], number[]][] =>
  Array.from({ length: n }, () => [classes, probabilities]);

const isWithin = (x: number | undefined, low: number, high: number): void =>
  assert.ok(x !== undefined && x > low && x < high, `${x} is not within ${low} and ${high}`);

test('thresholds part what is there from what is not, with room on both sides', () => {
  // The first label never exceeds 0.3; the second does whenever it is present.
  const evaluated = evaluatedOf(
    ...many(40, [0], [0.3, 0.6]),
    ...many(40, [1], [0.1, 0.9]),
    ...many(40, [], [0.1, 0.6]),
  );
  const [a = 0, b = 0] = chooseThresholds(evaluated, 2);
  isWithin(a, 0.14, 0.26);
  isWithin(b, 0.68, 0.86);
  assert.deepEqual(labelsAbove(Float64Array.of(0.3, 0.9), [a, b]), [0, 1]);
  isWithin(chooseThresholds(evaluatedOf([[0], [0.9]], [[], [0.2]]), 1)[0], 0.35, 0.75);
});
test('one image that is hard to tell moves a threshold, but not to its own place', () => {
  const sure = [...many(12, [0], [0.9]), ...many(12, [], [0.05])];
  const [without = 0] = chooseThresholds(evaluatedOf(...sure), 1);
  const [low = 0] = chooseThresholds(evaluatedOf(...sure, [[0], [0.1]]), 1);
  const [high = 0] = chooseThresholds(evaluatedOf(...sure, [[], [0.5]]), 1);
  isWithin(low, 0.15, without);
  isWithin(high, without, 0.8);
});
test('nothing to choose by: a half', () => {
  assert.deepEqual(chooseThresholds(evaluatedOf([[], [0.4]], [[], [0.6]]), 1), [0.5]);
  assert.deepEqual(chooseThresholds([], 2), [0.5, 0.5]);
});
test('a label with one image to choose by leans on the others', () => {
  const others = [...many(30, [0], [0.8, 0.1]), ...many(30, [], [0.3, 0.1])];
  const [common, rare] = chooseThresholds(evaluatedOf(...others, [[1], [0.3, 0.15]]), 2);
  isWithin(common, 0.4, 0.7);
  isWithin(rare, 0.3, 0.7);
});

test('micro and macro F1, exact matches and reports of a small table', () => {
  const evaluated = evaluatedOf(
    [[0], [0.9, 0.1, 0.1]],
    [
      [0, 1],
      [0.8, 0.3, 0.1],
    ],
    [[1], [0.6, 0.7, 0.1]],
    [[], [0.1, 0.2, 0.9]],
  );
  const thresholds = [0.5, 0.5, 0.5];
  const score = multiLabelScoreOf(evaluated, thresholds);
  near(score.micro_f1, (2 * 3) / (2 * 3 + 2 + 1));
  // Label 2 is on no image: the means exclude it.
  near(score.macro_f1, (0.8 + 2 / 3) / 2);
  near(score.exact_match, 1 / 4);
  near(score.mean_average_precision, (1 + 1) / 2);
  const [a, b, c] = labelReports(evaluated, thresholds, ['a', 'b', 'c']);
  assert.deepEqual([a?.precision, a?.recall, a?.support, a?.threshold], [2 / 3, 1, 2, 0.5]);
  assert.deepEqual([b?.precision, b?.recall, b?.f1], [1, 0.5, 2 / 3]);
  assert.deepEqual([c?.precision, c?.support, c?.average_precision], [0, 0, 0]);
  assert.deepEqual(multiLabelScoreOf([], thresholds), {
    micro_f1: 0,
    macro_f1: 0,
    exact_match: 0,
    mean_average_precision: 0,
  });
});
