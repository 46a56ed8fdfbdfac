/** Reads the two files of a TensorFlow.js graph model: nodes with their attributes, and constants. */
import { halfToFloat } from './half.ts';

export interface GraphConstant {
  shape: readonly number[];
  values: Float32Array;
}
export interface GraphNode {
  name: string;
  op: string;
  inputs: readonly string[];
  stride: number;
  /** Set for a fused convolution. */
  relu: boolean;
  halfPixels: boolean;
}
export interface GraphFile {
  nodes: ReadonlyMap<string, GraphNode>;
  constants: ReadonlyMap<string, GraphConstant>;
}

interface RawAttribute {
  s?: string;
  b?: boolean;
  list?: { i?: string[]; s?: string[] };
}
interface RawModel {
  modelTopology: { node: { name: string; op: string; input?: string[]; attr?: Record<string, RawAttribute> }[] };
  weightsManifest: { weights: { name: string; shape: number[]; dtype: string; quantization?: { dtype: string } }[] }[];
}
const bytesOf: Readonly<Record<string, number>> = { float16: 2, float32: 4, int32: 4 };

function valuesOf(stored: string, bytes: Uint8Array): Float32Array {
  const { buffer } = Uint8Array.from(bytes);
  if (stored === 'float16') return halfToFloat(new Uint16Array(buffer));
  return stored === 'int32' ? Float32Array.from(new Int32Array(buffer)) : new Float32Array(buffer);
}

/** Requires that the caller has verified the hashes of both files: it does no other checks. */
export function readGraphFile(json: Uint8Array, weights: Uint8Array): GraphFile {
  const raw = JSON.parse(Buffer.from(json).toString()) as RawModel;
  const constants = new Map<string, GraphConstant>();
  let offset = 0;
  for (const { name, shape, dtype, quantization } of raw.weightsManifest.flatMap((group) => group.weights)) {
    const stored = quantization?.dtype ?? dtype;
    const size = shape.reduce((a, b) => a * b, bytesOf[stored] ?? Number.NaN);
    constants.set(name, { shape, values: valuesOf(stored, weights.subarray(offset, offset + size)) });
    offset += size;
  }
  const text = (base64: string): string => Buffer.from(base64, 'base64').toString();
  const nodes = raw.modelTopology.node.map(({ name, op, input = [], attr = {} }): [string, GraphNode] => [
    name,
    {
      name,
      op,
      inputs: input,
      stride: Number(attr['strides']?.list?.i?.[1] ?? 1),
      relu: (attr['fused_ops']?.list?.s ?? []).map(text).includes('Relu'),
      halfPixels: attr['half_pixel_centers']?.b ?? false,
    },
  ]);
  return { nodes: new Map(nodes), constants };
}
