// Models trained by this repository's trainers, on the real machine server.
import type { DetectionEvaluation, Evaluation, MultiLabelEvaluation } from '@platform/contract/job/evaluation';
import { jobFiles, modelFiles } from '@platform/contract/job/job';
import { boxesAbove, boxesOf, labelsAbove } from '@platform/contract/job/model-output';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { openSession } from '@platform/trainer-engine/runtime';
import type { Results } from '@platform/trainer-engine/runtime';
import { decode } from '@platform/trainer-engine/images';
import { seeded } from '@platform/trainer-engine/random';
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { writeJob as writeClassificationJob } from '../../../trainers/classification/test/job-folder.ts';
import { writeJob as writeDetectionJob } from '../../../trainers/detection/test/job-folder.ts';
import { startTrainer } from '../../../trainers/engine/test/trainer-process.ts';
import type { Detection, ScoredLabel } from '../src/annotations.ts';
import { createModelEngine } from '../src/resources/model-engine.ts';
import { loadModel } from '../src/resources/model.ts';
import { tarGz } from './archives.ts';
import { jpeg } from './codecs.ts';
import { fakeCloud } from './fake-cloud.ts';
import { startServer } from './server-process.ts';

const side = 96;
/** Largest difference of a score or an edge between the two builds of ONNX Runtime. */
const tolerance = 1e-3;
const folder = await tempFolder();
after(() => folder[Symbol.asyncDispose]());

interface Trained {
  readonly name: string;
  readonly archive: Buffer;
  readonly labels: readonly string[];
  readonly thresholds: readonly number[];
  /** Images of the model's input size, so that no scaling affects the scores. */
  readonly images: readonly string[];
  /** Outputs for an image, as the trainer's evaluator computes them. */
  readonly run: (image: string) => Promise<Results>;
}

async function train(
  name: 'detection' | 'classification',
  writeJob: (folder: string) => Promise<void>,
): Promise<Trained> {
  const job = folder.file(name);
  await mkdir(job);
  await writeJob(job);
  const program = new URL(`../../../trainers/${name}/src/main.ts`, import.meta.url);
  assert.deepEqual(await startTrainer(program, job).ended, { code: 0, signal: null, stderr: '' });
  const out = path.join(job, jobFiles.out);
  const files = (await readdir(out)).map(async (file) => ({
    name: file,
    content: await readFile(path.join(out, file)),
  }));
  const evaluation = JSON.parse(await readFile(path.join(out, modelFiles.evaluation), 'utf8')) as
    | DetectionEvaluation
    | MultiLabelEvaluation;
  const session = await openSession(await readFile(path.join(out, 'shapes.onnx')), 1);
  const images = folder.file(`${name}-images`);
  await mkdir(images);
  const sources = path.join(job, jobFiles.images);
  const kept = (await readdir(sources)).toSorted().slice(0, 4);
  for (const file of kept) {
    const image = sharp(path.join(sources, file)).resize(side, side, { fit: 'fill' });
    await image.png().toFile(path.join(images, `${file}.png`));
  }
  return {
    name,
    archive: await tarGz(await Promise.all(files)),
    labels: evaluation.labels,
    thresholds: evaluation.per_class.map(({ threshold }) => threshold),
    images: kept.map((file) => path.join(images, `${file}.png`)),
    run: async (image) => session.run({ image: { data: await decode(image, side), dims: [1, side, side, 3] } }),
  };
}

const detector = await train('detection', (job) =>
  writeDetectionJob(job, { framework: 'onnx', arguments: { recipe: 'probe' } }),
);
const classifier = await train('classification', (job) =>
  writeClassificationJob(job, {
    kind: 'multi_label_classification',
    framework: 'onnx',
    arguments: { recipe: 'probe' },
  }),
);

/** Starts a machine with the model and a camera that shows its images. */
async function machineWith({ name, archive, images }: Trained) {
  const cloud = await fakeCloud();
  const root = await tempFolder();
  cloud.archives.set(`org/${name}/1`, { bytes: archive });
  const files = { model_path: '${packages.net}/shapes.onnx', label_path: '${packages.net}/labels.txt' };
  const camera = { path: path.dirname(images[0] ?? ''), interval_seconds: 0 };
  const use = { camera: 'cam', mlmodel: 'net', every_seconds: 0.2 };
  cloud.setConfig(1, {
    components: [{ name: 'cam', type: 'camera', model: 'folder', attributes: camera }],
    services: [
      { name: 'net', type: 'mlmodel', model: 'onnx_cpu', attributes: files },
      { name: 'look', type: 'vision', model: name === 'detection' ? 'detector' : 'classifier', attributes: use },
      { name: 'keep', type: 'data_manager', attributes: use },
    ],
    packages: [{ name: 'net', package: `org/${name}`, version: '1', type: 'ml_model' }],
  });
  const server = await startServer({ cloud, folder: root.path });
  return {
    cloud,
    server,
    predict: async (image: string) => {
      const body = await readFile(image);
      const ask = () => server.json('/models/net/predict', { method: 'POST', body });
      return (await server.until('a prediction', ask, ({ status }) => status === 200)).body;
    },
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await cloud[Symbol.asyncDispose]();
      await root[Symbol.asyncDispose]();
    },
  };
}

const isClose = (a: number, b: number, what: string) => assert.ok(Math.abs(a - b) <= tolerance, `${what}: ${a}, ${b}`);

test('a detector trained here finds on a machine what the trainer’s evaluator finds', async () => {
  const { labels, thresholds, images, run } = detector;
  await using machine = await machineWith(detector);
  let count = 0;
  for (const image of images) {
    const results = await run(image);
    const wanted = boxesAbove(boxesOf(results('location'), results('category'), results('score')), thresholds);
    const { task, detections, model, version, ...rest } = await machine.predict(image);
    assert.deepEqual(
      [task, model, version, Object.keys(rest)],
      ['object_detection', 'detection', '1', ['milliseconds']],
    );
    const found = detections as Detection[];
    assert.deepEqual(
      found.map(({ label }) => label),
      wanted.map(({ label }) => labels[label]),
    );
    for (const [i, box] of wanted.entries()) {
      isClose(found[i]?.score ?? -1, box.score, 'score');
      isClose(found[i]?.x_min_normalized ?? -1, box.left, 'left');
      isClose(found[i]?.y_min_normalized ?? -1, box.top, 'top');
      isClose(found[i]?.x_max_normalized ?? -1, box.right, 'right');
      isClose(found[i]?.y_max_normalized ?? -1, box.bottom, 'bottom');
      count++;
    }
  }
  assert.ok(count > 0, 'no image shows a box: nothing was compared');

  const { cloud, server } = machine;
  const lines = () => cloud.logs.filter(({ message }) => message === 'prediction');
  const [line] = await server.until('a prediction in the log', lines, (found) => found.length > 0);
  assert.match(JSON.stringify(line?.fields), /detections.*x_min_normalized/);
  const annotated = () => cloud.uploads.flatMap((one) => one.sensorContents[0]?.metadata?.annotations?.bboxes ?? []);
  const [box] = await server.until('a captured image with boxes', annotated, (found) => found.length > 0);
  assert.ok(box && labels.includes(box.label) && (box.confidence ?? 0) > 0 && box.xMinNormalized < box.xMaxNormalized);
  // The image is captured before the model arrives, so it has no boxes.
  assert.ok(cloud.uploads.every(({ sensorContents: [content] }) => content?.data.case === 'binary'));
});

test('a model with several labels per image gives every label from its threshold on', async () => {
  const { labels, thresholds, images, run } = classifier;
  await using machine = await machineWith(classifier);
  const sets: number[] = [];
  for (const image of images) {
    const probability = (await run(image))('probability');
    const wanted = labelsAbove(probability, thresholds).toSorted(
      (a, b) => (probability[b] ?? 0) - (probability[a] ?? 0),
    );
    const { task, label, labels: found, probabilities } = await machine.predict(image);
    assert.equal(task, 'multi_label_classification');
    assert.deepEqual(
      (found as ScoredLabel[]).map((one) => one.label),
      wanted.map((k) => labels[k]),
    );
    for (const [k, value] of probability.entries())
      isClose((probabilities as Record<string, number>)[labels[k] ?? ''] ?? -1, value, 'probability');
    assert.equal(label, labels[probability.indexOf(Math.max(...probability))]);
    sets.push(wanted.length);
  }
  assert.ok(
    sets.some((count) => count > 1),
    `no image has several labels: ${sets.join()}`,
  );

  const { cloud, server } = machine;
  const lines = () => cloud.logs.filter(({ message }) => message === 'prediction');
  const [line] = await server.until('a prediction in the log', lines, (all) => all.length > 0);
  assert.match(JSON.stringify(line?.fields), /"labels"/);
  const annotated = () =>
    cloud.uploads.flatMap((one) => one.sensorContents[0]?.metadata?.annotations?.classifications ?? []);
  const [one] = await server.until('a captured image with labels', annotated, (all) => all.length > 0);
  assert.ok(one && labels.includes(one.label) && (one.confidence ?? 0) > 0);
});

test('a classifier with one label rejects images as the trainer’s evaluator scores them', async () => {
  const job = folder.file('single');
  await mkdir(job);
  await writeClassificationJob(job, { framework: 'onnx', arguments: { epochs: '1' } });
  const program = new URL('../../../trainers/classification/src/main.ts', import.meta.url);
  assert.deepEqual(await startTrainer(program, job).ended, { code: 0, signal: null, stderr: '' });
  const out = path.join(job, jobFiles.out);
  const { unlike } = JSON.parse(await readFile(path.join(out, modelFiles.evaluation), 'utf8')) as Evaluation;
  const engine = createModelEngine(() =>
    readFile(fileURLToPath(import.meta.resolve('onnxruntime-web/ort-wasm-simd-threaded.wasm'))),
  );
  const random = seeded('noise');
  const noise = folder.file('noise.png');
  const pixels = Uint8Array.from({ length: side * side * 3 }, () => random() * 256);
  await sharp(pixels, { raw: { width: side, height: side, channels: 3 } })
    .png()
    .toFile(noise);
  const known = path.join(job, jobFiles.images, (await readdir(path.join(job, jobFiles.images)))[0] ?? '');
  const shown = folder.file('known.png');
  await sharp(known).resize(side, side, { fit: 'fill' }).png().toFile(shown);
  // Runtimes round the integer arithmetic of the INT8 form differently.
  for (const [file, allowed] of [
    ['shapes.onnx', 1e-3],
    ['shapes.int8.onnx', 0.05],
  ] as const) {
    const modelPath = path.join(out, file);
    const files = { name: 'net', modelPath, labelPath: path.join(out, modelFiles.labels), rejectUnlike: true } as const;
    const { model, release } = await loadModel(files, { engine, jpeg, clock: systemClock });
    const session = await openSession(await readFile(modelPath), 1);
    for (const [image, isRejected] of [
      [noise, true],
      [shown, false],
    ] as const) {
      const data = await decode(image, side);
      const [score = -1] = (await session.run({ image: { data, dims: [1, side, side, 3] } }))('unlike');
      const found = await model.predict(await readFile(image), 'image');
      assert.ok(found.task === 'single_label_classification' && found.unlike);
      assert.ok(Math.abs(found.unlike.score - score) < allowed, `${file}: ${found.unlike.score} instead of ${score}`);
      assert.equal(found.unlike.threshold, unlike?.threshold);
      const isUnknown = found.label === 'VIAM_UNKNOWN';
      assert.deepEqual([found.unlike.rejected, isUnknown], [isRejected, isRejected], `${file}, ${image}`);
    }
    await session.release();
    await release();
  }
});

test('a detector does not start with a label file of another model', async () => {
  const { name, archive } = detector;
  await writeFile(folder.file('other.txt'), 'one\n');
  await using cloud = await fakeCloud();
  await using root = await tempFolder();
  cloud.archives.set(`org/${name}/1`, { bytes: archive });
  const files = { model_path: '${packages.net}/shapes.onnx', label_path: folder.file('other.txt') };
  cloud.setConfig(1, {
    services: [{ name: 'net', type: 'mlmodel', model: 'onnx_cpu', attributes: files }],
    packages: [{ name: 'net', package: `org/${name}`, version: '1', type: 'ml_model' }],
  });
  await using server = await startServer({ cloud, folder: root.path });
  const report = () => server.json('/resource_status');
  const { body } = await server.until('a failed model', report, ({ body: b }) =>
    /MODEL_UNUSABLE/.test(JSON.stringify(b)),
  );
  assert.match(JSON.stringify(body), /names 2 labels, .*names 1/);
});
