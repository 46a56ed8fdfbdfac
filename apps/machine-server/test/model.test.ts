import { errorCodeOf } from '@platform/contract/errors/errors';
import type { PlatformError } from '@platform/contract/errors/errors';
import { systemClock as clock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import assert from 'node:assert/strict';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { createModelEngine } from '../src/resources/model-engine.ts';
import { loadModel, readLabels } from '../src/resources/model.ts';
import type { Prediction } from '../src/resources/resource.ts';
import { jpeg } from './codecs.ts';
import { colourImage, colours } from './colour-images.ts';
import type { Colour } from './colour-images.ts';

const fixtures = path.join(import.meta.dirname, 'fixtures');
const modelPath = path.join(fixtures, 'colours.onnx');
const labelPath = path.join(fixtures, 'labels.txt');
const wasm = fileURLToPath(import.meta.resolve('onnxruntime-web/ort-wasm-simd-threaded.wasm'));
const engine = createModelEngine(() => readFile(wasm));

function single(prediction: Prediction): Extract<Prediction, { task: 'single_label_classification' }> {
  assert.equal(prediction.task, 'single_label_classification');
  return prediction;
}

test('an engine that could not be read once is read again for the next model', async () => {
  const reads = { failed: 0 };
  const broken = createModelEngine(() => (reads.failed++ === 0 ? Promise.reject(new Error('EMFILE')) : readFile(wasm)));
  await assert.rejects(broken.load(new Uint8Array(8), []), /EMFILE/);
  await assert.rejects(broken.load(new Uint8Array(8), []), (error: Error) => !error.message.includes('EMFILE'));
  assert.equal(reads.failed, 2);
});

test('a model classifies colours, whatever format and shape the image has', async () => {
  const origin = { model: 'colours', version: '3' };
  const { model, release } = await loadModel({ name: 'm', modelPath, labelPath, origin }, { engine, jpeg, clock });
  for (const colour of Object.keys(colours) as Colour[]) {
    for (const format of ['jpeg', 'png'] as const) {
      const bytes = await colourImage(colour, { width: 200, height: 77, format });
      const { label, score, probabilities, milliseconds, ...rest } = single(await model.predict(bytes, 'image'));
      assert.equal(label, colour);
      assert.ok(score > 0.9 && score === probabilities[colour], `${colour}: ${score}`);
      const sum = Object.values(probabilities).reduce((a, b) => a + b, 0);
      assert.ok(Math.abs(sum - 1) < 1e-5 && milliseconds >= 0);
      assert.deepEqual(rest, { task: 'single_label_classification', ...origin });
    }
  }
  await release();
});

test('predictions are those of the image as sharp would have prepared it', async () => {
  const { model, release } = await loadModel({ name: 'm', modelPath, labelPath }, { engine, jpeg, clock });
  const network = await engine.load(await readFile(modelPath), ['probability']);
  for (let seed = 1; seed <= 6; seed++) {
    const colour = (Object.keys(colours) as Colour[])[seed % 3] ?? 'red';
    const bytes = await colourImage(colour, { width: 100 + 37 * seed, height: 80 + 11 * seed, seed });
    const { width, height } = network;
    const prepared = await sharp(bytes).resize(width, height, { fit: 'fill' }).removeAlpha().raw().toBuffer();
    const wanted = (await network.run(() => prepared))('probability');
    const got = Object.values(single(await model.predict(bytes, 'image')).probabilities);
    assert.equal(got.indexOf(Math.max(...got)), wanted.indexOf(Math.max(...wanted)));
    for (const [i, p] of wanted.entries()) assert.ok(Math.abs(p - (got[i] ?? 0)) < 0.01, `${p} and ${got[i]}`);
  }
  await network.release();
  await release();
});

test('predictions asked for at once and a release among them do not disturb each other', async () => {
  const { model, release } = await loadModel({ name: 'm', modelPath, labelPath }, { engine, jpeg, clock });
  const asked = (Object.keys(colours) as Colour[]).map(async (colour) => {
    return [colour, single(await model.predict(await colourImage(colour), 'image'))] as const;
  });
  for (const [colour, { label }] of await Promise.all(asked)) assert.equal(label, colour);
  const last = model.predict(await colourImage('blue'), 'image');
  const gone = release();
  assert.equal(single(await last).label, 'blue');
  await gone;
});

test('a model that does not fit is refused when it is loaded', async () => {
  await using folder = await tempFolder();
  const file = async (name: string, content: string | Uint8Array) => {
    await writeFile(folder.file(name), content);
    return folder.file(name);
  };
  const two = await file('two.txt', 'red\ngreen');
  const twice = await file('twice.txt', 'red\ngreen\nred\n');
  const broken = await file('broken.onnx', (await readFile(modelPath)).subarray(0, 200));
  const renamed = Buffer.from(await readFile(modelPath));
  for (let at = renamed.indexOf('image'); at >= 0; at = renamed.indexOf('image')) renamed.write('imago', at);
  const otherInput = await file('input.onnx', renamed);
  const relabelled = Buffer.from(await readFile(modelPath));
  for (let at = relabelled.indexOf('probability'); at >= 0; at = relabelled.indexOf('probability')) {
    relabelled.write('likelihoods', at);
  }
  const otherOutput = await file('output.onnx', relabelled);
  await copyFile(labelPath, folder.file('labels.txt'));
  const rows: [string, { modelPath: string; labelPath: string }, RegExp][] = [
    ['no model file', { modelPath: folder.file('none.onnx'), labelPath }, /ENOENT/],
    ['no label file', { modelPath, labelPath: folder.file('none.txt') }, /ENOENT/],
    ['too few labels', { modelPath, labelPath: two }, /3 classes.*names 2/],
    ['a label twice', { modelPath, labelPath: twice }, /"red" twice/],
    ['a broken file', { modelPath: broken, labelPath }, /./],
    ['another input', { modelPath: otherInput, labelPath }, /input "image" of type uint8/],
    ['another output', { modelPath: otherOutput, labelPath }, /no output named "probability"/],
  ];
  for (const [name, files, message] of rows) {
    await assert.rejects(loadModel({ name: 'm', ...files }, { engine, jpeg, clock }), (error: Error) => {
      assert.equal(errorCodeOf(error), 'MODEL_UNUSABLE', name);
      assert.match(error.message, message, name);
      return true;
    });
  }
});

test('a model without the score does not start if it is to reject images, and starts if not', async () => {
  const { release } = await loadModel({ name: 'm', modelPath, labelPath }, { engine, jpeg, clock });
  await release();
  const rejecting = loadModel({ name: 'm', modelPath, labelPath, rejectUnlike: true }, { engine, jpeg, clock });
  await assert.rejects(rejecting, (error: PlatformError) => {
    assert.equal(error.code, 'MODEL_WITHOUT_UNLIKE');
    assert.match(error.what, /The model m cannot reject .* reject_unlike .*: its file has no score for that/);
    assert.match(error.remedy, /Train a version .*, or remove reject_unlike from the attributes of the model/);
    return true;
  });
});

test('label files: with and without a last line end, never an empty label', () => {
  assert.deepEqual(readLabels('a\nb'), ['a', 'b']);
  assert.deepEqual(readLabels('a\r\nb b\r\n'), ['a', 'b b']);
  for (const bad of ['', 'a\n\nb', '\n']) assert.throws(() => readLabels(bad), /empty/);
});
