import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '../../test/temp-folder.ts';
import { halfToFloat, permute4 } from './half.ts';
import { readMobilenet, WeightsError } from './mobilenet.ts';

test('the network of the installed package: 52 convolutions, 1280 features', () => {
  const { layers, features } = readMobilenet();
  const convolutions = layers.filter((layer) => layer.is === 'conv');
  assert.equal(convolutions.length, 52);
  assert.equal(convolutions.filter(({ depthwise }) => depthwise).length, 17);
  assert.equal(layers.filter((layer) => layer.is === 'add').length, 10);
  assert.equal(convolutions.at(-1)?.dims[0], features);
  for (const { weights, dims, bias } of convolutions) {
    assert.equal(weights.length, dims[0] * dims[1] * dims[2] * dims[3]);
    assert.equal(bias.length, dims[0]);
    assert.ok(weights.every(Number.isFinite) && bias.every(Number.isFinite));
  }
});

test('other weights are refused before they are read', async () => {
  await using folder = await tempFolder();
  const file = path.join(folder.path, 'weights.data');
  await writeFile(file, Buffer.alloc(1000));
  assert.throws(
    () => readMobilenet(file),
    (e) => e instanceof WeightsError && /expected d0a5255b/.test(e.message),
  );
});

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
