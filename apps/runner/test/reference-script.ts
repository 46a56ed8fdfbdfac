// The reference scripts on a real runner in its sandbox, with weights that the test makes: a script trains, loses its
// runner, resumes from its checkpoint, and delivers a model with the evaluation of the built-in trainers.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { wilson } from '@platform/contract/job/confidence';
import type { Evaluation } from '@platform/contract/job/evaluation';
import { tempFolder } from '@platform/kit/testing';
import { packScriptFolder } from '@platform/sandbox/archive';
import type { QueuedImage } from './queue-server.ts';
import { stage } from './script-stage.ts';

const splits = ['train', 'train', 'validation', 'test'] as const;

/** Images of two patterns that differ in their colors. */
const makeImages = `
import sys
import numpy as np
from PIL import Image
random = np.random.default_rng(1)
for i in range(48):
    pixels = random.integers(0, 120, (40, 40, 3))
    pixels[:, :, 0 if i % 2 else 2] += 100
    Image.fromarray(pixels.astype(np.uint8)).save(f"{sys.argv[2]}/{i}.png")
`;

interface Reference {
  /** Folder below docs/examples. */
  readonly example: string;
  /** A Python with the packages of the script. */
  readonly python: string;
  /** Framework of the environment, for example `tf:2`. */
  readonly environment: string;
  /** Writes the weights file into the folder of its first argument. */
  readonly makeWeights: string;
  readonly weightsFile: string;
  readonly modelFile: string;
  readonly flags: Readonly<Record<string, string>>;
  readonly memoryMib: number;
}

export async function runReference(of: Reference): Promise<void> {
  await using folder = await tempFolder();
  const [weights, images] = [folder.file('weights'), folder.file('images')];
  for (const made of [weights, images]) await mkdir(made);
  execFileSync(of.python, ['-c', `${of.makeWeights}\n${makeImages}`, weights, images], { stdio: 'pipe' });
  await chmod(path.join(weights, of.weightsFile), 0o644);
  const dataset = await Promise.all(
    Array.from({ length: 48 }, async (_, i): Promise<QueuedImage> => {
      const bytes = await readFile(path.join(images, `${i}.png`));
      return { bytes, label: i % 2 ? 'red' : 'blue', split: splits[Math.floor(i / 2) % 4] ?? 'train' };
    }),
  );

  await using s = await stage(['--script-python', `${of.environment}=${of.python}`, '--script-weights', weights]);
  const source = path.resolve(import.meta.dirname, '../../../docs/examples', of.example);
  const script = {
    registry_item_id: 'org:reference',
    version: '1',
    package_sha256: s.server.store(await packScriptFolder(source)),
  };
  const limits = { wall_seconds: 900, memory_mib: of.memoryMib, disk_mib: 256 };
  const job = s.server.submit({ kind: 'custom', script, limits, arguments: of.flags }, dataset);
  const patience = 300_000;
  await s.server.until('three epochs', () => job.metrics.length >= 3 || job.failure !== undefined, patience);
  s.server.takeAway(job);
  job.state = 'pending';
  await s.server.until('the end', () => job.state === 'completed' || job.state === 'failed', patience);
  assert.equal(job.state, 'completed', job.failure?.message);

  const lines = s.lines(job);
  const resumed = lines.map((line) => /^info resumed after epoch (\d+)$/.exec(line)?.[1]).filter(Boolean);
  assert.ok(resumed.length === 1 && Number(resumed[0]) >= 3, lines.join('\n'));
  assert.deepEqual(
    job.files.map((one) => one.path),
    ['evaluation.json', 'labels.txt', of.modelFile, 'model_card.json', 'model_card.md'],
  );
  const evaluation = JSON.parse(s.file(job, 'evaluation.json') ?? '') as Evaluation;
  assert.deepEqual(
    evaluation.curve.map(({ epoch }) => epoch),
    Array.from({ length: 40 }, (_, i) => i + 1),
    'each epoch once, over both attempts',
  );
  const { accuracy, labels, count, evaluated_on: on } = evaluation;
  assert.deepEqual([labels, count, on], [['blue', 'red'], 12, 'test']);
  const counts = /"train": 24,\s+"validation": 12,\s+"test": 12,\s+"skipped": 0/;
  assert.match(s.file(job, 'evaluation.json') ?? '', counts);
  assert.equal(accuracy, 1);
  assert.deepEqual(evaluation.confusion, [
    [6, 0],
    [0, 6],
  ]);
  assert.ok(evaluation.model.max_difference < 1e-3, 'the delivered file computes what the trained network does');
  const card = JSON.parse(s.file(job, 'model_card.json') ?? '') as { result: { interval_95: unknown } };
  assert.deepEqual(card.result.interval_95, wilson(accuracy, 12));
  assert.match(s.file(job, 'model_card.md') ?? '', /100\.0 % .* of 12 held-out images \(test\) are right/);
  assert.ok((s.file(job, 'model_card.md') ?? '').includes(`${of.weightsFile}, sha256 `));
}
