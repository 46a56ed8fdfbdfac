/** Recipes with a second network, as processes on small real images. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { DetectionEvaluation } from '@platform/contract/job/evaluation';
import { jobFiles, modelFiles } from '@platform/contract/job/job';
import { readEvents } from '../../engine/test/job-folder.ts';
import { tempFolder } from '../../engine/test/temp-folder.ts';
import { startTrainer } from '../../engine/test/trainer-process.ts';
import { writeJob } from './job-folder.ts';
import type { Change } from './job-folder.ts';

const main = new URL('../src/main.ts', import.meta.url);

interface Trained {
  evaluation: DetectionEvaluation;
  card: string;
  logs: string[];
  progress: number[];
}
async function trainWith(change: Change): Promise<Trained> {
  await using folder = await tempFolder();
  await writeJob(folder.path, change);
  assert.deepEqual(await startTrainer(main, folder.path).ended, { code: 0, signal: null, stderr: '' });
  const read = (name: string): Promise<string> => readFile(path.join(folder.path, jobFiles.out, name), 'utf8');
  const events = await readEvents(folder.path);
  return {
    evaluation: JSON.parse(await read(modelFiles.evaluation)) as DetectionEvaluation,
    card: await read(modelFiles.cardText),
    logs: events.flatMap((event) => (event.is === 'log' ? [event.message] : [])),
    progress: events.flatMap((event) => (event.is === 'progress' ? [event.progress] : [])),
  };
}

test('recipe accurate: Lite2 in both files, which agree with the trained network; card and evaluation name both', async () => {
  const { evaluation, card, logs, progress } = await trainWith({
    arguments: { recipe: 'accurate', side: '192', epochs: '25' },
    count: { train: 8, validation: 0, test: 2 },
    // What is learned is what validates.
    lines: (lines) => [
      ...lines,
      ...lines.filter(({ split }) => split === 'train').map((one) => ({ ...one, split: 'validation' as const })),
    ],
  });
  const { networks, pretrained, files, model } = evaluation;
  assert.deepEqual(networks?.chosen, 'accurate', networks?.reason);
  assert.match(pretrained.name, /CenterNet.*Lite0.*Lite2/);
  assert.deepEqual(
    files.map(({ file }) => file),
    ['shapes.onnx', 'shapes.tflite', 'shapes.int8.onnx', 'shapes.int8.tflite'],
  );
  for (const { file, size_bytes: size, precision, max_difference: difference } of files) {
    if (precision === 'int8') {
      assert.ok(size < 11e6, `${file} has ${size} bytes`);
      continue;
    }
    assert.ok(difference !== null && difference <= 1e-4, `${file} differs by ${difference}`);
    assert.ok(size > 32e6 && size < 33.5e6, `${file} has ${size} bytes`);
  }
  const [compact, accurate] = networks.candidates;
  assert.ok(compact?.recipe === 'compact' && accurate?.recipe === 'accurate' && networks.gain?.images === 8);
  assert.ok(compact.size_bytes > 17.5e6 && compact.size_bytes < 18.5e6 && accurate.size_bytes === model.size_bytes);
  assert.ok(!compact.name.includes('Lite2') && accurate.name === pretrained.name);
  assert.ok(compact.latency_ms > 0 && accurate.latency_ms > 0 && compact.seconds < accurate.seconds);
  assert.ok(accurate.validation_score > 0.5, `${accurate.validation_score}`);
  assert.match(card, /## Networks\n[\s\S]*compact[\s\S]*accurate \(delivered\)/);
  assert.match(card, /labels, from CenterNet.*Lite2.*Apache-2\.0\)/);
  assert.ok(logs.includes(`Delivers the accurate network. ${networks.reason}`));
  assert.deepEqual(
    progress,
    progress.toSorted((a, b) => a - b),
  );
  assert.equal(progress.at(-1), 1);
});

test('recipe auto: too few validation images, or a job that allows no such file, deliver the compact network', async () => {
  const base = { framework: 'onnx' as const, count: { train: 6, validation: 4, test: 2 } };
  const few = await trainWith({ ...base, arguments: { recipe: 'auto', epochs: '1' } });
  assert.match(few.evaluation.networks?.reason ?? '', /^4 validation images are too few/);
  const count = { train: 6, validation: 20, test: 2 };
  const small = await trainWith({
    ...base,
    count,
    arguments: { recipe: 'auto', epochs: '1', max_model_megabytes: '20' },
  });
  assert.match(small.evaluation.networks?.reason ?? '', /needs 3[23].* MB, the job allows 20 MB/);
  for (const { evaluation, logs, card, progress } of [few, small]) {
    assert.equal(progress.at(-1), 1);
    const { networks, pretrained, model } = evaluation;
    assert.deepEqual([networks?.chosen, networks?.candidates.length, networks?.gain], ['compact', 1, null]);
    assert.ok(!pretrained.name.includes('Lite2') && model.size_bytes < 18.5e6);
    assert.ok(logs.includes(`Delivers the compact network. ${networks?.reason}`));
    assert.match(card, /## Networks/);
  }
});

test('recipe auto compares both with enough validation images, and delivers one of them', async () => {
  const { evaluation } = await trainWith({
    framework: 'onnx',
    count: { train: 6, validation: 20, test: 2 },
    arguments: { recipe: 'auto', epochs: '2' },
  });
  const { networks, pretrained, model } = evaluation;
  assert.ok(networks);
  const delivered = networks.candidates.find(({ recipe }) => recipe === networks.chosen);
  assert.ok(delivered?.name === pretrained.name && delivered.size_bytes === model.size_bytes);
  assert.equal(pretrained.name.includes('Lite2'), networks.chosen === 'accurate');
  if (networks.chosen === 'accurate') assert.ok(networks.gain && networks.gain.mean > networks.gain.standard_error);
});

test('recipe accurate without time for rescoring: the file has no second network, and the job says so', async () => {
  const { evaluation, card, logs, progress } = await trainWith({
    arguments: { recipe: 'accurate', epochs: '200' },
    count: { train: 24, test: 2 },
    framework: 'onnx',
    wallSeconds: 1,
  });
  const { networks, pretrained, model } = evaluation;
  assert.equal(networks?.chosen, 'compact');
  assert.match(networks.reason, /^No time was left to train rescoring/);
  assert.ok(!pretrained.name.includes('Lite2') && model.size_bytes < 18.5e6);
  assert.ok(logs.includes(`Delivers the compact network. ${networks.reason}`));
  assert.match(card, /No time was left to train rescoring/);
  assert.equal(progress.at(-1), 1);
});

test('a job whose files would be larger than it allows is refused before the training', async () => {
  for (const [recipe, limit, has] of [
    ['accurate', '20', /the model files of the recipe accurate have 3[23]/],
    ['compact', '10', /the model files of the recipe compact have 1[78]/],
    ['auto', '10', /the model files of the recipe auto have 1[78]/],
  ] as const) {
    await using folder = await tempFolder();
    await writeJob(folder.path, { arguments: { recipe, max_model_megabytes: limit } });
    const { code, stderr } = await startTrainer(main, folder.path).ended;
    assert.equal(code, 65, stderr);
    assert.match(stderr, has);
    const metrics = (await readEvents(folder.path)).filter((event) => event.is === 'metric');
    assert.equal(metrics.length, 0);
  }
});
