import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lostLinkMs, RadioLinks } from './radio-links.ts';

test('a radio without a link loses it after a while, once for each time', () => {
  const links = new RadioLinks();
  const lost = (without: string[], now: number): string[] => [...links.note(without, now)];
  assert.deepEqual(lost([], 0), []);
  assert.equal(links.nextLossMs(0), undefined);
  assert.deepEqual(lost(['/1'], 1_000), []);
  assert.equal(links.nextLossMs(5_000), lostLinkMs - 4_000);
  assert.deepEqual(lost(['/1', '/2'], 10_000), []);
  assert.deepEqual(lost(['/1', '/2'], 1_000 + lostLinkMs), ['/1']);
  assert.equal(links.nextLossMs(1_000 + lostLinkMs), 9_000);
  // A link that is back starts anew.
  assert.deepEqual(lost(['/2'], 2_000 + lostLinkMs), []);
  assert.deepEqual(lost(['/1', '/2'], 10_000 + lostLinkMs), ['/2']);
  assert.equal(links.nextLossMs(10_000 + lostLinkMs), lostLinkMs);
});
