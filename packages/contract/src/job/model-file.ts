// What an ONNX file says of itself. ONNX Runtime exposes neither its metadata nor, before it is loaded, its inputs.
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

// Field numbers of onnx.proto.
const metadataProps = 14;
const key = 1;
const value = 2;
const graph = 7;
const graphInput = 11;
const inputName = 1;
/** From an input to its dimensions: type, tensor type, shape. */
const toShape = [2, 1, 2];
const dimension = 1;
const dimensionValue = 1;

/** `metadata_props` of an ONNX file. @throws Error when the bytes are not a protobuf message. */
export function readModelMetadata(onnx: Uint8Array): Readonly<Record<string, string>> {
  return readOnnx(() => {
    const entries = [...fieldsOf(onnx, metadataProps)].map((entry) => [textOf(entry, key), textOf(entry, value)]);
    return Object.fromEntries(entries.map(([name = '', text = '']) => [name, text]));
  });
}

/** Dimensions of the input `name`; undefined: there is none, or one of its dimensions is not fixed. */
export function readInputShape(onnx: Uint8Array, name: string): readonly number[] | undefined {
  return readOnnx(() => {
    const [body = new Uint8Array()] = fieldsOf(onnx, graph);
    const input = [...fieldsOf(body, graphInput)].find((one) => textOf(one, inputName) === name);
    if (!input) return undefined;
    const shape = toShape.reduce<Uint8Array | undefined>((at, field) => at && [...fieldsOf(at, field)][0], input);
    const dims = shape && [...fieldsOf(shape, dimension)].map((one) => numberOf(one, dimensionValue));
    return dims?.every((one) => one !== undefined) ? dims : undefined;
  });
}

function readOnnx<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new Error(`it is not an ONNX file (${text})`, { cause: error });
  }
}

function* fieldsOf(bytes: Uint8Array, wanted: number): Generator<Uint8Array> {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === wanted && type === WireType.LengthDelimited) yield reader.bytes();
    else reader.skip(type, field);
  }
}

const textOf = (entry: Uint8Array, field: number): string | undefined => {
  const [bytes] = fieldsOf(entry, field);
  return bytes && new TextDecoder('utf-8', { fatal: true }).decode(bytes);
};

function numberOf(entry: Uint8Array, wanted: number): number | undefined {
  const reader = new BinaryReader(entry);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === wanted && type === WireType.Varint) return Number(reader.int64());
    reader.skip(type, field);
  }
  return undefined;
}
