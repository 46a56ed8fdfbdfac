/** Folds batch normalization into the convolutions of a trained network. */
import type { Tensor } from './tensor-file.ts';

/** TensorFlow's default epsilon, which the network was trained with. */
const epsilon = 1e-3;

/**
 * Weights and biases of all convolutions in the order of the file, in half precision: weights [O,I,k,k], then O biases.
 * Each convolution must be followed by its normalization (weight, bias, running mean, running variance); throws
 * otherwise.
 */
export function foldedHalves(tensors: ReadonlyMap<string, Tensor>): Uint8Array {
  const all = [...tensors];
  const parts: Float32Array[] = [];
  for (const [i, [name, { shape, values }]] of all.entries()) {
    if (shape.length !== 4) continue;
    const channels = shape[0] ?? 0;
    const [gain, shift, mean, variance] = all.slice(i + 1, i + 5).map(([, tensor]) => tensor.values);
    if (!gain || !shift || !mean || !variance || [gain, shift, mean, variance].some((one) => one.length !== channels)) {
      throw new Error(`${name} is not followed by its normalisation`);
    }
    const factors = Float64Array.from(gain, (one, c) => one / Math.sqrt((variance[c] ?? 0) + epsilon));
    const perChannel = values.length / channels;
    parts.push(values.map((one, at) => one * (factors[Math.floor(at / perChannel)] ?? 0)));
    parts.push(shift.map((one, c) => one - (mean[c] ?? 0) * (factors[c] ?? 0)));
  }
  const halves = new Float16Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    halves.set(part, at);
    at += part.length;
  }
  return new Uint8Array(halves.buffer);
}
