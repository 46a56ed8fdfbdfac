/** Builds a TensorFlow Lite graph operator by operator and encodes it as a .tflite file (schema version 3). */
// Decision 0157.
import { Builder } from 'flatbuffers';
import { elementTypes, int8Versions, operators, slots } from './schema.ts';
import type { ElementType, OperatorName, OptionField, Options } from './schema.ts';

export type ConstantData = Float32Array | Int32Array | Uint8Array | Int8Array;

/** real = (stored − zero point) · scale. With several scales, each is that of a slice along `dimension`. */
export interface TensorQuantization {
  scales: Float32Array;
  zeroPoints: readonly number[];
  dimension?: number;
}
interface Tensor {
  name: string;
  type: ElementType;
  shape: readonly number[];
  /** Content of a constant. */
  data?: ConstantData;
  quantization?: TensorQuantization | undefined;
}
interface Operator {
  name: OperatorName;
  inputs: readonly number[];
  outputs: readonly number[];
  options: Readonly<Record<string, number>>;
}
export interface Result {
  type?: ElementType;
  shape: readonly number[];
  name?: string;
  quantization?: TensorQuantization;
}

/** Runtimes map the file into memory and read weights in place: each starts at a multiple of this. */
const alignment = 16;
function elementType(data: ConstantData): ElementType {
  if (data instanceof Float32Array) return 'float32';
  if (data instanceof Int32Array) return 'int32';
  return data instanceof Int8Array ? 'int8' : 'uint8';
}

/** Tensors are numbered in the order of their creation; operators run in the order they are added. */
export class TfliteGraph {
  readonly inputs: number[] = [];
  readonly outputs: number[] = [];
  readonly metadata: Record<string, string> = {};
  readonly #tensors: Tensor[] = [];
  readonly #operators: Operator[] = [];

  #add(tensor: Tensor): number {
    return this.#tensors.push(tensor) - 1;
  }
  input(name: string, type: ElementType, shape: readonly number[]): number {
    const tensor = this.#add({ name, type, shape });
    this.inputs.push(tensor);
    return tensor;
  }
  constant(data: ConstantData, shape: readonly number[], name = `c${this.#tensors.length}`): number {
    return this.#add({ name, type: elementType(data), shape, data });
  }
  /** A constant of int8 or int32 that stands for real numbers. */
  quantizedConstant(data: Int8Array | Int32Array, shape: readonly number[], quantization: TensorQuantization): number {
    return this.#add({ name: `c${this.#tensors.length}`, type: elementType(data), shape, data, quantization });
  }
  /** Adds an operator with one result. @returns the result's number. */
  op<O extends OperatorName>(name: O, inputs: readonly number[], result: Result, options: Options<O> = {}): number {
    return this.ops(name, inputs, [result], options)[0] ?? 0;
  }
  /** Adds an operator with several results. */
  ops<O extends OperatorName>(
    name: O,
    inputs: readonly number[],
    results: readonly Result[],
    options: Options<O> = {},
  ): number[] {
    const outputs = results.map(({ type = 'float32', shape, name: given, quantization }) =>
      this.#add({ name: given ?? `${name.toLowerCase()}${this.#tensors.length}`, type, shape, quantization }),
    );
    this.#operators.push({ name, inputs, outputs, options: { ...options } as Record<string, number> });
    return outputs;
  }

  #versionOf({ name, inputs }: Operator): number {
    const isInt8 = inputs.some((input) => this.#tensors[input]?.type === 'int8');
    return (isInt8 ? int8Versions[name] : undefined) ?? operators[name].version;
  }

  encode(): Uint8Array {
    const tables = new Tables();
    const buffers = new Buffers(tables);
    const { graph, model, metadata, signature, signaturePort } = slots;
    const tensors = this.#tensors.map((tensor) => encodeTensor(tables, tensor, buffers));
    const versions = this.#operators.map((one) => this.#versionOf(one));
    const keys = this.#operators.map(({ name }, i) => `${name} ${versions[i]}`);
    const used = [...new Set(keys)];
    const codes = used.map((key) => keys.indexOf(key));
    const encoded = this.#operators.map((one, i) => encodeOperator(tables, one, used.indexOf(keys[i] ?? '')));
    const entries = Object.entries(this.metadata).map(([key, value]) => {
      const at = buffers.add(Buffer.from(value));
      return tables.table(metadata.size, { [metadata.name]: tables.text(key), [metadata.buffer]: { int: at } });
    });
    const ports = (numbers: readonly number[]): { offset: number } =>
      tables.vector(
        numbers.map((at) =>
          tables.table(signaturePort.size, {
            [signaturePort.name]: tables.text(this.#tensors[at]?.name ?? ''),
            [signaturePort.tensor]: { int: at },
          }),
        ),
      );
    const served = tables.table(signature.size, {
      [signature.inputs]: ports(this.inputs),
      [signature.outputs]: ports(this.outputs),
      [signature.key]: tables.text('serving_default'),
    });
    const main = tables.table(graph.size, {
      [graph.tensors]: tables.vector(tensors),
      [graph.inputs]: tables.ints(this.inputs),
      [graph.outputs]: tables.ints(this.outputs),
      [graph.operators]: tables.vector(encoded),
      [graph.name]: tables.text('main'),
    });
    const root = tables.table(model.size, {
      [model.version]: { int: 3 },
      [model.operatorCodes]: tables.vector(
        codes.map((at) => encodeOperatorCode(tables, this.#operators[at]?.name ?? 'ADD', versions[at] ?? 1)),
      ),
      [model.graphs]: tables.vector([main]),
      [model.description]: tables.text('platform'),
      [model.buffers]: tables.vector(buffers.done()),
      [model.metadata]: tables.vector(entries),
      [model.signatures]: tables.vector([served]),
    });
    return tables.finish(root);
  }
}

type Field = { offset: number } | { byte: number } | { int: number } | { float: number };

/** Writes flatbuffer tables; a table's references must be written first. */
class Tables {
  readonly #builder = new Builder(1 << 16);
  readonly #blobs: { offset: number; bytes: Uint8Array }[] = [];

  text(value: string): { offset: number } {
    return { offset: this.#builder.createString(value) };
  }
  ints(values: readonly number[]): { offset: number } {
    this.#builder.startVector(4, values.length, 4);
    for (const value of values.toReversed()) this.#builder.addInt32(value);
    return { offset: this.#builder.endVector() };
  }
  longs(values: readonly number[]): { offset: number } {
    this.#builder.startVector(8, values.length, 8);
    for (const value of values.toReversed()) this.#builder.addInt64(BigInt(value));
    return { offset: this.#builder.endVector() };
  }
  floats(values: Float32Array): { offset: number } {
    this.#builder.startVector(4, values.length, 4);
    for (const value of values.toReversed()) this.#builder.addFloat32(value);
    return { offset: this.#builder.endVector() };
  }
  vector(tables: readonly number[]): { offset: number } {
    this.#builder.startVector(4, tables.length, 4);
    for (const table of tables.toReversed()) this.#builder.addOffset(table);
    return { offset: this.#builder.endVector() };
  }
  /** Reserves the space and copies the bytes at the end: value by value would take seconds for millions of weights. */
  bytes(bytes: Uint8Array): { offset: number } {
    this.#builder.startVector(1, bytes.byteLength, alignment);
    this.#builder.pad(bytes.byteLength);
    const offset = this.#builder.endVector();
    this.#blobs.push({ offset, bytes });
    return { offset };
  }
  table(size: number, fields: Readonly<Record<number, Field>>): number {
    this.#builder.startObject(size);
    for (const [key, field] of Object.entries(fields)) {
      const slot = Number(key);
      if ('offset' in field) this.#builder.addFieldOffset(slot, field.offset, 0);
      else if ('byte' in field) this.#builder.addFieldInt8(slot, field.byte, 0);
      else if ('int' in field) this.#builder.addFieldInt32(slot, field.int, null);
      else this.#builder.addFieldFloat32(slot, field.float, null);
    }
    return this.#builder.endObject();
  }
  finish(root: number): Uint8Array {
    this.#builder.finish(root, 'TFL3');
    const file = this.#builder.asUint8Array();
    for (const { offset, bytes } of this.#blobs) file.set(bytes, file.byteLength - offset + 4);
    return file;
  }
}

/** Contents of constants and metadata, by index. */
class Buffers {
  readonly #tables: Tables;
  readonly #written: number[];
  constructor(tables: Tables) {
    this.#tables = tables;
    // Buffer 0 is empty by convention, for computed tensors.
    this.#written = [tables.table(slots.buffer.size, {})];
  }
  add(bytes: Uint8Array): number {
    const { size, bytes: slot } = slots.buffer;
    return this.#written.push(this.#tables.table(size, { [slot]: this.#tables.bytes(bytes) })) - 1;
  }
  done(): readonly number[] {
    return this.#written;
  }
}

function encodeTensor(tables: Tables, { name, type, shape, data, quantization }: Tensor, buffers: Buffers): number {
  const { tensor } = slots;
  const buffer = data === undefined ? 0 : buffers.add(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  return tables.table(tensor.size, {
    [tensor.shape]: tables.ints(shape),
    [tensor.type]: { byte: elementTypes[type] },
    [tensor.buffer]: { int: buffer },
    [tensor.name]: tables.text(name),
    ...(quantization && { [tensor.quantization]: { offset: encodeQuantization(tables, quantization) } }),
  });
}

function encodeQuantization(tables: Tables, { scales, zeroPoints, dimension = 0 }: TensorQuantization): number {
  const { quantization } = slots;
  return tables.table(quantization.size, {
    [quantization.scale]: tables.floats(scales),
    [quantization.zeroPoint]: tables.longs(zeroPoints),
    [quantization.dimension]: { int: dimension },
  });
}

function encodeOperatorCode(tables: Tables, name: OperatorName, version: number): number {
  const { operatorCode } = slots;
  const { code } = operators[name];
  return tables.table(operatorCode.size, {
    // Runtimes before 2.4 read the 8-bit field only.
    [operatorCode.oldCode]: { byte: Math.min(code, 127) },
    [operatorCode.version]: { int: version },
    [operatorCode.code]: { int: code },
  });
}

function encodeOperator(tables: Tables, { name, inputs, outputs, options }: Operator, opcode: number): number {
  const { operator } = slots;
  const layout: { table: number; fields: Readonly<Record<string, OptionField>> } = operators[name];
  const fields: Record<number, Field> = {};
  for (const [key, { slot, kind, absent }] of Object.entries(layout.fields)) {
    const value = options[key] ?? absent ?? 0;
    fields[slot] = kind === 'float' ? { float: value } : kind === 'int' ? { int: value } : { byte: value };
  }
  const size = Math.max(0, ...Object.keys(fields).map(Number)) + 1;
  return tables.table(operator.size, {
    [operator.opcode]: { int: opcode },
    [operator.inputs]: tables.ints(inputs),
    [operator.outputs]: tables.ints(outputs),
    ...(layout.table === 0
      ? {}
      : {
          [operator.optionsType]: { byte: layout.table },
          [operator.options]: { offset: tables.table(size, fields) },
        }),
  });
}
