import { errorText } from '@platform/kit';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

// Field numbers of onnx.proto. ONNX Runtime Web does not expose metadata.
const metadataProps = 14;
const key = 1;
const value = 2;

/** `metadata_props` of an ONNX file. @throws Error when the bytes are not a protobuf message. */
export function readModelMetadata(onnx: Uint8Array): Readonly<Record<string, string>> {
  try {
    const entries = [...readFields(onnx, metadataProps)].map((entry) => [readText(entry, key), readText(entry, value)]);
    return Object.fromEntries(entries.map(([name = '', text = '']) => [name, text]));
  } catch (error) {
    throw new Error(`it is not an ONNX file (${errorText(error)})`, { cause: error });
  }
}

function* readFields(bytes: Uint8Array, wanted: number): Generator<Uint8Array> {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === wanted && type === WireType.LengthDelimited) yield reader.bytes();
    else reader.skip(type, field);
  }
}

const readText = (entry: Uint8Array, field: number): string | undefined => {
  const [bytes] = readFields(entry, field);
  return bytes && new TextDecoder().decode(bytes);
};
