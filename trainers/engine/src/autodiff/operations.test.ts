import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FLOAT } from '../onnx/graph.ts';
import { seeded } from '../random.ts';
import { openSession } from '../runtime.ts';
import type { Feeds } from '../runtime.ts';
import { dropout, relu, reshape, upsample } from './operations.ts';
import { averagePool, concatChannels, meanOfPositions, windowEvidence } from './pooling.ts';
import { Tape } from './tape.ts';
import type { Value } from './tape.ts';

const operations: [string, (tape: Tape, x: Value) => Value][] = [
  ['relu', relu],
  ['upsample by 2', (tape, x) => upsample(tape, x, 2)],
  ['upsample by 4', (tape, x) => upsample(tape, x, 4)],
  ['reshape', (tape, x) => reshape(tape, x, [2, 5, 4, 3])],
  ['mean over blocks', (tape, x) => averagePool(tape, reshape(tape, x, [2, 5, 6, 2]), 2)],
  ['channels side by side', (tape, x) => concatChannels(tape, [x, relu(tape, x)])],
  ['mean over positions', meanOfPositions],
  ['evidence of windows', (tape, x) => windowEvidence(tape, reshape(tape, x, [2, 15, 2, 2]), [1, 2], 4)],
  ['factors', (tape, x) => dropout(tape, x, tape.frozen(Float32Array.of(0, 2, 1, 0, 3), [1, 5, 1, 1]))],
];
for (const [name, operation] of operations) {
  test(`the gradient of ${name} agrees with finite differences`, async () => {
    const random = seeded(name);
    const noise = (n: number): Float32Array => Float32Array.from({ length: n }, () => random() * 2 - 1);
    const tape = new Tape();
    const x = tape.input('x', [2, 3, 3, 4]);
    const y = operation(tape, tape.conv(x, tape.parameter('w', noise(15), [5, 3, 1, 1]), tape.frozen(noise(5), [5])));
    // loss = Σ (y − t)² / 2, so that dy = y − t
    const wanted = tape.input('wanted', y.shape);
    const g = tape.graph;
    const difference = g.op('Sub', [y.name, wanted.name]);
    const half = g.op('Mul', [g.op('Mul', [difference, difference]), g.scalar(0.5)]);
    g.op('ReduceSum', [half, g.ints([0, 1, 2, 3])], { keepdims: 0 }, 'loss');
    tape.accumulate(y, difference);
    const session = await openSession(tape.finish(['loss']), 1);
    const values = tape.parameters.get('w')?.values ?? new Float32Array();
    const feeds: Feeds = {
      x: { data: noise(72), dims: x.shape },
      wanted: { data: noise(y.shape.reduce((a, b) => a * b)), dims: y.shape },
      w: { data: values, dims: [5, 3, 1, 1] },
    };
    const analytic = Float32Array.from((await session.run(feeds))('d_w'));
    const length = Math.sqrt(analytic.reduce((sum, d) => sum + d * d, 0));
    const kept = Float32Array.from(values);
    const lossAt = async (by: number): Promise<number> => {
      values.set(kept.map((v, i) => v + (by * (analytic[i] ?? 0)) / length));
      return (await session.run(feeds))('loss')[0] ?? Number.NaN;
    };
    const numeric = ((await lossAt(1e-2)) - (await lossAt(-1e-2))) / 2e-2;
    assert.ok(Math.abs(numeric - length) < 0.01 * length, `${length} against ${numeric}`);
    await session.release();
  });
}

test('upsampling is that of the runtime', async () => {
  const tape = new Tape();
  const x = tape.input('x', [1, 2, 3, 5]);
  const ours = upsample(tape, x, 8);
  const g = tape.graph;
  g.op('Identity', [ours.name], {}, 'ours');
  const scales = g.constant(Float32Array.of(1, 1, 8, 8), [4]);
  g.op('Resize', ['x', '', scales], { mode: 'linear', coordinate_transformation_mode: 'half_pixel' }, 'theirs');
  for (const name of ['ours', 'theirs']) g.outputs.push({ name, type: FLOAT });
  const session = await openSession(g.encode(), 1);
  const random = seeded('resize');
  const results = await session.run({ x: { data: Float32Array.from({ length: 30 }, random), dims: [1, 2, 3, 5] } });
  const theirs = results('theirs');
  assert.equal(theirs.length, 2 * 24 * 40);
  assert.ok(results('ours').every((value, i) => Math.abs(value - (theirs[i] ?? 9)) < 1e-5));
  await session.release();
});
