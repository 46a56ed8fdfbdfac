import assert from 'node:assert/strict';
import { test } from 'node:test';
import { imageScores, meansOf } from './choose-network.ts';

test('scores of images: right or wrong, or the F1 of their labels', () => {
  const single = [
    { classes: [0], probabilities: Float64Array.of(0.7, 0.3) },
    { classes: [0], probabilities: Float64Array.of(0.3, 0.7) },
  ];
  assert.deepEqual(imageScores(single, 'softmax'), [1, 0]);
  const several = Array.from({ length: 20 }, (_, i) => ({
    classes: i % 2 === 0 ? [0, 1] : [],
    probabilities: i % 2 === 0 ? Float64Array.of(0.9, i === 0 ? 0.1 : 0.9) : Float64Array.of(0.1, 0.1),
  }));
  const found = imageScores(several, 'sigmoid');
  assert.ok(Math.abs((found[0] ?? 0) - 2 / 3) < 1e-9 && found.slice(1).every((score) => score === 1), found.join());
});

test('means of probabilities are those of the mean of the logits', () => {
  const sigmoid = (z: number): number => 1 / (1 + Math.exp(-z));
  const one = (...p: number[]) => [{ classes: [0], probabilities: Float64Array.from(p) }];
  const [found] = meansOf(one(sigmoid(2), sigmoid(-1)), one(sigmoid(0), sigmoid(5)), 'sigmoid');
  for (const [k, z] of [1, 2].entries()) assert.ok(Math.abs((found?.probabilities[k] ?? 9) - sigmoid(z)) < 1e-9);
  const [mean] = meansOf(one(0.5, 0.5), one(0.8, 0.2), 'softmax');
  const [a = 0, b = 0] = mean?.probabilities ?? [];
  assert.ok(Math.abs(a + b - 1) < 1e-9 && Math.abs(a / b - 2) < 1e-9);
});
