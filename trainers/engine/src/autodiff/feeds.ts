/** Inputs and results of a training graph in ONNX Runtime. */
import type { Feed, FloatFeed } from '../runtime.ts';
import type { Tape } from './tape.ts';

/** @param weights - a missing one has the value of its parameter. */
export const parameterFeeds = (
  { parameters }: Pick<Tape, 'parameters'>,
  weights?: ReadonlyMap<string, Float32Array>,
): Record<string, Feed> =>
  Object.fromEntries(
    [...parameters].map(([name, { values, shape }]) => [name, { data: weights?.get(name) ?? values, dims: shape }]),
  );

/** Buffers for the gradients of a step, reused by all steps. */
export const gradientBuffers = ({ parameters }: Pick<Tape, 'parameters'>): Record<string, FloatFeed> =>
  Object.fromEntries(
    [...parameters].map(([name, { values, shape }]) => [
      `d_${name}`,
      { data: new Float32Array(values.length), dims: shape },
    ]),
  );
