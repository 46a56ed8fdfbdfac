import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import sharp from 'sharp';
import type { Sharp } from 'sharp';
import { tempFolder } from '../test/temp-folder.ts';
import { decode, PixelFile, renderAugmentation, identityAugmentation } from './images.ts';

const ramp = Uint8Array.from({ length: 4 * 4 * 3 }, (_, i) => i * 5);

test('the whole view is the image, and its mirror image is mirrored', () => {
  const out = new Float32Array(2 + 48);
  renderAugmentation(ramp, 4, identityAugmentation(4), out, 2, 4);
  assert.deepEqual([...out], [0, 0, ...ramp]);
  renderAugmentation(ramp, 4, { ...identityAugmentation(4), mirrored: true }, out, 0, 4);
  assert.deepEqual(out.slice(0, 3), Float32Array.from(ramp.slice(9, 12)));
});

test('a view of a quarter is enlarged, brightness scales, values stay in 0..255', () => {
  const half = new Uint8Array(16 * 3).fill(100);
  for (let y = 0; y < 2; y++) for (let x = 0; x < 2; x++) half.fill(40, (y * 4 + x) * 3, (y * 4 + x) * 3 + 3);
  const out = new Float32Array(4 * 4 * 3);
  renderAugmentation(half, 4, { ...identityAugmentation(4), width: 1, height: 1, brightness: 1.2 }, out, 0, 4);
  assert.ok(
    out.every((v) => Math.abs(v - 48) < 1e-4),
    String(out),
  );
  renderAugmentation(half, 4, { ...identityAugmentation(4), brightness: 3 }, out, 0, 4);
  assert.equal(Math.max(...out), 255);
});

test('a view turned by a quarter', () => {
  const out = new Float32Array(48);
  renderAugmentation(ramp, 4, { ...identityAugmentation(4), angle: Math.PI / 2 }, out, 0, 4);
  for (let y = 0; y < 4; y++) {
    for (let x = 0; x < 4; x++) {
      const [found, expected] = [out[(y * 4 + x) * 3] ?? -1, ramp[(x * 4 + (3 - y)) * 3] ?? -2];
      assert.ok(Math.abs(found - expected) < 1e-3, `${x},${y}: ${found} against ${expected}`);
    }
  }
});

const create = (channels: 3 | 4, background: string): Sharp =>
  sharp({ create: { width: 30, height: 20, channels, background } });

test('images of every kind become RGB of one size; broken ones are refused', async () => {
  await using folder = await tempFolder();
  const at = (name: string): string => path.join(folder.path, name);
  await create(3, '#102030').jpeg().toFile(at('rgb.jpg'));
  await create(3, '#808080').toColourspace('b-w').png().toFile(at('grey.png'));
  await create(4, '#ff000000').png().toFile(at('clear.png'));
  const pixel = async (name: string): Promise<number[]> => {
    const pixels = await decode(at(name), 8);
    assert.equal(pixels.length, 8 * 8 * 3);
    return Array.from(pixels.slice(0, 3));
  };
  assert.deepEqual(await pixel('grey.png'), [128, 128, 128]);
  assert.deepEqual(await pixel('clear.png'), [255, 255, 255]);
  const [r = 0, g = 0, b = 0] = await pixel('rgb.jpg');
  assert.ok(Math.abs(r - 16) < 4 && Math.abs(g - 32) < 4 && Math.abs(b - 48) < 4);

  const noisy = {
    create: {
      width: 200,
      height: 200,
      channels: 3 as const,
      background: '#000',
      noise: { type: 'gaussian' as const, mean: 128, sigma: 40 },
    },
  };
  const whole = await sharp(noisy).jpeg().toBuffer();
  await writeFile(at('cut.jpg'), whole.subarray(0, whole.length >> 1));
  await writeFile(at('text.jpg'), 'no image');
  await assert.rejects(decode(at('cut.jpg'), 8));
  await assert.rejects(decode(at('text.jpg'), 8));
});

test('the pixel file gives back what was written, in any order', async () => {
  await using folder = await tempFolder();
  const file = new PixelFile(path.join(folder.path, 'x.rgb'), 4);
  file.write(2, ramp);
  file.write(
    0,
    ramp.map((v) => 255 - v),
  );
  assert.deepEqual(file.read(2), ramp);
  assert.equal(file.read(0)[0], 255);
  assert.throws(() => file.read(3), /image 3 is not in the pixel file/);
  file.close();
});
