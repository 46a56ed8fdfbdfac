import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTflite } from './reader.ts';
import { elementTypes, padding } from './schema.ts';
import { TfliteGraph } from './writer.ts';
import { runTflite } from '../../test/run-tflite.ts';

/** 4 × 4 RGB with the values 0, 1, 2, … */
const ramp = Uint8Array.from({ length: 48 }, (_, i) => i);

function begin(): { graph: TfliteGraph; x: number } {
  const graph = new TfliteGraph();
  const image = graph.input('image', 'uint8', [1, 4, 4, 3]);
  const cast = { from: elementTypes.uint8, to: elementTypes.float32 };
  return { graph, x: graph.op('CAST', [image], { shape: [1, 4, 4, 3] }, cast) };
}
async function values(graph: TfliteGraph, tensor: number): Promise<number[]> {
  graph.outputs.push(tensor);
  return Object.values(await runTflite(graph.encode(), ramp)).flatMap((one) => [...one]);
}

test('what is written is read back: ports, shapes, options, constants, metadata', () => {
  const { graph, x } = begin();
  const weights = Float32Array.from({ length: 12 }, (_, i) => i / 4);
  const kernel = graph.constant(weights, [4, 1, 1, 3], 'kernel');
  const bias = graph.constant(Float32Array.of(1, 2, 3, 4), [4]);
  const options = { padding: padding.valid, strideWidth: 2, strideHeight: 1, activation: 3 };
  graph.outputs.push(graph.op('CONV_2D', [x, kernel, bias], { shape: [1, 4, 2, 4], name: 'y' }, options));
  graph.metadata['labels'] = 'ä\nb';
  const file = graph.encode();
  assert.equal(Buffer.from(file.subarray(4, 8)).toString(), 'TFL3');

  const model = readTflite(file);
  const { tensors, operators, inputs, outputs, metadata } = model;
  assert.deepEqual(metadata, { labels: 'ä\nb' });
  assert.deepEqual(
    [...inputs, ...outputs].map((at) => tensors[at]),
    [
      { name: 'image', shape: [1, 4, 4, 3], type: 'uint8', data: new Uint8Array() },
      { name: 'y', shape: [1, 4, 2, 4], type: 'float32', data: new Uint8Array() },
    ],
  );
  assert.deepEqual(
    operators.map(({ op }) => op),
    ['CAST', 'CONV_2D'],
  );
  assert.deepEqual(operators[1]?.options, { ...options, dilationWidth: 1, dilationHeight: 1 });
  const tensor = tensors.find(({ name }) => name === 'kernel');
  assert.deepEqual(new Float32Array(Uint8Array.from(tensor?.data ?? []).buffer), weights);
  // Runtimes read weights in place, so they are aligned to 16 bytes.
  for (const { data } of tensors) if (data.byteLength > 0) assert.equal((data.byteOffset - file.byteOffset) % 16, 0);
});

test('a convolution over the border: TensorFlow adds the odd pixel at the end', async () => {
  const { graph, x } = begin();
  const one = Float32Array.from({ length: 27 }, (_, i) => (i % 3 === 0 ? 1 : 0));
  const inputs = [x, graph.constant(one, [1, 3, 3, 3]), graph.constant(Float32Array.of(0.5), [1])];
  const y = graph.op('CONV_2D', inputs, { shape: [1, 2, 2, 1] }, { strideWidth: 2, strideHeight: 2 });
  // Red values of the image are 0, 3, …, 45 row by row: sums of the windows at (0,0), (0,2), (2,0), (2,2).
  assert.deepEqual(await values(graph, y), [135.5, 117.5, 198.5, 150.5]);
});

test('depthwise: one filter per channel; relu6 cuts off', async () => {
  const { graph, x } = begin();
  const filter = Float32Array.from({ length: 27 }, (_, i) => (Math.floor(i / 3) === 4 ? (i % 3) / 20 : 0));
  const inputs = [x, graph.constant(filter, [1, 3, 3, 3]), graph.constant(Float32Array.of(-1, 0, 2), [3])];
  const options = { strideWidth: 1, strideHeight: 1, depthMultiplier: 1, activation: 3 };
  const found = await values(graph, graph.op('DEPTHWISE_CONV_2D', inputs, { shape: [1, 4, 4, 3] }, options));
  assert.deepEqual(found.slice(0, 3), [0, Math.fround(0.05), Math.fround(2.2)]);
  assert.deepEqual(found.slice(-3), [0, Math.fround(2.3), 6]);
});

test('pooling, a dense layer, softmax, logistic', async () => {
  const { graph, x } = begin();
  const axes = graph.constant(Int32Array.of(1, 2), [2]);
  const pooled = graph.op('MEAN', [x, axes], { shape: [1, 3] }, { keepDims: 0 });
  const w = graph.constant(Float32Array.of(1, -1, 0, 0, 1, -1), [2, 3]);
  const dense = graph.op('FULLY_CONNECTED', [pooled, w, graph.constant(Float32Array.of(1, 3), [2])], { shape: [1, 2] });
  graph.outputs.push(dense, graph.op('LOGISTIC', [dense], { shape: [1, 2], name: 'logistic' }));
  graph.outputs.push(graph.op('SOFTMAX', [dense], { shape: [1, 2], name: 'softmax' }, { beta: 2 }));
  const found = await runTflite(graph.encode(), ramp);
  assert.deepEqual([...(found[`fully_connected${dense}`] ?? [])], [0, 2]);
  const near = (a: Float32Array | undefined, b: readonly number[]): void =>
    b.forEach((value, i) => assert.ok(Math.abs((a?.[i] ?? 9) - value) < 1e-6, `${a?.join()} against ${b.join()}`));
  near(found['logistic'], [0.5, 1 / (1 + Math.exp(-2))]);
  near(found['softmax'], [1 / (1 + Math.exp(4)), 1 / (1 + Math.exp(-4))]);
});

test('int8: constants, computed tensors and their scales are written, read back and rounded', async () => {
  const { graph, x } = begin();
  const int8 = (shape: readonly number[], scale: number, zeroPoint: number) =>
    ({ type: 'int8', shape, quantization: { scales: Float32Array.of(scale), zeroPoints: [zeroPoint] } }) as const;
  const image = graph.op('QUANTIZE', [x], int8([1, 4, 4, 3], 2, -128));
  const scales = Float32Array.of(0.5, 0.25);
  const zeroPoints = [0, 0];
  const kernel = Int8Array.of(2, 0, 0, 0, -4, 0);
  const weights = graph.quantizedConstant(kernel, [2, 1, 1, 3], { scales, zeroPoints, dimension: 0 });
  const biasScales = Float32Array.of(1, 0.5);
  const bias = graph.quantizedConstant(Int32Array.of(10, 0), [2], { scales: biasScales, zeroPoints });
  const y = graph.op('CONV_2D', [image, weights, bias], int8([1, 4, 4, 2], 4, 0), { strideWidth: 1, strideHeight: 1 });
  // Red 0 and 3, green 1 and 4 of the first pixels become 0, 4, 0, 4 in steps of 2; red + 10 and −green in steps of 4.
  const found = await values(graph, graph.op('DEQUANTIZE', [y], { shape: [1, 4, 4, 2], name: 'y' }));
  assert.deepEqual(
    found.slice(0, 4).map((value) => value + 0),
    [8, 0, 16, -4],
  );
  const { tensors } = readTflite(graph.encode());
  assert.deepEqual(tensors[weights], {
    name: `c${weights}`,
    shape: [2, 1, 1, 3],
    type: 'int8',
    data: Uint8Array.from(kernel, (value) => value & 255),
    quantization: { scales: [...scales], zeroPoints, dimension: 0 },
  });
  assert.deepEqual(tensors[y]?.quantization, { scales: [4], zeroPoints: [0], dimension: 0 });
  assert.equal(tensors[x]?.quantization, undefined);
});
