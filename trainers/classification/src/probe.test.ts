import assert from 'node:assert/strict';
import { test } from 'node:test';
import { predict, trainProbe } from './probe.ts';
import { seeded } from '@platform/trainer-engine/random';
import { best } from './score.ts';

/** Three clouds in 20 dimensions, far from the origin and of very different spread, as pooled features are. */
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
const even = (n: number): number[] => Array.from({ length: n }, () => 1);

test('separable features are separated, also those not seen', async () => {
  const { rows, labels } = clouds('train', 60);
  const head = await trainProbe(rows, labels, even(60), 3);
  const unseen = clouds('test', 90);
  const hits = unseen.rows.filter((row, i) => best(predict(head, row)) === unseen.labels[i]).length;
  assert.ok(hits >= 88, `${hits} of 90`);
  const sum = predict(head, unseen.rows[0] ?? new Float32Array(20)).reduce((a, b) => a + b, 0);
  assert.ok(Math.abs(sum - 1) < 1e-6);
});

test('the same rows give the same head, and an abort ends it', async () => {
  const { rows, labels } = clouds('train', 12);
  const [a, b] = [await trainProbe(rows, labels, even(12), 3), await trainProbe(rows, labels, even(12), 3)];
  assert.deepEqual(a, b);
  await assert.rejects(trainProbe(rows, labels, even(12), 3, { signal: AbortSignal.abort() }), { name: 'AbortError' });
});

test('a class weight moves what is undecided', async () => {
  const rows = Array.from({ length: 20 }, () => Float32Array.of(1, 2));
  const labels = rows.map((_, i) => (i < 10 ? 0 : 1));
  const weighted = labels.map((label) => (label === 1 ? 1.8 : 0.2));
  assert.ok((predict(await trainProbe(rows, labels, even(20), 2), Float32Array.of(1, 2))[1] ?? 0) - 0.5 < 0.01);
  assert.ok((predict(await trainProbe(rows, labels, weighted, 2), Float32Array.of(1, 2))[1] ?? 0) > 0.8);
});
