import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';

const wire = { varint: 0, fixed64: 1, bytes: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const;
const fixedBytes = new Map([
  [ScalarType.DOUBLE, 8],
  [ScalarType.FIXED64, 8],
  [ScalarType.SFIXED64, 8],
  [ScalarType.FLOAT, 4],
  [ScalarType.FIXED32, 4],
  [ScalarType.SFIXED32, 4],
]);

type Fields = ReadonlyMap<number, DescField>;

/**
 * Counts the values of a protobuf message without allocating them. An empty value has two bytes on the wire; parsed, it
 * takes 100 times as much memory.
 */
export function valueCounter(): (desc: DescMessage, bytes: Uint8Array, most: number) => number {
  const fieldsOf = fieldCache();
  /** @param most - counting stops above it. @returns for a malformed message, the count before the error. */
  return (desc, bytes, most) => {
    const open: { fields: Fields | undefined; end: number }[] = [{ fields: fieldsOf(desc), end: bytes.length }];
    let at = 0;
    let count = 0;
    const varint = (): number => {
      let value = 0;
      for (let shift = 1; at < bytes.length; shift *= 128) {
        const byte = bytes[at++] ?? 0;
        value += (byte & 0x7f) * shift;
        if (byte < 0x80) return value;
      }
      return Number.POSITIVE_INFINITY;
    };
    while (open.length > 0) {
      const { fields, end } = open.at(-1) ?? { fields: undefined, end: 0 };
      if (at >= end) {
        open.pop();
        continue;
      }
      const tag = varint();
      const field = fields?.get(Math.floor(tag / 8));
      if (++count > most) return count;
      switch (tag % 8) {
        case wire.varint:
          varint();
          break;
        case wire.fixed64:
          at += 8;
          break;
        case wire.fixed32:
          at += 4;
          break;
        case wire.bytes: {
          const length = varint();
          if (at + length > end) return count;
          const inner = innerOf(field);
          if (inner) open.push({ fields: inner === 'entry' ? entryFields(field) : fieldsOf(inner), end: at + length });
          else {
            count += packedCount(field, length);
            if (count > most) return count;
            at += length;
          }
          break;
        }
        case wire.startGroup:
        case wire.endGroup:
          break;
        default:
          return count;
      }
    }
    return count;
  };
}

function fieldCache(): (desc: DescMessage) => Fields {
  const known = new Map<DescMessage, Fields>();
  return (desc) => {
    const found = known.get(desc) ?? new Map(desc.fields.map((field) => [field.number, field]));
    known.set(desc, found);
    return found;
  };
}

function innerOf(field: DescField | undefined): DescMessage | 'entry' | undefined {
  if (field?.fieldKind === 'map') return 'entry';
  return field?.message;
}

const noFields: Fields = new Map();
const entryValue = 2;

/** Counts key and value of a map entry, and the fields of a message value. */
const entryFields = (field: DescField | undefined): Fields =>
  field?.fieldKind === 'map' && field.mapKind === 'message'
    ? new Map([[entryValue, { fieldKind: 'message', message: field.message } as DescField]])
    : noFields;

/** A packed field holds all numbers of a list. */
function packedCount(field: DescField | undefined, length: number): number {
  if (field?.fieldKind !== 'list' || field.listKind === 'message') return 0;
  if (field.listKind === 'enum') return length;
  if (field.scalar === ScalarType.STRING || field.scalar === ScalarType.BYTES) return 0;
  return length / (fixedBytes.get(field.scalar) ?? 1);
}

const json = { quote: 0x22, comma: 0x2c, colon: 0x3a, backslash: 0x5c, array: 0x5b, object: 0x7b };

/** The same for JSON: each value except the first follows a comma, a colon or an opening bracket. */
export function countJsonValues(bytes: Uint8Array, most: number): number {
  let count = 1;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === json.quote) {
      at = endOfString(bytes, at);
    } else if (byte === json.comma || byte === json.colon || byte === json.array || byte === json.object) {
      if (++count > most) return count;
    }
  }
  return count;
}

function endOfString(bytes: Uint8Array, start: number): number {
  for (let end = bytes.indexOf(json.quote, start + 1); end >= 0; end = bytes.indexOf(json.quote, end + 1)) {
    let slashes = 0;
    while (bytes[end - 1 - slashes] === json.backslash) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return bytes.length;
}
