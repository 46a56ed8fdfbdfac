import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idBytes, idOf } from './fresh-id.ts';

test('two starts with the same random bytes, as after a restored snapshot, have different names', () => {
  const random = new Uint8Array(idBytes).fill(7);
  const starts = [
    { random, wall: 1_000, monotonicNs: 5n },
    { random, wall: 2_000, monotonicNs: 5n },
    { random, wall: 1_000, monotonicNs: 6n },
    { random: new Uint8Array(idBytes), wall: 1_000, monotonicNs: 5n },
  ];
  const names = starts.map((start) => Buffer.from(idOf(start)).toString('hex'));
  assert.equal(new Set(names).size, starts.length);
  for (const name of names) assert.equal(name.length, 2 * idBytes);
});
