import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seeded } from '../random.ts';
import { openSession } from '../runtime.ts';
import type { Feed } from '../runtime.ts';
import { addRows, averageRows, frozenDepthwiseOfRows, productOfRows, rowsOf } from './rows.ts';
import { Tape } from './tape.ts';
import type { Value } from './tape.ts';

const [batch, classes] = [3, 4];

/** An inverted residual block: expansion, depthwise convolution, projection, skip connection. [N,3,S,S] → [N,C] */
type Network = (tape: Tape, x: Value, random: (n: number) => Float32Array) => Value;
interface Block {
  stride: 1 | 2;
  kernel: 3 | 5;
}
const inPlanes =
  ({ stride, kernel }: Block): Network =>
  (t, image, r) => {
    const x = t.conv(image, t.parameter('a', r(15), [5, 3, 1, 1]), t.parameter('a0', r(5), [5]));
    const wide = t.relu6(t.conv(x, t.parameter('b', r(40), [8, 5, 1, 1]), t.parameter('b0', r(8), [8])));
    const kernels = t.frozen(r(8 * kernel * kernel), [8, 1, kernel, kernel]);
    const seen = t.relu6(t.conv(wide, kernels, t.frozen(r(8), [8]), { stride, depthwise: true }));
    const narrow = t.conv(seen, t.parameter('c', r(40), [5, 8, 1, 1]), t.parameter('c0', r(5), [5]));
    return t.averagePool(stride === 1 ? t.add(x, narrow) : narrow);
  };
const inRows =
  ({ stride, kernel }: Block): Network =>
  (t, image, r) => {
    const plain = t.conv(image, t.parameter('a', r(15), [5, 3, 1, 1]), t.parameter('a0', r(5), [5]));
    const x = rowsOf(t, plain);
    const [b, b0] = [t.parameter('b', r(40), [8, 5, 1, 1]), t.parameter('b0', r(8), [8])];
    const wide = productOfRows(t, x, b, b0, { relu6: true });
    const kernels = t.frozen(r(8 * kernel * kernel), [8, 1, kernel, kernel]);
    const seen = frozenDepthwiseOfRows(t, wide, kernels, t.frozen(r(8), [8]), { stride, relu6: true });
    const [c, c0] = [t.parameter('c', r(40), [5, 8, 1, 1]), t.parameter('c0', r(5), [5])];
    const narrow = productOfRows(t, seen, c, c0, { relu6: false });
    return averageRows(t, stride === 1 ? addRows(t, x, narrow) : narrow);
  };

/** The loss and the gradients of one step. */
async function stepOf(network: Network, side: number): Promise<Map<string, Float32Array>> {
  const next = seeded('rows');
  // A range wide enough for values on both sides of ReLU6's limits.
  const random = (n: number): Float32Array => Float32Array.from({ length: n }, () => next() * 6 - 3);
  const tape = new Tape();
  const image = tape.input('image', [batch, 3, side, side]);
  const targets = tape.input('targets', [batch, classes]);
  const weights = tape.input('weights', [batch, 1]);
  const pooled = network(tape, image, random);
  const head = tape.parameter('head', random(classes * 5).map((v) => v / 100), [classes, 5]); // prettier-ignore
  tape.softmaxCrossEntropy(tape.dense(pooled, head, tape.frozen(random(classes), [classes])), targets, weights);
  const session = await openSession(tape.finish(['loss']), 1);
  const feeds: Record<string, Feed> = {
    image: { data: random(batch * 3 * side * side), dims: [batch, 3, side, side] },
    targets: { data: Float32Array.from({ length: batch * classes }, (_, i) => (i % 5 === 0 ? 1 : 0)), dims: [batch, classes] }, // prettier-ignore
    weights: { data: new Float32Array(batch).fill(1), dims: [batch, 1] },
  };
  for (const [name, { values, shape }] of tape.parameters) feeds[name] = { data: values, dims: shape };
  const results = await session.run(feeds);
  const names = ['loss', ...[...tape.parameters.keys()].map((name) => `d_${name}`)];
  const found = new Map(names.map((name) => [name, Float32Array.from(results(name))]));
  await session.release();
  return found;
}

for (const block of [
  { stride: 1, kernel: 3 },
  { stride: 1, kernel: 5 },
  { stride: 2, kernel: 3 },
  { stride: 2, kernel: 5 },
] as const) {
  for (const side of [6, 7]) {
    test(`rows give the loss and the gradients of planes: ${block.kernel} wide, stride ${block.stride}, ${side} × ${side}`, async () => {
      const expected = await stepOf(inPlanes(block), side);
      const found = await stepOf(inRows(block), side);
      for (const [name, values] of expected) {
        const length = Math.hypot(...values);
        assert.ok(length > 0, `${name} is zero`);
        const difference = Math.hypot(...values.map((v, i) => v - (found.get(name)?.[i] ?? Number.NaN)));
        assert.ok(difference < 1e-4 * length, `${name}: ${difference} of ${length}`);
      }
    });
  }
}

test('trained depthwise kernels are refused: their gradient is not made of rows', () => {
  const tape = new Tape();
  const x = rowsOf(tape, tape.input('x', [1, 2, 4, 4]));
  const kernels = tape.parameter('w', new Float32Array(18), [2, 1, 3, 3]);
  const bias = tape.frozen(new Float32Array(2), [2]);
  assert.throws(() => frozenDepthwiseOfRows(tape, x, kernels, bias, { relu6: false }), /cannot be trained/);
});
