/**
 * Reads operators and weights of a .tflite file (a flatbuffer) without generated code. Shapes are as in TFLite:
 * activations NHWC, weights OHWI, depthwise weights 1HWC. Half-precision weights appear behind a DEQUANTIZE.
 */
import { elementTypes, operators, slots } from './schema.ts';
import type { ElementType, OperatorName, OptionField } from './schema.ts';

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
  /** Position of field `index` of the table, 0 if absent. */
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
  floats(table: number, index: number): number[] {
    const { length, start } = this.vector(table, index);
    return Array.from({ length }, (_, i) => this.#view.getFloat32(start + 4 * i, true));
  }
  longs(table: number, index: number): number[] {
    const { length, start } = this.vector(table, index);
    return Array.from({ length }, (_, i) => Number(this.#view.getBigInt64(start + 8 * i, true)));
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
  option(table: number, { slot, kind, absent = 0 }: OptionField): number {
    const field = this.field(table, slot);
    if (field === 0) return absent;
    if (kind === 'float') return this.#view.getFloat32(field, true);
    return kind === 'int' ? this.#view.getInt32(field, true) : this.#view.getUint8(field);
  }
}

export interface TfliteTensor {
  name: string;
  shape: number[];
  type: ElementType | 'other';
  /** Empty for a computed tensor. */
  data: Uint8Array;
  /** Undefined: the numbers stand for themselves. */
  quantization?: StoredQuantization;
}
/** real = (stored − zero point) · scale. With several scales, each is that of a slice along `dimension`. */
export interface StoredQuantization {
  scales: readonly number[];
  zeroPoints: readonly number[];
  dimension: number;
}
export interface TfliteOperator {
  /** `OPERATOR_<code>` if this engine does not write it. */
  op: OperatorName | `OPERATOR_${number}`;
  inputs: number[];
  outputs: number[];
  /** Options by name, see `operators` of the schema. */
  options: Record<string, number>;
}
export interface TfliteModel {
  tensors: TfliteTensor[];
  operators: TfliteOperator[];
  inputs: number[];
  outputs: number[];
  metadata: Record<string, string>;
}

const layouts = Object.entries(operators).map(([name, layout]) => ({ name: name as OperatorName, ...layout }));
const byCode = new Map<number, (typeof layouts)[number]>(layouts.map((layout) => [layout.code, layout]));
const types = new Map<number, ElementType>(
  Object.entries(elementTypes).map(([name, number]) => [number, name as ElementType]),
);

function quantizationIn(fb: FlatBuffer, tensor: number): Pick<TfliteTensor, 'quantization'> {
  const field = fb.field(tensor, slots.tensor.quantization);
  if (field === 0) return {};
  const at = slots.quantization;
  const table = fb.follow(field);
  const scales = fb.floats(table, at.scale);
  if (scales.length === 0) return {};
  const dimension = fb.int32(table, at.dimension);
  return { quantization: { scales, zeroPoints: fb.longs(table, at.zeroPoint), dimension } };
}

export function readTflite(file: Uint8Array): TfliteModel {
  const fb = new FlatBuffer(file);
  const model = fb.root();
  const at = slots.model;
  // Old files store the code of an operator in the 8-bit field only.
  const codes = fb
    .tables(model, at.operatorCodes)
    .map((table) => Math.max(fb.int8(table, slots.operatorCode.oldCode), fb.int32(table, slots.operatorCode.code)));
  const buffers = fb.tables(model, at.buffers).map((table) => fb.bytes(table, slots.buffer.bytes));
  const [graph] = fb.tables(model, at.graphs);
  if (graph === undefined) throw new Error('the tflite file has no graph');
  const tensors = fb.tables(graph, slots.graph.tensors).map((table) => ({
    name: fb.text(table, slots.tensor.name),
    shape: fb.ints(table, slots.tensor.shape),
    type: types.get(fb.int8(table, slots.tensor.type)) ?? ('other' as const),
    data: buffers[fb.int32(table, slots.tensor.buffer)] ?? new Uint8Array(),
    ...quantizationIn(fb, table),
  }));
  const found = fb.tables(graph, slots.graph.operators).map((table): TfliteOperator => {
    const code = codes[fb.int32(table, slots.operator.opcode)] ?? -1;
    const layout = byCode.get(code);
    const options: Record<string, number> = {};
    const field = fb.field(table, slots.operator.options);
    if (layout && field !== 0) {
      const position = fb.follow(field);
      const fields: Readonly<Record<string, OptionField>> = layout.fields;
      for (const [key, one] of Object.entries(fields)) options[key] = fb.option(position, one);
    }
    return {
      op: layout?.name ?? `OPERATOR_${code}`,
      inputs: fb.ints(table, slots.operator.inputs),
      outputs: fb.ints(table, slots.operator.outputs),
      options,
    };
  });
  const metadata = fb.tables(model, at.metadata).map((table) => {
    const bytes = buffers[fb.int32(table, slots.metadata.buffer)] ?? new Uint8Array();
    return [fb.text(table, slots.metadata.name), Buffer.from(bytes).toString()] as const;
  });
  return {
    tensors,
    operators: found,
    inputs: fb.ints(graph, slots.graph.inputs),
    outputs: fb.ints(graph, slots.graph.outputs),
    metadata: Object.fromEntries(metadata),
  };
}
