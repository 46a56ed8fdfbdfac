import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stretchOf, usedBitsOf } from '../../src/job/image-limits.ts';

const cases: [largest: number, bits: number][] = [
  [0, 10],
  [1_023, 10],
  [1_024, 12],
  [4_095, 12],
  [4_096, 14],
  [16_383, 14],
  [16_384, 16],
  [65_535, 16],
];
for (const [largest, bits] of cases)
  test(`an image of 16 bits up to ${largest} uses ${bits}`, () => assert.equal(usedBitsOf(largest), bits));

test('the largest value of a camera becomes the largest of 16 bits', () => {
  for (const bits of [10, 12, 14, 16]) assert.equal(Math.round((2 ** bits - 1) * stretchOf(bits)), 65_535);
});
