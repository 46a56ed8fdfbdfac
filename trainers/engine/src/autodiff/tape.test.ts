import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seeded } from '../random.ts';
import { openSession } from '../runtime.ts';
import type { Feed } from '../runtime.ts';
import { Adam } from './adam.ts';
import { samePadding, Tape } from './tape.ts';
import type { Value } from './tape.ts';

const batch = 2;
const classes = 3;

/** A small network around the operation under test, with a trained 1×1 convolution before it. */
type Build = (tape: Tape, x: Value, random: (n: number) => Float32Array) => Value;
const operations: [string, Build][] = [
  ['1×1 convolution', (t, x, r) => t.conv(x, t.parameter('w', r(20), [5, 4, 1, 1]), t.parameter('b', r(5), [5]))],
  ['3×3 convolution', (t, x, r) => t.conv(x, t.parameter('w', r(180), [5, 4, 3, 3]), t.parameter('b', r(5), [5]))],
  [
    '3×3 convolution, stride 2',
    (t, x, r) => t.conv(x, t.parameter('w', r(180), [5, 4, 3, 3]), t.parameter('b', r(5), [5]), { stride: 2 }),
  ],
  [
    '5×5 convolution of many values, stride 2',
    (t, x, r) => t.conv(x, t.parameter('w', r(300), [3, 4, 5, 5]), t.parameter('b', r(3), [3]), { stride: 2 }),
  ],
  [
    'depthwise 3×3',
    (t, x, r) => t.conv(x, t.parameter('w', r(36), [4, 1, 3, 3]), t.parameter('b', r(4), [4]), { depthwise: true }),
  ],
  [
    'depthwise 3×3, stride 2',
    (t, x, r) =>
      t.conv(x, t.parameter('w', r(36), [4, 1, 3, 3]), t.parameter('b', r(4), [4]), { depthwise: true, stride: 2 }),
  ],
  [
    'frozen depthwise 3×3, stride 2',
    (t, x, r) => t.conv(x, t.frozen(r(36), [4, 1, 3, 3]), t.frozen(r(4), [4]), { depthwise: true, stride: 2 }),
  ],
  [
    'frozen depthwise 5×5, stride 2',
    (t, x, r) => t.conv(x, t.frozen(r(100), [4, 1, 5, 5]), t.frozen(r(4), [4]), { depthwise: true, stride: 2 }),
  ],
  ['frozen 3×3, stride 2', (t, x, r) => t.conv(x, t.frozen(r(144), [4, 4, 3, 3]), t.frozen(r(4), [4]), { stride: 2 })],
  ['frozen 3×3', (t, x, r) => t.conv(x, t.frozen(r(144), [4, 4, 3, 3]), t.frozen(r(4), [4]))],
  ['relu6', (t, x) => t.relu6(x)],
  ['add', (t, x) => t.add(x, t.relu6(x))],
];

const given = (of: string, shape: number[]): Value => ({ name: of, shape, trained: false });

for (const [name, build] of operations) {
  for (const size of [6, 7]) {
    test(`gradients agree with finite differences: ${name}, ${size} × ${size}`, async () => {
      const next = seeded('gradient check', name, size);
      const random = (n: number): Float32Array => Float32Array.from({ length: n }, () => next() * 1.6 - 0.8);
      const tape = new Tape();
      const image = tape.input('image', [batch, 3, size, size]);
      tape.input('targets', [batch, classes]);
      tape.input('weights', [batch, 1]);
      const before = tape.conv(image, tape.parameter('before', random(12), [4, 3, 1, 1]), tape.frozen(random(4), [4]));
      const pooled = tape.averagePool(build(tape, before, random));
      const width = pooled.shape[1] ?? 0;
      const head = tape.parameter('head', random(classes * width), [classes, width]);
      const logits = tape.dense(pooled, head, tape.parameter('bias', random(classes), [classes]));
      tape.softmaxCrossEntropy(logits, given('targets', [batch, classes]), given('weights', [batch, 1]));
      const session = await openSession(tape.finish(['loss']), 1);

      const feeds: Record<string, Feed> = {
        image: { data: random(batch * 3 * size * size), dims: [batch, 3, size, size] },
        targets: { data: Float32Array.of(0.8, 0.1, 0.1, 0.2, 0.2, 0.6), dims: [batch, classes] },
        weights: { data: Float32Array.of(1.5, 0.5), dims: [batch, 1] },
      };
      for (const [key, { values, shape }] of tape.parameters) feeds[key] = { data: values, dims: shape };
      const results = await session.run(feeds);
      const lossAt = async (): Promise<number> => (await session.run(feeds))('loss')[0] ?? Number.NaN;

      for (const [key, { values }] of tape.parameters) {
        // Test along the gradient itself: one number covers all values and exceeds the noise of float32.
        const analytic = Float32Array.from(results(`d_${key}`));
        const length = Math.sqrt(analytic.reduce((sum, d) => sum + d * d, 0));
        assert.ok(length > 1e-4, `${key} has no gradient`);
        const direction = analytic.map((d) => d / length);
        const kept = Float32Array.from(values);
        const step = 1e-2;
        values.set(kept.map((v, i) => v + step * (direction[i] ?? 0)));
        const up = await lossAt();
        values.set(kept.map((v, i) => v - step * (direction[i] ?? 0)));
        const down = await lossAt();
        values.set(kept);
        const numeric = (up - down) / (2 * step);
        assert.ok(Math.abs(numeric - length) < 0.02 * length + 2e-4, `${key}: ${length} against ${numeric}`);
      }
      await session.release();
    });
  }
}

test('gradients agree with finite differences: sigmoid and binary cross entropy, also of large logits', async () => {
  const tape = new Tape();
  const x = tape.input('x', [2, 3]);
  tape.input('targets', [2, classes]);
  tape.input('weights', [2, classes]);
  const w = Float32Array.of(0.4, -1, 2, 30, 5, -0.3, 0.7, -40, 0.2);
  const logits = tape.dense(
    x,
    tape.parameter('w', w, [classes, 3]),
    tape.frozen(Float32Array.of(0, 0.5, -0.5), [classes]),
  );
  tape.sigmoidCrossEntropy(logits, given('targets', [2, classes]), given('weights', [2, classes]));
  const session = await openSession(tape.finish(['loss']), 1);
  const data = Float32Array.of(1, 0.5, -0.5, 0.2, -1, 0.3);
  const targets = Float32Array.of(1, 0, 1, 0, 1, 0.5);
  const weights = Float32Array.of(1, 2, 0.5, 1, 1, 3);
  const lossAt = async (values: Float32Array): Promise<{ loss: number; gradient: Float32Array }> => {
    const results = await session.run({
      x: { data, dims: [2, 3] },
      targets: { data: targets, dims: [2, classes] },
      weights: { data: weights, dims: [2, classes] },
      w: { data: values, dims: [classes, 3] },
    });
    return { loss: results('loss')[0] ?? Number.NaN, gradient: Float32Array.from(results('d_w')) };
  };
  const { loss, gradient } = await lossAt(w);
  const expected = [0, 1].flatMap((n) =>
    [0, 1, 2].map((k) => {
      const z = [0, 1, 2].reduce(
        (sum, d) => sum + (data[n * 3 + d] ?? 0) * (w[k * 3 + d] ?? 0),
        [0, 0.5, -0.5][k] ?? 0,
      );
      const [y, weight] = [targets[n * 3 + k] ?? 0, weights[n * 3 + k] ?? 0];
      return (weight * (Math.max(z, 0) - z * y + Math.log1p(Math.exp(-Math.abs(z))))) / 6;
    }),
  );
  assert.ok(Math.abs(loss - expected.reduce((a, b) => a + b, 0)) < 1e-5);
  for (const i of gradient.keys()) {
    const moved = (by: number): Float32Array => w.map((v, at) => (at === i ? v + by : v));
    const numeric = ((await lossAt(moved(1e-2))).loss - (await lossAt(moved(-1e-2))).loss) / 2e-2;
    assert.ok(Math.abs(numeric - (gradient[i] ?? 9)) < 2e-3, `w[${i}]: ${gradient[i]} against ${numeric}`);
  }
  await session.release();
});

test('SAME padding puts the odd pixel at the end', () => {
  const cases: [number, number, number, readonly [number, number]][] = [
    [160, 3, 2, [0, 1]],
    [5, 3, 2, [1, 1]],
    [80, 3, 1, [1, 1]],
    [80, 1, 1, [0, 0]],
  ];
  for (const [size, kernel, stride, padding] of cases) assert.deepEqual(samePadding(size, kernel, stride), padding);
});

test('Adam finds the minimum of a parabola', () => {
  const values = Float32Array.of(5, -3);
  const parameters = new Map([['p', { shape: [2], values }]]);
  const adam = new Adam();
  for (let i = 0; i < 600; i++) adam.step(parameters, () => values.map((v, k) => 2 * (v - k)), 0.05);
  assert.ok(Math.abs(values[0] ?? 9) < 0.01 && Math.abs((values[1] ?? 9) - 1) < 0.01, String(values));
});

test('weights decay by their rate and share, biases stay', () => {
  const [weights, bias] = [new Float32Array(3).fill(2), new Float32Array(3).fill(2)];
  const parameters = new Map([
    ['w', { shape: [1, 3], values: weights }],
    ['b', { shape: [3], values: bias }],
  ]);
  const adam = new Adam({ decay: 0.5 });
  for (let t = 0; t < 2; t++) adam.step(parameters, () => new Float32Array(3), 0.2);
  for (const value of weights) assert.ok(Math.abs(value - 2 * 0.9 ** 2) < 1e-6, String(value));
  assert.deepEqual([...bias], [2, 2, 2]);
});

test('Adam is what its paper says, also where four values are not at hand', () => {
  const random = seeded('adam');
  const lengths = { a: 1, b: 7, c: 20_001 };
  const make = () =>
    new Map(
      Object.entries(lengths).map(([name, n]) => [
        name,
        { shape: [n], values: Float32Array.from({ length: n }, random) },
      ]),
    );
  const parameters = make();
  const expected = new Map([...parameters].map(([name, { values }]) => [name, Float64Array.from(values)]));
  const moments = new Map(
    [...expected].map(([name, { length }]) => [name, [new Float64Array(length), new Float64Array(length)] as const]),
  );
  const adam = new Adam();
  for (let t = 1; t <= 5; t++) {
    const gradients = new Map(
      [...expected].map(([name, { length }]) => [name, Float32Array.from({ length }, () => random() - 0.4)]),
    );
    adam.step(parameters, (name) => gradients.get(name) ?? new Float32Array(), 0.01 * t);
    for (const [name, values] of expected) {
      const [m, v] = moments.get(name) ?? [new Float64Array(), new Float64Array()];
      for (const [i, g] of (gradients.get(name) ?? new Float32Array()).entries()) {
        m[i] = 0.9 * (m[i] ?? 0) + 0.1 * g;
        v[i] = 0.999 * (v[i] ?? 0) + 0.001 * g * g;
        const step = (m[i] ?? 0) / (1 - 0.9 ** t) / (Math.sqrt((v[i] ?? 0) / (1 - 0.999 ** t)) + 1e-8);
        values[i] = (values[i] ?? 0) - 0.01 * t * step;
      }
    }
  }
  for (const [name, { values }] of parameters) {
    for (const [i, value] of values.entries()) {
      assert.ok(Math.abs(value - (expected.get(name)?.[i] ?? 9)) < 1e-5, `${name}[${i}]`);
    }
  }
});
