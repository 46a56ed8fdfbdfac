import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '../../test/temp-folder.ts';
import { sizesOf } from '../network/layers.ts';
import { readEfficientnet } from './efficientnet.ts';
import { WeightsError } from './weights-error.ts';

for (const [variant, count, adds, numbers, channels] of [
  ['Lite0', 49, 9, 3_350_000, [40, 112, 192]],
  ['Lite2', 64, 14, 4_782_024, [48, 120, 208]],
] as const) {
  test(`${variant}: ${count} convolutions, 1280 features, every value of the file in its place`, () => {
    const { layers, features, taps } = readEfficientnet(variant);
    const convolutions = layers.filter((layer) => layer.is === 'conv');
    assert.equal(convolutions.length, count);
    assert.equal(convolutions.filter(({ depthwise }) => depthwise).length, (count - 1) / 3);
    assert.equal(layers.filter((layer) => layer.is === 'add').length, adds);
    assert.equal(convolutions.at(-1)?.dims[0], features);
    for (const { weights, dims, bias } of convolutions) {
      assert.equal(weights.length, dims[0] * dims[1] * dims[2] * dims[3]);
      assert.equal(bias.length, dims[0]);
      assert.ok(weights.every(Number.isFinite) && bias.every(Number.isFinite));
    }
    const values = convolutions.reduce((sum, { weights, bias }) => sum + weights.length + bias.length, 0);
    assert.equal(values, numbers);
    const sizes = sizesOf(layers, { channels: 3, height: 224, width: 160 });
    assert.deepEqual(sizes.get(taps[8]), { channels: channels[0], height: 28, width: 20 });
    assert.deepEqual(sizes.get(taps[16]), { channels: channels[1], height: 14, width: 10 });
    assert.deepEqual(sizes.get(taps[32]), { channels: channels[2], height: 7, width: 5 });
    assert.deepEqual(sizes.get(layers.at(-1)?.output ?? 0), { channels: features, height: 7, width: 5 });
  });
}

test('other weights are refused before they are read', async () => {
  await using folder = await tempFolder();
  const file = path.join(folder.path, 'weights.bin');
  await writeFile(file, Buffer.alloc(1000));
  assert.throws(
    () => readEfficientnet('Lite0', file),
    (e) => e instanceof WeightsError && /expected a3aebf40/.test(e.message),
  );
});
