import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  classInterval,
  classText,
  cellText,
  predictedCount,
  scoreText,
  wilson,
  withIntervals,
} from '@platform/contract/job/confidence';

// Computed with statsmodels.stats.proportion.proportion_confint(…, method="wilson").
const intervals: [right: number, count: number, low: number, high: number][] = [
  [192, 200, 0.9231, 0.9796],
  [200, 200, 0.9812, 1],
  [0, 20, 0, 0.1611],
  [10, 20, 0.2993, 0.7007],
  [1, 1, 0.2065, 1],
];
for (const [right, count, low, high] of intervals)
  test(`Wilson's interval of ${right} of ${count}`, () => {
    const interval = wilson(right / count, count);
    assert.deepEqual([interval.low.toFixed(4), interval.high.toFixed(4)], [low.toFixed(4), high.toFixed(4)]);
  });

const texts: [name: string, score: number, count: number, text: string][] = [
  ['accuracy', 0.96, 200, '96.0 % (92.3 to 98.0 %)'],
  ['accuracy', 1, 200, '100.0 % (98.1 to 100.0 %)'],
  ['accuracy', 0.75, 4, '3 of 4'],
  ['accuracy', 1, 19, '19 of 19'],
  ['exact_match', 0.5, 6, '3 of 6'],
  ['map50', 0.61, 40, '61.0 % (45.6 to 74.5 %)'],
  ['micro_f1', 0.5, 4, '50.0 % (15.0 to 85.0 %)'],
  ['accuracy', 0.905, 0, '90.5 %'],
];
for (const [name, score, count, text] of texts)
  test(`${name} ${score} on ${count} images is shown as ${text}`, () =>
    assert.equal(scoreText(name, score, count), text));

test('cells of tables are short', () => {
  assert.equal(cellText(0.96, 200), '96 % (92–98)');
  assert.equal(cellText(0.75, 4), '3 of 4');
  assert.equal(cellText(0.5, 0), '50.0 %');
  assert.equal(predictedCount({ precision: 0.9, recall: 0.5, support: 18 }), 10);
  assert.equal(predictedCount({ precision: 0, recall: 0, support: 18 }), 0);
});

const row = { label: 'cup', precision: 0.9, recall: 0.5, f1: 0.64, support: 20, ap50: 0.61, ap75: 0.4, threshold: 0.3 };

test('each figure of a label is shown with its interval, also in a file that has none', () => {
  const shown = { precision: '10 of 11', recall: '50 % (30–70)', f1: '64 % (44–81)', ap50: '61 % (40–79)' } as const;
  for (const [figure, text] of Object.entries(shown)) {
    assert.equal(classText(row, figure as keyof typeof shown), text, figure);
    assert.equal(classText(withIntervals(row), figure as keyof typeof shown), text, `${figure}, stored`);
  }
  assert.equal(classText(row, 'average_precision'), '');
  assert.deepEqual(Object.keys(withIntervals(row).intervals_95), ['precision', 'recall', 'f1', 'ap50', 'ap75']);
});
test('a label that no image has gets no figure and no interval, and a label that is never found still has one', () => {
  const absent = { precision: 0, recall: 0, f1: 0, support: 0, ap50: 0 };
  assert.deepEqual([classText(absent, 'f1'), classText(absent, 'ap50')], ['–', '–']);
  assert.deepEqual(withIntervals(absent).intervals_95, {});
  assert.equal(classText({ ...absent, support: 20 }, 'f1'), '0 % (0–28)');
});
test('a stored interval is shown as it is; one that a script wrote badly is computed anew', () => {
  assert.equal(classText({ ...row, intervals_95: { f1: { low: 0.6, high: 0.7 } } }, 'f1'), '64 % (60–70)');
  for (const intervals_95 of [null, 5, { f1: 5 }, { f1: { low: 'x', high: 1 } }])
    assert.equal(classText({ ...row, intervals_95 }, 'f1'), '64 % (44–81)');
  assert.equal(classText({ ...row, recall: 'half' }, 'f1'), '64.0 %');
});

/** Uniform numbers from a fixed seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
}
/** Probabilities of a simulated classifier, ordered: true cases are higher by `distance` standard deviations. */
function simulate(random: () => number, cases: number, distance: number): { score: number; isTrue: boolean }[] {
  const normal = (): number => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());
  const drawn = Array.from({ length: 5 * cases }, (_, i) => {
    const isTrue = i < cases;
    return { score: normal() + (isTrue ? distance : 0), isTrue };
  });
  return drawn.toSorted((a, b) => b.score - a.score);
}
function figuresOf(ranked: readonly { score: number; isTrue: boolean }[], threshold: number) {
  const support = ranked.filter(({ isTrue }) => isTrue).length;
  let [hits, sum] = [0, 0];
  for (const [rank, { isTrue }] of ranked.entries()) if (isTrue) sum += ++hits / (rank + 1);
  const found = ranked.filter(({ score }) => score >= threshold);
  const right = found.filter(({ isTrue }) => isTrue).length;
  return {
    precision: found.length === 0 ? 0 : right / found.length,
    recall: right / support,
    f1: (2 * right) / (found.length + support),
    average_precision: sum / support,
    support,
  };
}
for (const [cases, distance] of [
  [10, 3.5],
  [20, 1.5],
  [50, 2.5],
] as const)
  test(`intervals of F1 and average precision hold the true value: ${cases} cases, ${distance} deviations apart`, () => {
    const random = randomFrom(cases);
    const threshold = distance / 2 + 0.5;
    const truth = figuresOf(simulate(random, 20_000, distance), threshold);
    for (const figure of ['f1', 'average_precision'] as const) {
      const samples = Array.from({ length: 400 }, () => figuresOf(simulate(random, cases, distance), threshold));
      const holding = samples.filter((sample) => {
        const { low, high } = classInterval(sample, figure) ?? { low: 1, high: 0 };
        return low <= truth[figure] && truth[figure] <= high;
      });
      assert.ok(holding.length >= 0.93 * 400, `${figure}: ${holding.length} of 400`);
    }
  });
