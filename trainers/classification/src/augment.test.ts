import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seeded } from '@platform/trainer-engine/random';
import { randomAugmentation } from './augment.ts';

test('random views stay inside of the image and within what was allowed', () => {
  const random = seeded('views');
  const looks = { area: 0.25, stretch: 0.2, colour: 0.3, turn: 20 };
  for (let i = 0; i < 500; i++) {
    const { left, top, width, height, brightness, angle = 9 } = randomAugmentation(100, looks, random);
    assert.ok(left >= 0 && top >= 0 && left + width <= 100 + 1e-9 && top + height <= 100 + 1e-9);
    assert.ok(width >= 40 && height >= 40 && width * height >= 0.24 * 1e4, `${width} × ${height}`);
    assert.ok(brightness >= 0.7 && brightness <= 1.3 && Math.abs(angle) <= Math.PI / 9);
  }
});
