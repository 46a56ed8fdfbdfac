import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emitOnnx } from '@platform/trainer-engine/network/onnx';
import { FLOAT, Graph } from '@platform/trainer-engine/onnx/graph';
import { seeded } from '@platform/trainer-engine/random';
import { openSession } from '@platform/trainer-engine/runtime';
import type { Feeds, Results, Session } from '@platform/trainer-engine/runtime';
import { featureGraph, FeatureExtractor } from './feature-extractor.ts';
import { initialWeights, headGraph, detectorNetwork } from './head.ts';
import type { HeadGraph, HeadShape } from './head.ts';
import { dimsOf, readDetector, featureNames, sizeOf } from './feature-maps.ts';
import type { Features, FeatureName } from './feature-maps.ts';
import { drawTargets, emptyTargets } from './targets.ts';

const shape: HeadShape = { side: 96, labels: 3, hidden: 16 };
const h = 24;
const detector = readDetector();

/** Random weights, as of a trained head. */
function someWeights(): Map<string, Float32Array> {
  const random = seeded('some weights');
  return new Map(
    [...initialWeights(shape, 1)].map(([name, values]) => [
      name,
      values.map((value) => value + (random() - 0.5) * (name.endsWith('bias') ? 0.2 : 0.1)),
    ]),
  );
}
const noise = (name: string, count: number, scale: number): Float32Array => {
  const random = seeded(name);
  return Float32Array.from({ length: count }, () => random() * scale);
};
const seen = (batch: number, features: Features): Feeds =>
  Object.fromEntries(
    featureNames.map((name) => [name, { data: features[name], dims: dimsOf(name, batch, shape.side) }]),
  );
const parameters = ({ tape }: HeadGraph): Feeds =>
  Object.fromEntries([...tape.parameters].map(([name, { values, shape: dims }]) => [name, { data: values, dims }]));

function targets(batch: number): Feeds {
  const into = emptyTargets({ ...shape, batch });
  const box = { label: 1, left: 0.2, top: 0.3, right: 0.6, bottom: 0.9 };
  drawTargets(
    Array.from({ length: batch }, () => [box]),
    shape,
    into,
  );
  return {
    heatmap: { data: into.heatmap, dims: [batch, shape.labels, h, h] },
    distances: { data: into.distances, dims: [batch, 4, h, h] },
    mask: { data: into.mask, dims: [batch, 1, h, h] },
    inverse_count: { data: into.inverseCount, dims: [1] },
  };
}
async function using<T>(model: Uint8Array, work: (session: Session) => Promise<T>): Promise<T> {
  const session = await openSession(model, 1);
  try {
    return await work(session);
  } finally {
    await session.release();
  }
}

test('the network that is delivered computes what the trained one does', async () => {
  const weights = someWeights();
  const image = noise('image', 96 * 96 * 3, 255);
  const features = await using(featureGraph(detector, 96), (session) =>
    new FeatureExtractor(session, detector, 96).extract(image),
  );
  const evaluating = headGraph(detector, weights, shape, { batch: 1, overlapWeight: 0.5, mode: 'evaluate' });
  const feeds: Feeds = {
    ...parameters(evaluating),
    ...targets(1),
    ...seen(1, features),
  };
  const trained = await using(evaluating.model, (session) => session.run(feeds));

  const network = detectorNetwork(detector, weights, shape);
  const g = new Graph();
  g.inputs.push({ name: 'image', type: FLOAT, dims: [1, 96, 96, 3] });
  const values = new Map([[0, g.op('Transpose', ['image'], { perm: [0, 3, 1, 2] })]]);
  emitOnnx(g, network.layers, values);
  g.op('Identity', [values.get(network.heat) ?? ''], {}, 'scores');
  g.op('Identity', [values.get(network.edges) ?? ''], {}, 'edges');
  for (const name of ['scores', 'edges']) g.outputs.push({ name, type: FLOAT });
  const whole = await using(g.encode(), (session) => session.run({ image: { data: image, dims: [1, 96, 96, 3] } }));

  for (const name of ['scores', 'edges']) {
    const [a, b] = [trained(name), whole(name)];
    assert.equal(a.length, b.length);
    const worst = a.reduce((most, value, i) => Math.max(most, Math.abs(value - (b[i] ?? 99))), 0);
    assert.ok(worst < 1e-4, `${name} differ by ${worst}`);
  }
});

test('gradients of the whole loss agree with finite differences', async () => {
  const some = (name: FeatureName): Float32Array => noise(name, 2 * sizeOf(name, shape.side), 1);
  const learning = headGraph(detector, someWeights(), shape, { batch: 2, overlapWeight: 0.5, mode: 'train' });
  const feeds: Feeds = {
    ...parameters(learning),
    ...targets(2),
    ...seen(2, { neck: some('neck'), deep: some('deep'), kinds: some('kinds'), parts: some('parts') }),
    dropout_mask: { data: Float32Array.from({ length: 32 }, (_, i) => (i % 3 === 0 ? 0 : 1.5)), dims: [2, 16, 1, 1] },
  };
  await using(learning.model, async (session) => {
    const lossOf = (results: Results): number => results('loss')[0] ?? Number.NaN;
    const results = await session.run(feeds);
    for (const [name, { values }] of learning.tape.parameters) {
      // Test along the gradient itself: one number covers all values and exceeds the noise of float32.
      const analytic = Float32Array.from(results(`d_${name}`));
      const length = Math.sqrt(analytic.reduce((sum, value) => sum + value * value, 0));
      assert.ok(length > 1e-3, `${name} has no gradient`);
      const kept = Float32Array.from(values);
      const step = 2e-3 / Math.max(1, length / 30);
      const move = (by: number): void => values.set(kept.map((value, i) => value + (by * (analytic[i] ?? 0)) / length));
      move(step);
      const up = lossOf(await session.run(feeds));
      move(-step);
      const down = lossOf(await session.run(feeds));
      values.set(kept);
      const numeric = (up - down) / (2 * step);
      assert.ok(Math.abs(numeric - length) < 0.03 * length + 5e-3, `${name}: ${length} against ${numeric}`);
    }
  });
});
