import assert from 'node:assert/strict';
import { test } from 'node:test';
import { predict, trainLinearProbe } from './linear-probe.ts';
import type { ProbeRows } from './linear-probe.ts';
import { seeded } from '@platform/trainer-engine/random';
import { argmax } from './score.ts';

/** Three clusters in 20 dimensions, far from the origin and with different variances, like pooled features. */
function clouds(seed: string, count: number): { rows: Float32Array[]; labels: number[] } {
  const random = seeded(seed);
  const rows: Float32Array[] = [];
  const labels: number[] = [];
  for (let i = 0; i < count; i++) {
    const label = i % 3;
    labels.push(label);
    rows.push(
      Float32Array.from({ length: 20 }, (_, d) => 10 * d + (d % 3 === label ? 1 : 0) * (d + 1) + random() * (d + 1)),
    );
  }
  return { rows, labels };
}
function single(features: readonly Float32Array[], labels: readonly number[], weights?: readonly number[]): ProbeRows {
  const classes = Math.max(...labels) + 1;
  return {
    features,
    targets: labels.map((label) => Array.from({ length: classes }, (_, k) => (k === label ? 1 : 0))),
    weights: labels.map((_, i) => [weights?.[i] ?? 1]),
  };
}

test('separable features are separated, also those not seen', async () => {
  const { rows, labels } = clouds('train', 60);
  const head = await trainLinearProbe(single(rows, labels), 3);
  const unseen = clouds('test', 90);
  const hits = unseen.rows.filter((row, i) => argmax(predict(head, row)) === unseen.labels[i]).length;
  assert.ok(hits >= 88, `${hits} of 90`);
  const sum = predict(head, unseen.rows[0] ?? new Float32Array(20)).reduce((a, b) => a + b, 0);
  assert.ok(Math.abs(sum - 1) < 1e-6);
});

test('the same rows give the same head, and an abort ends it', async () => {
  const { rows, labels } = clouds('train', 12);
  const [a, b] = [await trainLinearProbe(single(rows, labels), 3), await trainLinearProbe(single(rows, labels), 3)];
  assert.deepEqual(a, b);
  await assert.rejects(trainLinearProbe(single(rows, labels), 3, { signal: AbortSignal.abort() }), {
    name: 'AbortError',
  });
});

test('a class weight moves what is undecided', async () => {
  const rows = Array.from({ length: 20 }, () => Float32Array.of(1, 2));
  const labels = rows.map((_, i) => (i < 10 ? 0 : 1));
  const weighted = labels.map((label) => (label === 1 ? 1.8 : 0.2));
  assert.ok((predict(await trainLinearProbe(single(rows, labels), 2), Float32Array.of(1, 2))[1] ?? 0) - 0.5 < 0.01);
  assert.ok((predict(await trainLinearProbe(single(rows, labels, weighted), 2), Float32Array.of(1, 2))[1] ?? 0) > 0.8);
});

test('labels that are there or not: each is learnt for itself', async () => {
  const random = seeded('both');
  const features = Array.from({ length: 80 }, () => Float32Array.from({ length: 6 }, () => random() * 2 - 1));
  const truth = (row: Float32Array): number[] => [(row[0] ?? 0) > 0 ? 1 : 0, (row[1] ?? 0) > 0 ? 1 : 0];
  const targets = features.map(truth);
  const head = await trainLinearProbe({ features, targets, weights: targets.map(() => [1, 1]) }, 2, {
    output: 'sigmoid',
  });
  const wrong = features.filter((row) =>
    predict(head, row, 'sigmoid').some((p, k) => (p > 0.5 ? 1 : 0) !== truth(row)[k]),
  );
  assert.ok(wrong.length <= 4, `${wrong.length} of 80`);
});
