import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { ConvLayer, Dims4, Layer } from '../network/layers.ts';
import { emitOnnx } from '../network/onnx.ts';
import type { TensorRef } from '../network/tflite.ts';
import { FLOAT, Graph, UINT8 } from '../onnx/graph.ts';
import { seeded } from '../random.ts';
import { openSession } from '../runtime.ts';
import type { Session } from '../runtime.ts';
import type { TfliteSession } from '../tflite/litert.ts';
import { elementTypes } from '../tflite/schema.ts';
import { TfliteGraph } from '../tflite/writer.ts';
import { tempFolder } from '../../test/temp-folder.ts';
import { exportInt8, sampled } from './export.ts';
import type { Int8Job, Int8Source, MeasuredInt8 } from './export.ts';
import { int8Section } from '../model-card.ts';
import { emitInt8Onnx } from './onnx.ts';
import type { ConvolutionForm, Int8Plan } from './plan.ts';
import { emitInt8Tflite } from './tflite.ts';

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
function tfliteOf(plan: Int8Plan): Uint8Array {
  const g = new TfliteGraph();
  const shape = [1, side, side, 3] as const;
  const types = { from: elementTypes.uint8, to: elementTypes.float32 };
  const image = g.op('CAST', [g.input('image', 'uint8', shape)], { shape }, types);
  const values = new Map<number, TensorRef>([[0, { tensor: image, shape }]]);
  emitInt8Tflite(g, layers, values, plan);
  const inputs = [values.get(8)?.tensor ?? -1, g.constant(Int32Array.of(1, classes), [2])];
  g.outputs.push(g.op('RESHAPE', inputs, { shape: [1, classes], name: 'scores' }));
  return g.encode();
}
const heldOut = Array.from({ length: 40 }, colouredNoise);

type Run = (image: Uint8Array) => Promise<Float32Array>;
const inOnnx =
  (file: Session): Run =>
  async (data) =>
    Float32Array.from((await file.run({ image: { data, dims: [1, side, side, 3] } }))('scores'));
const inTflite =
  (file: TfliteSession): Run =>
  async (data) =>
    (await file.run(data)).outputs['scores'] ?? new Float32Array();
async function scoresOf(run: Run): Promise<Float32Array[]> {
  const outputs: Float32Array[] = [];
  for (const data of heldOut) outputs.push(await run(data));
  return outputs;
}
/** The class that stands out most against its mean over the images. */
function best(scores: Float32Array, means: readonly number[]): number {
  const above = scores.map((score, k) => score - (means[k] ?? 0));
  return above.indexOf(Math.max(...above));
}

/** A job whose model is the network above; the right answers are those of float32. */
async function exported(
  folder: string,
  calibration: readonly Uint8Array[],
  {
    wallSeconds = 600,
    form = 'int8',
    tflite,
  }: { wallSeconds?: number; form?: ConvolutionForm; tflite?: (plan: Int8Plan) => Uint8Array } = {},
) {
  const session = await openSession(fileOf(), 1);
  const expected = await scoresOf(inOnnx(session));
  await session.release();
  const means = Array.from({ length: classes }, (_, k) => expected.reduce((sum, one) => sum + (one[k] ?? 0), 0) / 40);
  const messages: string[] = [];
  const float32 = { metric: 'accuracy', score: 1, cases: heldOut.length } as const;
  const measure = async (run: Run): Promise<MeasuredInt8> => {
    const found = await scoresOf(run);
    const right = found.filter((scores, i) => best(scores, means) === best(expected[i] ?? scores, means)).length;
    const differences = found.flatMap((scores, i) => [...scores].map((s, k) => Math.abs(s - (expected[i]?.[k] ?? 9))));
    const maxDifference = Math.max(...differences);
    return { score: right / heldOut.length, float32, images: heldOut.length, medianMs: 1, maxDifference };
  };
  const source: Int8Source = {
    layers,
    side,
    formOf: () => form,
    images: calibration.map((one) => () => one),
    float32,
    onnx: fileOf,
    tflite,
    measureOnnx: (opened) => measure(inOnnx(opened)),
    measureTflite: (opened) => measure(inTflite(opened)),
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
  assert.match(messages.join(), /^Delivers made\.int8\.onnx\. It loses at most one standard error/);
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
  assert.match(messages.join(), /^Leaves out made\.int8\.onnx\. It loses more/);
  assert.match(int8Section(report).join('\n'), /\| made\.int8\.onnx \|.*\| left out \| It loses more than/);
});

test('each form has the score of its own file', async () => {
  await using folder = await tempFolder();
  const { report, files, messages } = await exported(folder.path, heldOut, { tflite: tfliteOf });
  assert.deepEqual(await readdir(folder.path), ['made.int8.onnx', 'made.int8.tflite']);
  const [, form] = report.forms;
  assert.deepEqual([form?.images, form?.cases, form?.score_by], [40, 40, 'LiteRT (WebAssembly)']);
  assert.ok((form?.score ?? 0) >= 0.95, `score ${form?.score}`);
  const difference = files[1]?.max_difference ?? 0;
  assert.ok(difference > 0 && difference < 0.05, `differs by ${difference}`);
  assert.match(messages.join('\n'), /^Delivers made\.int8\.tflite\. It loses at most/m);
  const card = int8Section(report).join('\n');
  assert.match(card, /score of made\.int8\.tflite was measured with LiteRT \(WebAssembly\) on 40 held-out images\./);
});

test('a TensorFlow Lite file that computes something else is left out, although the ONNX file is delivered', async () => {
  await using folder = await tempFolder();
  const cutOff = (plan: Int8Plan): Uint8Array => {
    const stored = [...plan.stored].map(([value, one]) => [value, { ...one, scale: one.scale / 50 }] as const);
    return tfliteOf({ ...plan, stored: new Map(stored) });
  };
  const { report, messages } = await exported(folder.path, heldOut, { tflite: cutOff });
  assert.deepEqual(await readdir(folder.path), ['made.int8.onnx']);
  const [onnx, tflite] = report.forms;
  assert.ok(onnx && tflite && onnx.score - tflite.score > 0.1, `scores ${onnx?.score} and ${tflite?.score}`);
  assert.match(tflite.reason, /^It loses more than one standard error/);
  assert.match(messages.join('\n'), /^Leaves out made\.int8\.tflite\./m);
});

test('a part of many held-out images is the same one by the same seed', () => {
  assert.deepEqual(sampled(3, 5, 1), [0, 1, 2]);
  const some = sampled(1000, 100, 1);
  assert.deepEqual([some.length, new Set(some).size, some], [100, 100, some.toSorted((a, b) => a - b)]);
  assert.deepEqual(sampled(1000, 100, 1), some);
  // Lists of images are often sorted by label.
  assert.ok(some.filter((i) => i < 500).length > 25 && some.filter((i) => i >= 500).length > 25);
});

test('a job without time makes none, and the card says so', async () => {
  await using folder = await tempFolder();
  const { report, files } = await exported(folder.path, heldOut, { wallSeconds: 0 });
  assert.deepEqual([await readdir(folder.path), files, report.forms], [[], [], []]);
  assert.match(int8Section(report).join('\n'), /No INT8 form: the time of the job was over\./);
});
