import assert from 'node:assert/strict';
import { test } from 'node:test';
import { permute4 } from '../network/permute.ts';
import { halfToFloat } from './half.ts';

test('half precision numbers of every kind', () => {
  const bits = Uint16Array.of(0x0000, 0x3c00, 0xc000, 0x3555, 0x0001, 0x7bff, 0x7c00, 0xfc00);
  const wanted = [0, 1, -2, 0.333251953125, 2 ** -24, 65504, Infinity, -Infinity];
  assert.deepEqual([...halfToFloat(bits)], wanted);
  assert.ok(Number.isNaN(halfToFloat(Uint16Array.of(0x7e00))[0]));
});

test('axes are reordered', () => {
  const values = Float32Array.from({ length: 24 }, (_, i) => i);
  const out = permute4(values, [2, 1, 3, 4], [0, 3, 1, 2]);
  assert.deepEqual(out.slice(0, 6), Float32Array.of(0, 4, 8, 1, 5, 9));
});
