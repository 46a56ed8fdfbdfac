/** A trained classifier as data, and the files made of it: what the one holds, the other holds, too. */
import { Tape } from '@platform/trainer-engine/autodiff/tape';
import { FLOAT, UINT8 } from '@platform/trainer-engine/onnx/graph';
import { permute4 } from '@platform/trainer-engine/pretrained/half';
import type { Backbone, ConvLayer } from '@platform/trainer-engine/pretrained/mobilenet';
import { activations, elementTypes, padding } from '@platform/trainer-engine/tflite/schema';
import { TfliteGraph } from '@platform/trainer-engine/tflite/writer';
import { features, inputOffset, inputScale, normalised } from './network.ts';
import type { OutputKind, Weights } from './network.ts';

export interface Classifier {
  /** With the trained weights in place. */
  backbone: Backbone;
  /** Pixels of both edges. */
  side: number;
  head: { /** [K,features] */ weights: Float32Array; /** [K] */ bias: Float32Array };
  output: OutputKind;
  /** Text by name: labels (one per line), task, thresholds … */
  metadata: Readonly<Record<string, string>>;
}

/** @param weights - by the names that training gave them; what is missing there keeps its pretrained values. */
export function classifierOf(
  backbone: Backbone,
  weights: Weights,
  rest: Pick<Classifier, 'side' | 'output' | 'metadata'>,
): Classifier {
  let number = 0;
  const layers = backbone.layers.map((layer) => {
    if (layer.is === 'add') return layer;
    const trained = { weights: weights.get(`w${number}`), bias: weights.get(`b${number}`) };
    number++;
    return { ...layer, weights: trained.weights ?? layer.weights, bias: trained.bias ?? layer.bias };
  });
  const head = { weights: weights.get('W') ?? new Float32Array(), bias: weights.get('B') ?? new Float32Array() };
  return { ...rest, backbone: { ...backbone, layers }, head };
}

/** In: image [1,S,S,3] uint8 RGB. Out: probability [1,K]. Scaling of values is inside. */
export function onnxOf({ backbone, side, head, output, metadata }: Classifier): Buffer {
  const tape = new Tape();
  const { graph } = tape;
  const classes = head.bias.length;
  graph.inputs.push({ name: 'image', type: UINT8, dims: [1, side, side, 3] });
  const float = graph.op('Cast', ['image'], { to: FLOAT });
  const image = { name: normalised(graph, float), shape: [1, 3, side, side], trained: false };
  const pooled = features({ tape, backbone, image, freezeUntil: Infinity });
  const w = tape.frozen(head.weights, [classes, backbone.features]);
  const b = tape.frozen(head.bias, [classes]);
  const logits = tape.dense(pooled, w, b).name;
  if (output === 'softmax') graph.op('Softmax', [logits], { axis: 1 }, 'probability');
  else graph.op('Sigmoid', [logits], {}, 'probability');
  graph.outputs.push({ name: 'probability', type: FLOAT, dims: [1, classes] });
  Object.assign(graph.metadata, metadata);
  return graph.encode();
}

/** The same network with the same ports. */
export function tfliteOf({ backbone, side, head, output, metadata }: Classifier): Uint8Array {
  const graph = new TfliteGraph();
  const classes = head.bias.length;
  const shape = [1, side, side, 3];
  const image = graph.input('image', 'uint8', shape);
  const types = { from: elementTypes.uint8, to: elementTypes.float32 };
  const float = graph.op('CAST', [image], { shape }, types);
  const scaled = graph.op('MUL', [float, graph.constant(Float32Array.of(inputScale), [])], { shape });
  const values = [graph.op('ADD', [scaled, graph.constant(Float32Array.of(inputOffset), [])], { shape })];
  const sizes: [height: number, width: number, channels: number][] = [[side, side, 3]];
  for (const layer of backbone.layers) {
    const from = layer.is === 'add' ? layer.inputs[0] : layer.input;
    const [height, width, channels] = sizes[from] ?? [0, 0, 0];
    const x = values[from] ?? 0;
    if (layer.is === 'add') {
      sizes[layer.output] = [height, width, channels];
      values[layer.output] = graph.op('ADD', [x, values[layer.inputs[1]] ?? 0], {
        shape: [1, height, width, channels],
      });
      continue;
    }
    const size: [number, number, number] = [
      Math.ceil(height / layer.stride),
      Math.ceil(width / layer.stride),
      layer.bias.length,
    ];
    sizes[layer.output] = size;
    values[layer.output] = convolution(graph, layer, x, [1, ...size]);
  }
  const [height, width, channels] = sizes.at(-1) ?? [0, 0, 0];
  const last = values.at(-1) ?? 0;
  if (height * width === 0) throw new Error('the network has no layers');
  const axes = graph.constant(Int32Array.of(1, 2), [2]);
  const pooled = graph.op('MEAN', [last, axes], { shape: [1, channels] }, { keepDims: 0 });
  const w = graph.constant(head.weights, [classes, channels]);
  const b = graph.constant(head.bias, [classes]);
  const logits = graph.op('FULLY_CONNECTED', [pooled, w, b], { shape: [1, classes] });
  const result = { shape: [1, classes], name: 'probability' };
  graph.outputs.push(
    output === 'softmax' ? graph.op('SOFTMAX', [logits], result, { beta: 1 }) : graph.op('LOGISTIC', [logits], result),
  );
  Object.assign(graph.metadata, metadata);
  return graph.encode();
}

/** TensorFlow Lite pads as the pretrained network was trained: the odd pixel at the end. */
function convolution(graph: TfliteGraph, layer: ConvLayer, x: number, shape: readonly number[]): number {
  const { dims, weights, bias, stride, relu6, depthwise } = layer;
  const [o, c, h, w] = dims;
  const kernel = depthwise
    ? graph.constant(permute4(weights, dims, [1, 2, 3, 0]), [c, h, w, o])
    : graph.constant(permute4(weights, dims, [0, 2, 3, 1]), [o, h, w, c]);
  const inputs = [x, kernel, graph.constant(bias, [o])];
  const common = {
    padding: padding.same,
    strideWidth: stride,
    strideHeight: stride,
    activation: relu6 ? activations.relu6 : activations.none,
  };
  if (depthwise) return graph.op('DEPTHWISE_CONV_2D', inputs, { shape }, { ...common, depthMultiplier: 1 });
  return graph.op('CONV_2D', inputs, { shape }, common);
}
