import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seeded } from '@platform/trainer-engine/random';
import { leaveOneOutScores, unlikeReferenceOf, unlikeScore, unlikeThreshold } from './unlike.ts';

/** Features of a label: a peak at its own channel, with noise. */
const featureOf = (label: number, image: number): Float32Array => {
  const random = seeded('feature', label, image);
  return Float32Array.from({ length: 12 }, (_, c) => (c === label ? 4 : 0) + random());
};
const images = [0, 1, 2].flatMap((label) =>
  Array.from({ length: 8 }, (_, image) => ({ label, feature: featureOf(label, image) })),
);

test('an image of a label is less unlike than one of another object', () => {
  const reference = unlikeReferenceOf(images, 3);
  const known = [0, 1, 2].map((label) => unlikeScore(reference, featureOf(label, 100)));
  const other = [7, 8, 9].map((label) => unlikeScore(reference, featureOf(label, 100)));
  assert.ok(Math.max(...known) < Math.min(...other), `${known.join()} and ${other.join()}`);
  assert.ok([...known, ...other].every((score) => score >= 0 && score <= 2));
});

test('a training image that is left out is more unlike than one that is part of its mean', () => {
  const reference = unlikeReferenceOf(images, 3);
  const scores = leaveOneOutScores(reference, images);
  for (const [i, { feature }] of images.entries()) assert.ok((scores[i] ?? 0) > unlikeScore(reference, feature));
});

test('scores are numbers for equal features, a label without images and a feature of zeros', () => {
  const equal = Array.from({ length: 4 }, (_, i) => ({ label: i % 2, feature: new Float32Array(12).fill(0.5) }));
  const reference = unlikeReferenceOf(equal, 3);
  for (const feature of [new Float32Array(12), featureOf(0, 1)]) {
    assert.ok(Number.isFinite(unlikeScore(reference, feature)));
  }
});

test('95 % of the images have at most the threshold, with few images all of them', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => (i * 37) % 100);
  assert.equal(unlikeThreshold(hundred), 95);
  assert.equal(unlikeThreshold([3, 1, 2]), 3);
  assert.equal(unlikeThreshold(hundred.slice(0, 18)), Math.max(...hundred.slice(0, 18)));
  assert.equal(unlikeThreshold([]), undefined);
});
