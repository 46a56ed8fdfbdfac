import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seeded } from '@platform/trainer-engine/random';
import { mixed, pastePiece, randomView } from './augment.ts';

test('random views stay inside of the picture and within what was allowed', () => {
  const random = seeded('views');
  const looks = { area: 0.25, stretch: 0.2, colour: 0.3, turn: 20 };
  for (let i = 0; i < 500; i++) {
    const { left, top, width, height, brightness, angle = 9 } = randomView(100, looks, random);
    assert.ok(left >= 0 && top >= 0 && left + width <= 100 + 1e-9 && top + height <= 100 + 1e-9);
    assert.ok(width >= 40 && height >= 40 && width * height >= 0.24 * 1e4, `${width} × ${height}`);
    assert.ok(brightness >= 0.7 && brightness <= 1.3 && Math.abs(angle) <= Math.PI / 9);
  }
});

test('a piece of another picture: where it lies, and as much as is said', () => {
  const random = seeded('pieces');
  for (let i = 0; i < 50; i++) {
    const into = new Float32Array(5 + 20 * 20 * 3);
    const share = pastePiece(into, 5, new Float32Array(20 * 20 * 3).fill(7), 20, random);
    assert.equal(into.filter((v) => v === 7).length, Math.round(share * 20 * 20) * 3);
    assert.ok(into.slice(0, 5).every((v) => v === 0));
    assert.ok(share > 0.05 && share < 0.45, String(share));
  }
});

test('lessons are mixed by share', () => {
  const { target, weights } = mixed({ target: [1, 0], weights: [2] }, { target: [0, 1], weights: [1] }, 0.25);
  assert.deepEqual([target, weights], [[0.75, 0.25], [1.75]]);
});
