/**
 * The pretrained network: MobileNetV2 1.0 as the feature extractor of an SSD detector, trained on Open Images V4, from
 * the npm package @mediapipe/objectron (Apache-2.0). Only the weights are read; no code of the package is run.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { halfToFloat, permute4 } from './half.ts';
import { readTflite } from '../tflite/reader.ts';
import type { TfliteModel } from '../tflite/reader.ts';
import { activations, padding } from '../tflite/schema.ts';

const packageName = '@mediapipe/objectron';
const assetFile = 'objectron_solution_packed_assets.data';
/** The label map comes first in the asset file. */
const modelStart = 184;
const expectedSha256 = 'd0a5255bf8c4f5a0bc4240741a76c41d5e939f7655078f945f50ab53a9375da6';
const lastLayer = 'MobilenetV2/Conv_1/Conv2D';

interface Edge {
  /** Numbers of values; 0 is the picture, scaled to −1..1. */
  output: number;
}
export interface ConvLayer extends Edge {
  is: 'conv';
  input: number;
  depthwise: boolean;
  stride: 1 | 2;
  relu6: boolean;
  /** [O,I,k,k]; depthwise [C,1,k,k]. */
  dims: readonly [number, number, number, number];
  weights: Float32Array;
  bias: Float32Array;
}
export interface AddLayer extends Edge {
  is: 'add';
  inputs: readonly [number, number];
}
export interface Backbone {
  name: string;
  sha256: string;
  /** In order; the last one's output has `features` channels. */
  layers: readonly (ConvLayer | AddLayer)[];
  features: number;
}

/** The package's weights are not those this trainer was made for: nothing is trained with unknown weights. */
export class WeightsError extends Error {
  override readonly name = 'WeightsError';
}

function weightsOf(model: TfliteModel): (tensor: number) => { values: Float32Array; shape: readonly number[] } {
  const packed = new Map(
    model.operators.filter(({ op }) => op === 'DEQUANTIZE').map((one) => [one.outputs[0], one.inputs[0]]),
  );
  return (index) => {
    const tensor = model.tensors[packed.get(index) ?? index];
    if (!tensor) throw new WeightsError(`tensor ${index} is missing`);
    const bytes = Uint8Array.from(tensor.data).buffer;
    const values = tensor.type === 'float16' ? halfToFloat(new Uint16Array(bytes)) : new Float32Array(bytes);
    return { values, shape: tensor.shape };
  };
}

function required(value: number | undefined): number {
  if (value === undefined) throw new WeightsError('an operator lacks an input or output');
  return value;
}

/** @param path - asset file; default: that of the installed package. Throws WeightsError when its hash is another. */
export function readMobilenet(path?: string): Backbone {
  const from = path ?? createRequire(import.meta.url).resolve(`${packageName}/${assetFile}`);
  const file = readFileSync(from).subarray(modelStart);
  const sha256 = createHash('sha256').update(file).digest('hex');
  if (sha256 !== expectedSha256) {
    throw new WeightsError(
      `The pretrained weights in ${from} have sha256 ${sha256}, expected ${expectedSha256}. Install the dependencies anew.`,
    );
  }
  const model = readTflite(Uint8Array.from(file));
  const weights = weightsOf(model);
  const values = new Map([[required(model.inputs[0]), 0]]);
  const layers: (ConvLayer | AddLayer)[] = [];
  for (const { op, inputs, outputs, options } of model.operators) {
    const input = values.get(required(inputs[0]));
    if (input === undefined) continue;
    const target = required(outputs[0]);
    const name = model.tensors[target]?.name ?? '';
    const output = layers.length + 1;
    if (op === 'ADD') {
      const other = values.get(required(inputs[1]));
      if (other === undefined) continue;
      layers.push({ is: 'add', inputs: [input, other], output });
    } else if (op === 'CONV_2D' || op === 'DEPTHWISE_CONV_2D') {
      if (name.endsWith('biases1')) continue; // side branches of the detector
      const stride = options['strideWidth'];
      const relu6 = options['activation'] === activations.relu6;
      if (options['padding'] !== padding.same || (stride !== 1 && stride !== 2))
        throw new WeightsError(`${name} has an unexpected padding or stride`);
      const depthwise = op === 'DEPTHWISE_CONV_2D';
      const { values: raw, shape } = weights(required(inputs[1]));
      const [a, h, w, c] = [required(shape[0]), required(shape[1]), required(shape[2]), required(shape[3])];
      const bias = weights(required(inputs[2])).values;
      const dims = depthwise ? ([c, 1, h, w] as const) : ([a, c, h, w] as const);
      const order = depthwise ? ([3, 0, 1, 2] as const) : ([0, 3, 1, 2] as const);
      const ordered = permute4(raw, [a, h, w, c], order);
      layers.push({ is: 'conv', input, output, depthwise, stride, relu6, dims, weights: ordered, bias });
    } else continue;
    values.set(target, output);
    if (name.endsWith(lastLayer)) return { name: 'MobileNetV2 1.0, Open Images V4', sha256, layers, features: 1280 };
  }
  throw new WeightsError(`layer ${lastLayer} is missing`);
}
