import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { ConvLayer, Dims4, Layer } from '../network/layers.ts';
import { emitOnnx } from '../network/onnx.ts';
import { FLOAT, Graph, UINT8 } from '../onnx/graph.ts';
import { seeded } from '../random.ts';
import { openSession } from '../runtime.ts';
import type { Session } from '../runtime.ts';
import { tempFolder } from '../../test/temp-folder.ts';
import { exportInt8 } from './export.ts';
import type { Int8Job, Int8Source, MeasuredInt8 } from './export.ts';
import { int8Section } from './card.ts';
import { emitInt8Onnx } from './onnx.ts';
import type { ConvolutionForm, Int8Plan } from './plan.ts';

const [side, classes] = [16, 4];
const random = seeded('int8 network');
const conv = (input: number, output: number, dims: Dims4, more: Partial<ConvLayer> = {}): Layer => ({
  is: 'conv',
  input,
  output,
  depthwise: false,
  stride: 1,
  relu: false,
  dims,
  weights: Float32Array.from({ length: dims[0] * dims[1] * dims[2] * dims[3] }, () => random() - 0.5),
  bias: Float32Array.from({ length: dims[0] }, () => 0.1 * (random() - 0.5)),
  ...more,
});
/** Every kind of layer that computes with int8, before those that do not. */
const layers: readonly Layer[] = [
  { is: 'scale', input: 0, output: 1, factor: 1 / 128, offset: -127 / 128 },
  conv(1, 2, [8, 3, 3, 3], { stride: 2, relu: 6 }),
  conv(2, 3, [8, 1, 3, 3], { depthwise: true, relu: true }),
  conv(3, 4, [8, 8, 1, 1]),
  conv(2, 5, [8, 8, 1, 1]),
  { is: 'add', inputs: [4, 5], output: 6 },
  { is: 'mean', input: 6, output: 7 },
  conv(7, 8, [classes, 8, 1, 1]),
];

function fileOf(plan?: Int8Plan): Buffer {
  const g = new Graph();
  g.inputs.push({ name: 'image', type: UINT8, dims: [1, side, side, 3] });
  const image = g.op('Transpose', [g.op('Cast', ['image'], { to: FLOAT })], { perm: [0, 3, 1, 2] });
  const values = new Map([[0, image]]);
  if (plan) emitInt8Onnx(g, layers, values, plan);
  else emitOnnx(g, layers, values);
  g.op('Reshape', [values.get(8) ?? '', g.ints([1, classes])], {}, 'scores');
  g.outputs.push({ name: 'scores', type: FLOAT, dims: [1, classes] });
  return g.encode();
}
/** Noise of one colour. */
function colouredNoise(): Uint8Array {
  const colour = [random(), random(), random()];
  return Uint8Array.from({ length: side * side * 3 }, (_, i) => 255 * (colour[i % 3] ?? 0) * (0.5 + 0.5 * random()));
}
const heldOut = Array.from({ length: 40 }, colouredNoise);

const scoresIn = async (session: Session): Promise<Float32Array[]> => {
  const found: Float32Array[] = [];
  for (const data of heldOut) {
    found.push(Float32Array.from((await session.run({ image: { data, dims: [1, side, side, 3] } }))('scores')));
  }
  return found;
};
/** The class that stands out most against its mean over the images. */
function best(scores: Float32Array, means: readonly number[]): number {
  const above = scores.map((score, k) => score - (means[k] ?? 0));
  return above.indexOf(Math.max(...above));
}

/** A job whose model is the network above; the right answers are those of float32. */
async function exported(
  folder: string,
  calibration: readonly Uint8Array[],
  { wallSeconds = 600, form = 'int8' }: { wallSeconds?: number; form?: ConvolutionForm } = {},
) {
  const session = await openSession(fileOf(), 1);
  const expected = await scoresIn(session);
  await session.release();
  const means = Array.from({ length: classes }, (_, k) => expected.reduce((sum, one) => sum + (one[k] ?? 0), 0) / 40);
  const messages: string[] = [];
  const compareTflite = () => Promise.reject(new Error('the job requests no TensorFlow Lite file'));
  const source: Int8Source = {
    layers,
    side,
    formOf: () => form,
    images: calibration.map((one) => () => one),
    float32: { metric: 'accuracy', score: 1, cases: heldOut.length },
    onnx: fileOf,
    tflite: undefined,
    measure: async (int8): Promise<MeasuredInt8> => {
      const found = await scoresIn(int8);
      const right = found.filter((scores, i) => best(scores, means) === best(expected[i] ?? scores, means)).length;
      const differences = found.flatMap((scores, i) =>
        [...scores].map((s, k) => Math.abs(s - (expected[i]?.[k] ?? 9))),
      );
      return { score: right / heldOut.length, medianMs: 1, maxDifference: Math.max(...differences), compareTflite };
    },
  };
  const training: Int8Job = {
    job: { model_name: 'made', limits: { wall_seconds: wallSeconds } },
    outFolder: folder,
    threads: 1,
    signal: AbortSignal.timeout(60_000),
    clock: { now: () => 1 },
    events: { emit: (event) => void messages.push('message' in event ? event.message : '') },
  };
  const result = await exportInt8(training, 0, source);
  return { ...result, messages };
}

test('convolutions and sums compute with int8, and the results hardly change', async () => {
  await using folder = await tempFolder();
  const { report, files, messages } = await exported(folder.path, heldOut);
  assert.deepEqual(await readdir(folder.path), ['made.int8.onnx']);
  const [file] = files;
  assert.deepEqual([file?.file, file?.precision, report.calibration_images], ['made.int8.onnx', 'int8', 40]);
  assert.ok(file && (file.max_difference ?? 9) < 0.05, `differs by ${file?.max_difference}`);
  const bytes = await readFile(path.join(folder.path, 'made.int8.onnx'));
  assert.equal(bytes.byteLength, file.size_bytes);
  // The input, four convolutions of maps and their sum; what is computed once per image stays float32.
  assert.equal(bytes.toString('latin1').split('QuantizeLinear').length - 1, 6);
  assert.match(messages.join(), /^Delivers the INT8 form\. It loses at most one standard error/);
  assert.match(int8Section(report).join('\n'), /\| made\.int8\.onnx \|.*\| delivered \| It loses at most/);
});

test('convolutions whose weights alone are int8 compute with float32', async () => {
  await using folder = await tempFolder();
  const { files } = await exported(folder.path, heldOut, { form: 'weights' });
  const bytes = (await readFile(path.join(folder.path, 'made.int8.onnx'))).toString('latin1');
  // No number of an image is rounded; each of the five convolutions reads weights of int8.
  const count = (operator: string): number => bytes.split(operator).length - 1;
  assert.deepEqual([count('QuantizeLinear'), count('DequantizeLinear')], [0, 5]);
  assert.ok((files[0]?.max_difference ?? 9) < 0.03, `differs by ${files[0]?.max_difference}`);
});

test('ranges of images that are nothing like those of the score: the form is left out, and the card says why', async () => {
  await using folder = await tempFolder();
  const grey = new Uint8Array(side * side * 3).fill(127);
  const { report, files, messages } = await exported(folder.path, [grey]);
  assert.deepEqual([await readdir(folder.path), files], [[], []]);
  const [form] = report.forms;
  assert.ok(form && !form.is_delivered && form.score < 0.9, `score ${form?.score}`);
  assert.match(form.reason, /^It loses more than one standard error, 2\.5 points: [\d.]+ % .* instead of 100\.0 %/);
  assert.match(messages.join(), /^Leaves out the INT8 form\. It loses more/);
  assert.match(int8Section(report).join('\n'), /\| made\.int8\.onnx \|.*\| left out \| It loses more than/);
});

test('a job without time makes none, and the card says so', async () => {
  await using folder = await tempFolder();
  const { report, files } = await exported(folder.path, heldOut, { wallSeconds: 0 });
  assert.deepEqual([await readdir(folder.path), files, report.forms], [[], [], []]);
  assert.match(int8Section(report).join('\n'), /No INT8 form: the time of the job was over\./);
});
