import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { seeded } from '@platform/trainer-engine/random';
import { openSession } from '@platform/trainer-engine/runtime';
import { tempFolder } from '../../engine/test/temp-folder.ts';
import { FeatureCache } from './feature-extractor.ts';
import { initialWeights, headGraph } from './head.ts';
import { HeadTrainer, trialStep } from './head-training.ts';
import type { CachedExample } from './head-training.ts';
import { emptyFeatures, readDetector } from './feature-maps.ts';
import { recipeOf } from './recipe.ts';

const shape = { side: 96, labels: 2, hidden: 8 };
const steps = new Float32Array(128).fill(0.01);
const box = { left: 0.2, top: 0.3, right: 0.7, bottom: 0.8 };
/** The images of one step have different numbers of boxes. */
const examples: readonly CachedExample[] = [
  { slot: 0, boxes: [{ label: 0, ...box }] },
  { slot: 1, boxes: [] },
  {
    slot: 2,
    boxes: [
      { label: 1, ...box },
      { label: 0, left: 0, top: 0, right: 0.2, bottom: 0.2 },
    ],
  },
  { slot: 3, boxes: [{ label: 1, left: 0.5, top: 0, right: 1, bottom: 0.4 }] },
];

test('a step in several runs is the same step', async () => {
  await using folder = await tempFolder();
  const file = new FeatureCache(path.join(folder.path, 'features'), shape.side, steps);
  const random = seeded('features');
  const features = emptyFeatures(shape.side);
  for (const { slot } of examples) {
    for (const values of Object.values(features)) for (let i = 0; i < values.length; i++) values[i] = random();
    file.write(slot, features);
  }
  const losses: number[][] = [];
  for (const rows of [4, 2, 1]) {
    const options = { batch: rows, neckSteps: steps, overlapWeight: 1, mode: 'train' } as const;
    const graph = headGraph(readDetector(), initialWeights(shape, 1), shape, options);
    const session = await openSession(graph.model, 1);
    const dropout = { hidden: shape.hidden, rate: 0, random: seeded('dropped'), decay: 0.5 };
    const trainer = new HeadTrainer(session, graph, { ...shape, batch: rows }, dropout);
    const found: number[] = [];
    for (let step = 0; step < 4; step++) found.push(await trainer.step(examples, file, 1e-2));
    losses.push(found);
    await session.release();
  }
  file.close();
  const [together = [], ...apart] = losses;
  assert.ok((together[3] ?? 0) < 0.95 * (together[0] ?? 0), `it learns: ${together.join(', ')}`);
  for (const one of apart) {
    for (const [i, loss] of one.entries()) {
      assert.ok(
        Math.abs(loss - (together[i] ?? 0)) < 1e-3 * loss,
        `${one.join(', ')} instead of ${together.join(', ')}`,
      );
    }
  }
});

test('the step that compares devices has every input of the graph', async () => {
  const { recipe } = recipeOf({ arguments: { side: '96' } });
  const { model, feeds } = trialStep(readDetector(), shape, recipe);
  const session = await openSession(model, 1);
  const results = await session.run(feeds);
  assert.ok(Number.isFinite(results('loss')[0]));
  await session.release();
});
