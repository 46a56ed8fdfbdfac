/** Builds an ONNX graph node by node and encodes it as a model file (opset 13, IR 8: runtimes since 1.9 read it). */
// Decision 0157.

export type TensorData = Float32Array | Uint8Array | Int8Array | Int32Array | BigInt64Array;
/** Numbers of onnx.proto3's TensorProto.DataType. */
export type DataType = 1 | 2 | 3 | 6 | 7;
export const FLOAT: DataType = 1;
export const UINT8: DataType = 2;
const INT8: DataType = 3;
const INT32: DataType = 6;
const INT64: DataType = 7;

/** A plain number is encoded as INT, number[] as INTS; a float needs the object form. */
export type Attribute = number | string | readonly number[] | { float: number };
export type Attributes = Readonly<Record<string, Attribute>>;

export interface Port {
  name: string;
  type: DataType;
  /** Absent: unknown. ONNX Runtime warns about each output shape that it cannot infer. */
  dims?: readonly number[];
}
interface Constant {
  name: string;
  dims: readonly number[];
  data: TensorData;
}
interface GraphNode {
  op: string;
  inputs: readonly string[];
  outputs: readonly string[];
  attributes: Attributes;
}

function dataType(data: TensorData): DataType {
  if (data instanceof Float32Array) return FLOAT;
  if (data instanceof Uint8Array) return UINT8;
  if (data instanceof Int8Array) return INT8;
  return data instanceof Int32Array ? INT32 : INT64;
}

function encodeConstant({ name, dims, data }: Constant): Buffer {
  const out = new ProtoWriter();
  for (const dim of dims) out.int(1, dim);
  const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return out.int(2, dataType(data)).bytes(8, name).bytes(9, raw).done();
}
function encodeAttribute(name: string, value: Attribute): Buffer {
  const out = new ProtoWriter().bytes(1, name);
  if (typeof value === 'number') return out.int(3, value).int(20, 2).done();
  if (typeof value === 'string') return out.bytes(4, value).int(20, 3).done();
  if ('float' in value) return out.float(2, value.float).int(20, 1).done();
  for (const one of value) out.int(8, one);
  return out.int(20, 7).done();
}
function encodeNode({ op, inputs, outputs, attributes }: GraphNode, name: string): Buffer {
  const out = new ProtoWriter();
  for (const input of inputs) out.bytes(1, input);
  for (const output of outputs) out.bytes(2, output);
  out.bytes(3, name).bytes(4, op);
  for (const [key, value] of Object.entries(attributes)) out.bytes(5, encodeAttribute(key, value));
  return out.done();
}
function encodePort({ name, type, dims }: Port): Buffer {
  const tensor = new ProtoWriter().int(1, type);
  if (dims) {
    const shape = new ProtoWriter();
    for (const dim of dims) shape.bytes(1, new ProtoWriter().int(1, dim).done());
    tensor.bytes(2, shape.done());
  }
  const wrapped = new ProtoWriter().bytes(1, tensor.done()).done();
  return new ProtoWriter().bytes(1, name).bytes(2, wrapped).done();
}

/** Nodes are added in topological order: every input exists before the node that reads it. */
export class Graph {
  readonly inputs: Port[] = [];
  readonly outputs: Port[] = [];
  readonly metadata: Record<string, string> = {};
  #nodes: GraphNode[] = [];
  readonly #constants = new Map<string, Constant>();
  readonly #names = new Map<TensorData, string>();
  #made = 0;

  /** Adds a constant and returns its name. Deduplicates identical arrays. */
  constant(data: TensorData, dims: readonly number[]): string {
    const before = this.#names.get(data);
    if (before !== undefined && this.#constants.get(before)?.dims.join() === dims.join()) return before;
    const name = `c${this.#made++}`;
    this.#constants.set(name, { name, dims, data });
    this.#names.set(data, name);
    return name;
  }
  scalar(value: number): string {
    return this.constant(Float32Array.of(value), []);
  }
  ints(values: readonly number[]): string {
    return this.constant(BigInt64Array.from(values, BigInt), [values.length]);
  }
  /** Adds a node and returns the name of its output. */
  op(
    op: string,
    inputs: readonly string[],
    attributes: Attributes = {},
    output = `${op.toLowerCase()}${this.#made++}`,
  ): string {
    this.#nodes.push({ op, inputs, outputs: [output], attributes });
    return output;
  }
  /** The `count` largest values of a list in descending order, and their indices (int64). */
  topK(x: string, count: number): { values: string; indices: string } {
    const [values, indices] = [`topk${this.#made++}`, `topk${this.#made++}`];
    this.#nodes.push({
      op: 'TopK',
      inputs: [x, this.ints([count])],
      outputs: [values, indices],
      attributes: { axis: 0 },
    });
    return { values, indices };
  }
  /** Removes nodes that the declared outputs do not need, and encodes the graph. */
  encode(): Buffer {
    const needed = new Set(this.outputs.map(({ name }) => name));
    for (const node of this.#nodes.toReversed()) {
      if (node.outputs.some((one) => needed.has(one))) for (const input of node.inputs) needed.add(input);
    }
    const graph = new ProtoWriter();
    for (const [at, node] of this.#nodes.entries()) {
      if (node.outputs.some((one) => needed.has(one))) graph.bytes(1, encodeNode(node, `n${at}`));
    }
    graph.bytes(2, 'graph');
    for (const one of this.#constants.values()) if (needed.has(one.name)) graph.bytes(5, encodeConstant(one));
    for (const port of this.inputs) graph.bytes(11, encodePort(port));
    for (const port of this.outputs) graph.bytes(12, encodePort(port));
    const opset = new ProtoWriter().bytes(1, '').int(2, 13).done();
    const model = new ProtoWriter().int(1, 8).bytes(2, 'platform').bytes(7, graph.done()).bytes(8, opset);
    for (const [key, value] of Object.entries(this.metadata)) {
      model.bytes(14, new ProtoWriter().bytes(1, key).bytes(2, value).done());
    }
    return model.done();
  }
}

/** Encodes the part of the protobuf wire format that an ONNX file needs. */
class ProtoWriter {
  readonly #parts: Uint8Array[] = [];

  varint(value: number | bigint): this {
    const bytes: number[] = [];
    let rest = BigInt.asUintN(64, BigInt(value));
    do {
      const low = Number(rest & 0x7fn);
      rest >>= 7n;
      bytes.push(rest === 0n ? low : low | 0x80);
    } while (rest !== 0n);
    this.#parts.push(Uint8Array.from(bytes));
    return this;
  }
  int(field: number, value: number | bigint): this {
    return this.varint(field << 3).varint(value);
  }
  float(field: number, value: number): this {
    this.varint((field << 3) | 5);
    this.#parts.push(new Uint8Array(Float32Array.of(value).buffer));
    return this;
  }
  /** Copies the bytes only in `done`. */
  bytes(field: number, value: Uint8Array | string): this {
    const raw = typeof value === 'string' ? Buffer.from(value) : value;
    this.varint((field << 3) | 2).varint(raw.byteLength);
    this.#parts.push(raw);
    return this;
  }
  done(): Buffer {
    return Buffer.concat(this.#parts);
  }
}
