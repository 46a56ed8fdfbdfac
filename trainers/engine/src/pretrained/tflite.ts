/**
 * Reads operators and weights of a .tflite file (a flatbuffer) without generated code. Shapes as TFLite has them:
 * activations NHWC, weights OHWI, depthwise weights 1HWC. Weights in half precision appear behind a DEQUANTIZE.
 */
class FlatBuffer {
  readonly #view: DataView;
  readonly #bytes: Uint8Array;
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
  root(): number {
    return this.#view.getUint32(0, true);
  }
  /** Position of field `index` of the table, 0 when absent. */
  field(table: number, index: number): number {
    const vtable = table - this.#view.getInt32(table, true);
    const slot = 4 + 2 * index;
    if (slot >= this.#view.getUint16(vtable, true)) return 0;
    const offset = this.#view.getUint16(vtable + slot, true);
    return offset === 0 ? 0 : table + offset;
  }
  follow(position: number): number {
    return position + this.#view.getUint32(position, true);
  }
  vector(table: number, index: number): { length: number; start: number } {
    const field = this.field(table, index);
    if (field === 0) return { length: 0, start: 0 };
    const vector = this.follow(field);
    return { length: this.#view.getUint32(vector, true), start: vector + 4 };
  }
  tables(table: number, index: number): number[] {
    const { length, start } = this.vector(table, index);
    return Array.from({ length }, (_, i) => this.follow(start + 4 * i));
  }
  ints(table: number, index: number): number[] {
    const { length, start } = this.vector(table, index);
    return Array.from({ length }, (_, i) => this.#view.getInt32(start + 4 * i, true));
  }
  bytes(table: number, index: number): Uint8Array {
    const { length, start } = this.vector(table, index);
    return this.#bytes.subarray(start, start + length);
  }
  text(table: number, index: number): string {
    return Buffer.from(this.bytes(table, index)).toString();
  }
  int8(table: number, index: number): number {
    const field = this.field(table, index);
    return field === 0 ? 0 : this.#view.getInt8(field);
  }
  int32(table: number, index: number): number {
    const field = this.field(table, index);
    return field === 0 ? 0 : this.#view.getInt32(field, true);
  }
}

const operatorNames: Readonly<Record<number, string>> = {
  0: 'ADD',
  3: 'CONV_2D',
  4: 'DEPTHWISE_CONV_2D',
  6: 'DEQUANTIZE',
};

export interface TfliteTensor {
  name: string;
  shape: number[];
  /** 0: float32, 1: float16. */
  type: number;
  data: Uint8Array;
}
export interface TfliteOperator {
  op: string;
  inputs: number[];
  outputs: number[];
  same: boolean;
  stride: number;
  relu6: boolean;
}
export interface TfliteModel {
  tensors: TfliteTensor[];
  operators: TfliteOperator[];
  inputs: number[];
}

/** Operators other than additions and convolutions keep their inputs and outputs alone. */
export function readTflite(file: Uint8Array): TfliteModel {
  const fb = new FlatBuffer(file);
  const model = fb.root();
  // Old files have the code of an operator in the 8-bit field alone.
  const codes = fb.tables(model, 1).map((table) => Math.max(fb.int8(table, 0), fb.int32(table, 3)));
  const buffers = fb.tables(model, 4).map((table) => fb.bytes(table, 0));
  const [subgraph] = fb.tables(model, 2);
  if (subgraph === undefined) throw new Error('the tflite file has no graph');
  const tensors = fb.tables(subgraph, 0).map((table) => ({
    name: fb.text(table, 3),
    shape: fb.ints(table, 0),
    type: fb.int8(table, 1),
    data: buffers[fb.int32(table, 2)] ?? new Uint8Array(),
  }));
  const operators = fb.tables(subgraph, 3).map((table): TfliteOperator => {
    const code = codes[fb.int32(table, 0)] ?? -1;
    const op = operatorNames[code] ?? `OPERATOR_${code}`;
    const found = { op, inputs: fb.ints(table, 1), outputs: fb.ints(table, 2), same: true, stride: 1, relu6: false };
    const at = fb.field(table, 4);
    if (at === 0 || !['CONV_2D', 'DEPTHWISE_CONV_2D'].includes(op)) return found;
    const options = fb.follow(at);
    const same = fb.int8(options, 0) === 0;
    const activation = fb.int8(options, op === 'CONV_2D' ? 3 : 4);
    return { ...found, same, stride: fb.int32(options, 1), relu6: activation === 3 };
  });
  return { tensors, operators, inputs: fb.ints(subgraph, 1) };
}
