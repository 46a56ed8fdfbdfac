/** The layers of the score "unlike anything seen", for both model files. */
import type { Graph } from '@platform/trainer-engine/onnx/graph';
import { activations, padding } from '@platform/trainer-engine/tflite/schema';
import type { TensorRef } from '@platform/trainer-engine/network/tflite';
import type { TfliteGraph } from '@platform/trainer-engine/tflite/writer';
import { unlikeOutput } from '@platform/contract/job/model-output';
import { leastSquare } from './unlike.ts';
import type { UnlikeReference } from './unlike.ts';

interface Constants {
  channels: number;
  classes: number;
  /** −mean × factor */
  offset: Float32Array;
  /** [classes, channels] */
  directions: Float32Array;
}
function constantsOf({ mean, factor, directions }: UnlikeReference): Constants {
  const [channels, classes] = [mean.length, directions.length];
  const rows = new Float32Array(classes * channels);
  for (const [k, row] of directions.entries()) rows.set(row, k * channels);
  return { channels, classes, offset: mean.map((value, c) => -value * (factor[c] ?? 0)), directions: rows };
}

/** @param feature - [1,C,1,1] */
export function emitUnlikeOnnx(g: Graph, feature: string, reference: UnlikeReference): string {
  const { channels, classes, offset, directions } = constantsOf(reference);
  const perChannel = [1, channels, 1, 1];
  const scaled = g.op('Mul', [feature, g.constant(reference.factor, perChannel)]);
  const standardized = g.op('Add', [scaled, g.constant(offset, perChannel)]);
  const square = g.op('ReduceSumSquare', [standardized], { axes: [1], keepdims: 1 });
  const length = g.op('Sqrt', [g.op('Add', [square, g.scalar(leastSquare)])]);
  const inputs = [g.op('Div', [standardized, length]), g.constant(directions, [classes, channels, 1, 1])];
  const cosines = g.op('Conv', inputs, { kernel_shape: [1, 1] });
  const best = g.op('Reshape', [g.op('ReduceMax', [cosines], { axes: [1], keepdims: 1 }), g.ints([1, 1])]);
  return g.op('Sub', [g.scalar(1), best], {}, unlikeOutput);
}

/** The length by logarithm and power: without operators that other parts of the files do not use. */
export function emitUnlikeTflite(g: TfliteGraph, { tensor, shape }: TensorRef, reference: UnlikeReference): number {
  const { channels, classes, offset, directions } = constantsOf(reference);
  const scalar = (value: number): number => g.constant(Float32Array.of(value), []);
  const perChannel = [1, 1, 1, channels];
  const scaled = g.op('MUL', [tensor, g.constant(reference.factor, perChannel)], { shape });
  const standardized = g.op('ADD', [scaled, g.constant(offset, perChannel)], { shape });
  const convolve = (input: number, outputs: number, weights: Float32Array, bias: Float32Array): number => {
    const options = { padding: padding.same, strideWidth: 1, strideHeight: 1, activation: activations.none };
    const kernel = g.constant(weights, [outputs, 1, 1, channels]);
    return g.op('CONV_2D', [input, kernel, g.constant(bias, [outputs])], { shape: [1, 1, 1, outputs] }, options);
  };
  const one = { shape: [1, 1, 1, 1] };
  const squares = g.op('MUL', [standardized, standardized], { shape });
  const square = convolve(squares, 1, new Float32Array(channels).fill(1), Float32Array.of(leastSquare));
  const inverse = g.op('EXP', [g.op('MUL', [g.op('LOG', [square], one), scalar(-0.5)], one)], one);
  const normalized = g.op('MUL', [standardized, inverse], { shape });
  const cosines = convolve(normalized, classes, directions, new Float32Array(classes));
  const row = g.op('RESHAPE', [cosines, g.constant(Int32Array.of(1, classes), [2])], { shape: [1, classes] });
  const pair = { shape: [1, 1] };
  const best = g.op('REDUCE_MAX', [row, g.constant(Int32Array.of(1), [1])], pair, { keepDims: 1 });
  return g.op('ADD', [g.op('MUL', [best, scalar(-1)], pair), scalar(1)], { ...pair, name: unlikeOutput });
}
