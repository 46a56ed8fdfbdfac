/** A trained classifier as data, and its exports: the ONNX and the TensorFlow Lite file contain the same network. */
import { emitOnnx } from '@platform/trainer-engine/network/onnx';
import { emitTflite } from '@platform/trainer-engine/network/tflite';
import type { TensorRef } from '@platform/trainer-engine/network/tflite';
import { FLOAT, Graph, UINT8 } from '@platform/trainer-engine/onnx/graph';
import type { Backbone } from '@platform/trainer-engine/pretrained/efficientnet';
import { elementTypes } from '@platform/trainer-engine/tflite/schema';
import { TfliteGraph } from '@platform/trainer-engine/tflite/writer';
import { toNchw } from './network.ts';
import type { OutputKind, Weights } from './network.ts';

export interface Classifier {
  /** Contains the trained weights. */
  backbone: Backbone;
  /** Width and height of the input in pixels. */
  side: number;
  head: { /** [K,features] */ weights: Float32Array; /** [K] */ bias: Float32Array };
  output: OutputKind;
  /** Text by name: labels (one per line), task, thresholds … */
  metadata: Readonly<Record<string, string>>;
}

/** @param weights - by the parameter names of the training graph; missing ones keep their pretrained values. */
export function classifierOf(
  backbone: Backbone,
  weights: Weights,
  rest: Pick<Classifier, 'side' | 'output' | 'metadata'>,
): Classifier {
  let number = 0;
  const layers = backbone.layers.map((layer) => {
    if (layer.is !== 'conv') return layer;
    const trained = { weights: weights.get(`w${number}`), bias: weights.get(`b${number}`) };
    number++;
    return { ...layer, weights: trained.weights ?? layer.weights, bias: trained.bias ?? layer.bias };
  });
  const head = { weights: weights.get('W') ?? new Float32Array(), bias: weights.get('B') ?? new Float32Array() };
  return { ...rest, backbone: { ...backbone, layers }, head };
}

/** Input: image [1,S,S,3] uint8 RGB. Output: probability [1,K]. The graph contains the normalization. */
export function exportOnnx({ backbone, side, head, output, metadata }: Classifier): Buffer {
  const graph = new Graph();
  const classes = head.bias.length;
  graph.inputs.push({ name: 'image', type: UINT8, dims: [1, side, side, 3] });
  const values = new Map([[0, toNchw(graph, graph.op('Cast', ['image'], { to: FLOAT }))]]);
  emitOnnx(graph, backbone.layers, values);
  const last = values.get(backbone.layers.length) ?? '';
  const pooled = graph.op('ReduceMean', [last], { axes: [2, 3], keepdims: 0 });
  const w = graph.constant(head.weights, [classes, backbone.features]);
  const logits = graph.op('Gemm', [pooled, w, graph.constant(head.bias, [classes])], { transB: 1 });
  if (output === 'softmax') graph.op('Softmax', [logits], { axis: 1 }, 'probability');
  else graph.op('Sigmoid', [logits], {}, 'probability');
  graph.outputs.push({ name: 'probability', type: FLOAT, dims: [1, classes] });
  Object.assign(graph.metadata, metadata);
  return graph.encode();
}

/** The same network with the same inputs and outputs. */
export function exportTflite({ backbone, side, head, output, metadata }: Classifier): Uint8Array {
  const graph = new TfliteGraph();
  const classes = head.bias.length;
  const shape = [1, side, side, 3] as const;
  const image = graph.input('image', 'uint8', shape);
  const types = { from: elementTypes.uint8, to: elementTypes.float32 };
  const values = new Map<number, TensorRef>([[0, { tensor: graph.op('CAST', [image], { shape }, types), shape }]]);
  emitTflite(graph, backbone.layers, values);
  const last = values.get(backbone.layers.length);
  if (!last) throw new Error('the network has no layers');
  const axes = graph.constant(Int32Array.of(1, 2), [2]);
  const pooled = graph.op('MEAN', [last.tensor, axes], { shape: [1, backbone.features] }, { keepDims: 0 });
  const w = graph.constant(head.weights, [classes, backbone.features]);
  const b = graph.constant(head.bias, [classes]);
  const logits = graph.op('FULLY_CONNECTED', [pooled, w, b], { shape: [1, classes] });
  const result = { shape: [1, classes], name: 'probability' };
  graph.outputs.push(
    output === 'softmax' ? graph.op('SOFTMAX', [logits], result, { beta: 1 }) : graph.op('LOGISTIC', [logits], result),
  );
  Object.assign(graph.metadata, metadata);
  return graph.encode();
}
