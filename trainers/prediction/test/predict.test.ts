/** The program as a process, with models that the built-in trainers make here. */
import assert from 'node:assert/strict';
import { cp, mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { parsePredictionLine, predictionFile, type PredictionLine } from '@platform/contract/job/predictions';
import { type DatasetLine, jobFiles, modelFiles, parseDatasetLine } from '@platform/contract/job/job';
import { seeded } from '@platform/trainer-engine/random';
import sharp from 'sharp';
import { writeJob as writeClassificationJob } from '../../classification/test/job-folder.ts';
import { writeJob as writeDetectionJob } from '../../detection/test/job-folder.ts';
import { readEvents, type TestImage, writeJobFolder } from '../../engine/test/job-folder.ts';
import { tempFolder } from '../../engine/test/temp-folder.ts';
import { startTrainer } from '../../engine/test/trainer-process.ts';

const main = new URL('../src/main.ts', import.meta.url);
const programOf = (trainer: string): URL => new URL(`../../${trainer}/src/main.ts`, import.meta.url);
const done = { code: 0, signal: null, stderr: '' };

const linesIn = async (folder: string): Promise<DatasetLine[]> => {
  const text = await readFile(path.join(folder, jobFiles.dataset), 'utf8');
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => parseDatasetLine(JSON.parse(line)));
};

/** A job that predicts these images with the model in `trained`/out. */
async function writePrediction(
  folder: string,
  trained: string,
  images: readonly TestImage[],
  model = { name: 'shapes', version: 'v1' },
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const job = {
    kind: 'predict',
    model_name: model.name,
    arguments: {},
    seed: 1,
    limits: { wall_seconds: 600, memory_mib: 2048, disk_mib: 512 },
    model: { ...model, package_sha256: '0'.repeat(64) },
  } as const;
  await writeJobFolder(folder, job, images, (lines) =>
    lines.map((line) => ({ ...line, binary_data_id: line.file_name })),
  );
  await mkdir(path.join(folder, jobFiles.out), { recursive: true });
  await cp(path.join(trained, jobFiles.out), path.join(folder, jobFiles.model), { recursive: true });
}

async function predictionsIn(folder: string): Promise<Map<string, PredictionLine>> {
  const text = await readFile(path.join(folder, jobFiles.out, predictionFile), 'utf8');
  const all = text.split('\n').filter(Boolean).map(parsePredictionLine);
  return new Map(all.map((one) => [one.binary_data_id, one]));
}

const imagesOf = async (folder: string, lines: readonly DatasetLine[]): Promise<TestImage[]> =>
  Promise.all(
    lines.map(async (line) => ({
      name: line.file_name,
      split: line.split,
      bytes: await readFile(path.join(folder, line.image_path)),
    })),
  );

test('a classifier: a label for each image that it knows, near copies in groups, none for what is unlike anything', async () => {
  await using temp = await tempFolder();
  const trained = path.join(temp.path, 'trained');
  await mkdir(trained);
  await writeClassificationJob(trained, { framework: 'onnx', arguments: { recipe: 'probe' } });
  assert.deepEqual(await startTrainer(programOf('classification'), trained).ended, done);
  const lines = (await linesIn(trained)).filter(({ split }) => split === 'test');
  const own = await imagesOf(trained, lines);
  const [first] = own;
  assert.ok(first);
  const random = seeded('noise');
  const raw = Uint8Array.from({ length: 96 * 96 * 3 }, () => random() * 256);
  const noise = await sharp(raw, { raw: { width: 96, height: 96, channels: 3 } })
    .png()
    .toBuffer();
  const recoded = await sharp(first.bytes).png().toBuffer();
  const folder = path.join(temp.path, 'predicted');
  await writePrediction(folder, trained, [
    ...own,
    { name: 'copy.png', split: 'test', bytes: recoded },
    { name: 'noise.png', split: 'test', bytes: noise },
    { name: 'broken.png', split: 'test', bytes: recoded.subarray(0, 90) },
  ]);
  assert.deepEqual(await startTrainer(main, folder).ended, done);
  const found = await predictionsIn(folder);
  assert.deepEqual([...found.keys()], [...own.map(({ name }) => name), 'copy.png', 'noise.png']);
  const right = lines.filter((line) => {
    const [suggestion] = found.get(line.file_name)?.suggestions ?? [];
    return suggestion?.label === line.classification_annotations[0]?.annotation_label;
  });
  assert.ok(right.length >= 5, `${right.length} of ${lines.length} are right`);
  for (const { suggestions, scores } of [...found.values()].slice(0, own.length)) {
    // One image may be unlike the few that the model has seen.
    if (suggestions.length === 0) continue;
    assert.equal(suggestions.length, 1);
    assert.deepEqual(Object.keys(scores), ['circle', 'cross', 'stripes']);
    assert.equal(suggestions[0]?.score, Math.max(...Object.values(scores)));
  }
  assert.deepEqual(found.get('noise.png'), { binary_data_id: 'noise.png', suggestions: [], scores: {} });
  assert.ok(found.get('copy.png')?.copy_group !== undefined);
  assert.equal(found.get('copy.png')?.copy_group, found.get(first.name)?.copy_group);
  const events = await readEvents(folder);
  assert.deepEqual(
    events.flatMap((one) => (one.is === 'warning' ? [one.code] : [])),
    ['INVALID_IMAGE'],
  );
  const last = events.findLast((one) => one.is === 'log');
  assert.match(last?.message ?? '', /^[567] suggestions for [567] of 8 images; 2 images are near copies of others\.$/);

  const bare = path.join(temp.path, 'bare');
  await writePrediction(bare, trained, own);
  await rm(path.join(bare, jobFiles.model, modelFiles.labels));
  assert.equal((await startTrainer(main, bare).ended).code, 65);
  const [failure] = (await readEvents(bare)).filter((one) => one.is === 'error');
  assert.equal(failure?.code, 'MODEL_CANNOT_SUGGEST');
  assert.match(failure.message, /its archive has no file labels\.txt/);
});

test('a detector: boxes above the thresholds of its labels', async () => {
  await using temp = await tempFolder();
  const trained = path.join(temp.path, 'trained');
  await mkdir(trained);
  await writeDetectionJob(trained, { framework: 'onnx', arguments: { recipe: 'probe' } });
  assert.deepEqual(await startTrainer(programOf('detection'), trained).ended, done);
  const name = JSON.parse(await readFile(path.join(trained, jobFiles.job), 'utf8')) as { model_name: string };
  const lines = await linesIn(trained);
  const folder = path.join(temp.path, 'predicted');
  await writePrediction(folder, trained, await imagesOf(trained, lines), { name: name.model_name, version: 'v1' });
  assert.deepEqual(await startTrainer(main, folder).ended, done);
  const found = [...(await predictionsIn(folder)).values()];
  const boxes = found.flatMap(({ suggestions }) => suggestions);
  assert.ok(boxes.length > 0);
  for (const { label, score, box } of boxes) {
    assert.ok(box && box[0] < box[2] && box[1] < box[3], `${label} has a box with an area`);
    assert.ok(score > 0 && score <= 1);
  }
  const labels = Object.keys(found[0]?.scores ?? {});
  assert.ok(labels.length > 0 && boxes.every(({ label }) => labels.includes(label)));
});
