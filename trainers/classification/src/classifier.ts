/** A trained classifier as data, and its exports: the ONNX and the TensorFlow Lite file contain the same network. */
import { needed } from '@platform/trainer-engine/network/layers';
import { emitInt8Onnx } from '@platform/trainer-engine/int8/onnx';
import { emitInt8Tflite } from '@platform/trainer-engine/int8/tflite';
import type { Int8Plan } from '@platform/trainer-engine/int8/plan';
import { emitOnnx } from '@platform/trainer-engine/network/onnx';
import { emitTflite } from '@platform/trainer-engine/network/tflite';
import type { TensorRef } from '@platform/trainer-engine/network/tflite';
import { FLOAT, Graph, UINT8 } from '@platform/trainer-engine/onnx/graph';
import type { Backbone } from '@platform/trainer-engine/pretrained/efficientnet';
import { bothNames, shifted } from '@platform/trainer-engine/pretrained/side-by-side';
import { elementTypes } from '@platform/trainer-engine/tflite/schema';
import { TfliteGraph } from '@platform/trainer-engine/tflite/writer';
import { headOf } from './head.ts';
import type { Head, OutputKind, Weights } from './head.ts';
import { toNchw } from './network.ts';
import { emitUnlikeOnnx, emitUnlikeTflite } from './unlike-output.ts';
import type { UnlikeReference } from './unlike.ts';

export interface Classifier {
  /** Contains the trained weights. */
  backbone: Backbone;
  head: Head;
  /** Width and height of the input in pixels. */
  side: number;
  classes: number;
  output: OutputKind;
  /** Text by name: labels (one per line), task, thresholds … */
  metadata: Readonly<Record<string, string>>;
  /** For the second output `unlike`; undefined: the files have `probability` alone. */
  unlike: UnlikeReference | undefined;
  /** Values of the last layers, which stay float32 in INT8 files. */
  lastValues: ReadonlySet<number>;
}

/** @param weights - by the parameter names of the training graph; missing ones keep their pretrained values. */
export function classifierOf(
  backbone: Backbone,
  weights: Weights,
  rest: Pick<Classifier, 'side' | 'output' | 'metadata' | 'unlike'>,
): Classifier {
  let number = 0;
  const layers = backbone.layers.map((layer) => {
    if (layer.is !== 'conv') return layer;
    const trained = { weights: weights.get(`w${number}`), bias: weights.get(`b${number}`) };
    number++;
    return { ...layer, weights: trained.weights ?? layer.weights, bias: trained.bias ?? layer.bias };
  });
  const trained = { ...backbone, layers };
  const classes = weights.get('B')?.length ?? 0;
  const head = headOf(trained, rest.output, { side: rest.side, classes }, weights);
  const lastValues = new Set(head.layers.map(({ output }) => output));
  return { ...rest, backbone: trained, head, classes, lastValues };
}

/** One classifier out of two with the same input: its logits are the mean of theirs, divided by the temperature. */
export function meanOf(first: Classifier, second: Classifier, temperature: number): Classifier {
  const own = [...first.backbone.layers, ...first.head.layers];
  const by = own.length;
  const layers = [...own, ...[...second.backbone.layers, ...second.head.layers].map((layer) => shifted(layer, by))];
  const [sum, logits] = [layers.length + 1, layers.length + 2];
  const head: Head = {
    layers: [
      { is: 'add', inputs: [first.head.logits, second.head.logits + by], output: sum },
      { is: 'scale', input: sum, output: logits, factor: 0.5 / temperature },
    ],
    features: first.head.features,
    logits,
    parameters: [],
  };
  const lastValues = new Set([...first.lastValues, ...[...second.lastValues].map((value) => value + by), sum, logits]);
  const backbone = { ...first.backbone, ...bothNames(first.backbone, second.backbone), layers };
  return { ...first, backbone, head, lastValues };
}

/** The layers of the files: those that their outputs depend on. */
export const layersOf = ({ backbone, head, unlike }: Pick<Classifier, 'backbone' | 'head' | 'unlike'>) => {
  const [feature] = head.features;
  return needed([...backbone.layers, ...head.layers], [head.logits, ...(unlike && feature ? [feature.value] : [])]);
};

/**
 * Input: image [1,S,S,3] uint8 RGB. Output: probability [1,K], then unlike [1,1] if the classifier has its reference. The
 * graph contains the normalization.
 *
 * @param int8 - computes with int8 what the plan names; default: with float32.
 */
export function exportOnnx(
  { backbone, head, side, classes, output, metadata, unlike }: Classifier,
  int8?: Int8Plan,
): Buffer {
  const graph = new Graph();
  graph.inputs.push({ name: 'image', type: UINT8, dims: [1, side, side, 3] });
  const values = new Map([[0, toNchw(graph, graph.op('Cast', ['image'], { to: FLOAT }))]]);
  const layers = layersOf({ backbone, head, unlike });
  if (int8) emitInt8Onnx(graph, layers, values, int8);
  else emitOnnx(graph, layers, values);
  const logits = graph.op('Reshape', [values.get(head.logits) ?? '', graph.ints([1, classes])]);
  if (output === 'softmax') graph.op('Softmax', [logits], { axis: 1 }, 'probability');
  else graph.op('Sigmoid', [logits], {}, 'probability');
  // Clients that read outputs by position read `probability` first.
  graph.outputs.push({ name: 'probability', type: FLOAT, dims: [1, classes] });
  if (unlike) {
    const name = emitUnlikeOnnx(graph, values.get(head.features[0]?.value ?? -1) ?? '', unlike);
    graph.outputs.push({ name, type: FLOAT, dims: [1, 1] });
  }
  Object.assign(graph.metadata, metadata);
  return graph.encode();
}

/** The same network with the same inputs and outputs. @param int8 - as for ONNX. */
export function exportTflite(
  { backbone, head, side, classes, output, metadata, unlike }: Classifier,
  int8?: Int8Plan,
): Uint8Array {
  const graph = new TfliteGraph();
  const shape = [1, side, side, 3] as const;
  const image = graph.input('image', 'uint8', shape);
  const types = { from: elementTypes.uint8, to: elementTypes.float32 };
  const values = new Map<number, TensorRef>([[0, { tensor: graph.op('CAST', [image], { shape }, types), shape }]]);
  const layers = layersOf({ backbone, head, unlike });
  if (int8) emitInt8Tflite(graph, layers, values, int8);
  else emitTflite(graph, layers, values);
  const last = values.get(head.logits);
  if (!last) throw new Error('the network has no logits');
  const result = { shape: [1, classes], name: 'probability' };
  const logits = graph.op('RESHAPE', [last.tensor, graph.constant(Int32Array.of(1, classes), [2])], {
    shape: [1, classes],
  });
  graph.outputs.push(
    output === 'softmax' ? graph.op('SOFTMAX', [logits], result, { beta: 1 }) : graph.op('LOGISTIC', [logits], result),
  );
  if (unlike) {
    const feature = values.get(head.features[0]?.value ?? -1);
    if (!feature) throw new Error('the network has no features');
    graph.outputs.push(emitUnlikeTflite(graph, feature, unlike));
  }
  Object.assign(graph.metadata, metadata);
  return graph.encode();
}
