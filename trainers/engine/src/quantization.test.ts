import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seeded } from './random.ts';
import { dequantize, quantizationOf, quantize, rangeOf } from './quantization.ts';
import type { Range } from './quantization.ts';
import { largestWeight, quantizeConvolution, quantizeWeights } from './int8/weights.ts';

const random = seeded('quantize');
const between = (low: number, high: number, count: number): Float32Array =>
  Float32Array.from({ length: count }, () => low + (high - low) * random());

test('a number of the range comes back within half a step, one outside as the nearest end, 0 exactly', () => {
  const ranges: [string, Range, zeroPoint: number][] = [
    ['an activation', { low: 0, high: 6 }, -128],
    ['both signs', { low: -1, high: 3 }, -64],
    ['positive numbers: the range is widened to 0', { low: 4, high: 5 }, -128],
    ['negative numbers: the range is widened to 0', { low: -5, high: -4 }, 127],
    ['a constant', { low: 2, high: 2 }, -128],
    ['pixels', { low: 0, high: 255 }, -128],
    ['a tiny range', { low: -1e-30, high: 1e-30 }, 0],
  ];
  for (const [name, range, zeroPoint] of ranges) {
    const stored = quantizationOf(range);
    assert.equal(stored.zeroPoint, zeroPoint, name);
    const back = (value: number): number => dequantize(quantize(value, stored), stored);
    assert.equal(back(0), 0, name);
    for (const value of [range.low, range.high, ...between(range.low, range.high, 200)]) {
      // The ends may lie a rounded zero point away.
      const allowed = value === range.low || value === range.high ? stored.scale : 0.5001 * stored.scale;
      assert.ok(Math.abs(back(value) - value) <= allowed, `${name}: ${value} becomes ${back(value)}`);
    }
    assert.equal(quantize(1e9, stored), 127, name);
    assert.equal(quantize(-1e9, stored), -128, name);
  }
});

test('a value that is always 0, and one that is not a number', () => {
  assert.deepEqual(quantizationOf({ low: 0, high: 0 }), { scale: 1, zeroPoint: 0 });
  assert.throws(() => quantizationOf({ low: 0, high: Infinity }), /from 0 to Infinity/);
  assert.throws(() => quantizationOf({ low: Number.NaN, high: 1 }), /from NaN to 1/);
});

test('halves are rounded to the even number, as runtimes do', () => {
  const stored = { scale: 1, zeroPoint: 0 };
  assert.deepEqual(
    [0.5, 1.5, 2.5, -0.5, -1.5, 2.4].map((value) => quantize(value, stored)),
    [0, 2, 2, 0, -2, 2],
  );
});

test('one odd image among many does not widen the range; with few images it counts', () => {
  const usual = Array.from({ length: 63 }, (_, i): Range => ({ low: -1 - i / 100, high: 3 + i / 100 }));
  const odd: Range = { low: -1000, high: 1000 };
  const { low, high } = rangeOf([...usual, odd]);
  assert.ok(low >= -1.63 && low <= -1.5 && high <= 3.63 && high >= 3.5, `${low} to ${high}`);
  assert.deepEqual(rangeOf([{ low: -1, high: 1 }, odd]), odd);
});

test('weights come back within half a step of their own channel, whatever the others are like', () => {
  const channels = [between(-1, 1, 9), between(-0.001, 0.001, 9), between(-1, 1, 9)];
  // One outlier makes the steps of its own channel coarse, not those of others.
  channels[2]?.set([50]);
  const weights = Float32Array.from(channels.flatMap((one) => [...one]));
  const layer = { weights, bias: new Float32Array(3) };
  for (const [found, largest] of [
    [quantizeConvolution(layer, 0.02), largestWeight.int8],
    [quantizeWeights(layer), largestWeight.float32],
  ] as const) {
    const { values, scales } = found;
    for (const [i, weight] of weights.entries()) {
      const [stored = 0, scale = 0] = [values[i], scales[Math.floor(i / 9)]];
      assert.ok(Math.abs(stored * scale - weight) <= 0.5001 * scale, `${weight} becomes ${stored * scale}`);
      assert.ok(Math.abs(stored) <= largest);
    }
    assert.ok((scales[1] ?? 1) <= 0.001 / largest && (scales[2] ?? 0) >= Math.fround(50 / largest));
  }
});

test('a channel of zeros, with and without a bias, and a bias that is large beside the weights', () => {
  const inputScale = 0.02;
  const weights = Float32Array.of(0, 0, 0, 0, 1e-9, -1e-9);
  const bias = Float32Array.of(0, 3, 100);
  const found = quantizeConvolution({ weights, bias }, inputScale);
  assert.deepEqual([...found.values.subarray(0, 4)], [0, 0, 0, 0]);
  for (const [channel, offset] of bias.entries()) {
    const [stored = 0, scale = 0] = [found.bias[channel], found.scales[channel]];
    assert.ok(scale > 0);
    assert.ok(Math.abs(stored * inputScale * scale - offset) <= 1e-6 * offset, `bias ${offset} becomes ${stored}`);
    assert.ok(Math.abs(stored) <= 2 ** 30);
  }
});

test('pairs of products fit into 16 bits: processors without VNNI add them there', () => {
  assert.ok(255 * largestWeight.int8 * 2 <= 32_767);
});
