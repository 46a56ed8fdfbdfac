import assert from 'node:assert/strict';
import { test } from 'node:test';
import { needed } from '@platform/trainer-engine/network/layers';
import { emitOnnx } from '@platform/trainer-engine/network/onnx';
import { FLOAT, Graph } from '@platform/trainer-engine/onnx/graph';
import { seeded } from '@platform/trainer-engine/random';
import { openSession } from '@platform/trainer-engine/runtime';
import { headOf, sizeOf } from './head.ts';
import type { Head, OutputKind, Weights } from './head.ts';
import { ProbeFeatures, trainLinearProbe } from './linear-probe.ts';
import type { ProbeRows } from './linear-probe.ts';
import { argmax, softmax } from './score.ts';

/** The head of a network without layers: its features are given. Both middle stages are the image, 3 channels each. */
const headFor = (output: OutputKind, features: number, classes: number, weights?: Weights): Head =>
  headOf({ layers: [], taps: { 8: 0, 16: 0, 32: 0 }, features }, output, { side: 96, classes }, weights);

type Row = readonly Float32Array[];
function rowsOf(head: Head, features: readonly Row[], targets: number[][], weights: number[][]): ProbeRows {
  const kept = new ProbeFeatures(head, features.length);
  for (const [i, row] of features.entries()) kept.set(i, row);
  return { features: kept, targets, weights };
}

/** Logits of a row by the exported layers. */
async function predictor(head: Head): Promise<(row: Row) => Promise<Float32Array>> {
  const graph = new Graph();
  const values = new Map(head.features.map(({ value }, i) => [value, `feature${i}`]));
  const dims = head.features.map(({ parts, edge }) => [1, parts.reduce((a, b) => a + b), edge, edge]);
  for (const [i, shape] of dims.entries()) graph.inputs.push({ name: `feature${i}`, type: FLOAT, dims: shape });
  emitOnnx(graph, needed(head.layers, [head.logits], values), values);
  graph.op('Identity', [values.get(head.logits) ?? ''], {}, 'logits');
  graph.outputs.push({ name: 'logits', type: FLOAT });
  const session = await openSession(graph.encode(), 1);
  return async (row) => {
    const feeds = row.map((data, i) => [`feature${i}`, { data, dims: dims[i] ?? [] }] as const);
    return (await session.run(Object.fromEntries(feeds)))('logits');
  };
}

/** Three clusters in 20 dimensions, far from the origin and with different variances, like pooled features. */
function clouds(seed: string, count: number): { rows: Row[]; labels: number[] } {
  const random = seeded(seed);
  const rows: Row[] = [];
  const labels: number[] = [];
  for (let i = 0; i < count; i++) {
    const label = i % 3;
    labels.push(label);
    rows.push([
      Float32Array.from({ length: 20 }, (_, d) => 10 * d + (d % 3 === label ? 1 : 0) * (d + 1) + random() * (d + 1)),
    ]);
  }
  return { rows, labels };
}
function single(head: Head, rows: readonly Row[], labels: readonly number[], weights?: readonly number[]): ProbeRows {
  const classes = Math.max(...labels) + 1;
  const targets = labels.map((label) => Array.from({ length: classes }, (_, k) => (k === label ? 1 : 0)));
  return rowsOf(
    head,
    rows,
    targets,
    labels.map((_, i) => [weights?.[i] ?? 1]),
  );
}
const of20 = (classes: number, weights?: Weights): Head => headFor('softmax', 20, classes, weights);

test('separable features are separated, also those not seen', async () => {
  const { rows, labels } = clouds('train', 60);
  const trained = await trainLinearProbe(single(of20(3), rows, labels), of20(3));
  const predict = await predictor(of20(3, trained));
  const unseen = clouds('test', 90);
  let hits = 0;
  for (const [i, row] of unseen.rows.entries()) if (argmax(await predict(row)) === unseen.labels[i]) hits++;
  assert.ok(hits >= 88, `${hits} of 90`);
});

test('the same rows give the same head, and an abort ends it', async () => {
  const { rows, labels } = clouds('train', 12);
  const trained = (): Promise<Weights> => trainLinearProbe(single(of20(3), rows, labels), of20(3));
  assert.deepEqual(await trained(), await trained());
  const signal = AbortSignal.abort();
  await assert.rejects(trainLinearProbe(single(of20(3), rows, labels), of20(3), { signal }), { name: 'AbortError' });
});

test('a class weight moves what is undecided', async () => {
  const row = [new Float32Array(20).fill(2)];
  const rows = Array.from({ length: 20 }, () => row);
  const labels = rows.map((_, i) => (i < 10 ? 0 : 1));
  const weighted = labels.map((label) => (label === 1 ? 1.8 : 0.2));
  const shareOf = async (weights?: readonly number[]): Promise<number> => {
    const trained = await trainLinearProbe(single(of20(2), rows, labels, weights), of20(2));
    return softmax(await (await predictor(of20(2, trained)))(row))[1] ?? Number.NaN;
  };
  assert.ok(Math.abs((await shareOf()) - 0.5) < 0.01);
  assert.ok((await shareOf(weighted)) > 0.8);
});

test('labels that are there or not: each is learnt for itself, from one of nine cells', async () => {
  const random = seeded('both');
  const head = headFor('sigmoid', 4, 2);
  const [, cells] = head.features;
  assert.ok(cells);
  assert.deepEqual([cells.edge, sizeOf(cells)], [3, 54]);
  const drawn = (): { row: Row; truth: number[] } => {
    const truth = [random() < 0.5 ? 1 : 0, random() < 0.5 ? 1 : 0];
    const map = Float32Array.from({ length: 54 }, () => random());
    // The object in one cell; its mean over the image is within the noise.
    for (const [k, there] of truth.entries()) if (there) map[k * 9 + Math.floor(random() * 9)] = 2;
    return { row: [Float32Array.from({ length: 4 }, () => random()), map], truth };
  };
  const [training, unseen] = [Array.from({ length: 120 }, drawn), Array.from({ length: 100 }, drawn)];
  const rows = rowsOf(
    head,
    training.map(({ row }) => row),
    training.map(({ truth }) => truth),
    training.map(() => [1, 1]),
  );
  const trained = await trainLinearProbe(rows, head, { output: 'sigmoid' });
  const predict = await predictor(headFor('sigmoid', 4, 2, trained));
  let wrong = 0;
  for (const { row, truth } of unseen) {
    for (const [k, z] of (await predict(row)).entries()) if (z > 0 !== (truth[k] === 1)) wrong++;
  }
  assert.ok(wrong <= 10, `${wrong} of 200`);
});
