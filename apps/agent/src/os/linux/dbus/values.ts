// Values of D-Bus and their bytes: https://dbus.freedesktop.org/doc/dbus-specification.html#message-protocol-marshaling

/** A value with its type. Properties and settings are dictionaries of them. */
export class Variant {
  readonly signature: string;
  readonly value: DBusValue;
  constructor(signature: string, value: DBusValue) {
    this.signature = signature;
    this.value = value;
  }
}

/** 64-bit numbers are bigint, `ay` is Uint8Array, structures are arrays, dictionaries are maps. */
export type DBusValue =
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | Variant
  | readonly DBusValue[]
  | ReadonlyMap<DBusKey, DBusValue>;
type DBusKey = boolean | number | bigint | string;

/** Deeper values are refused, as by the reference implementation. */
const mostDepth = 64;
const longestArray = 64 << 20;

const alignments: Readonly<Record<string, number>> = {
  y: 1,
  g: 1,
  v: 1,
  n: 2,
  q: 2,
  b: 4,
  i: 4,
  u: 4,
  h: 4,
  s: 4,
  o: 4,
  a: 4,
  x: 8,
  t: 8,
  d: 8,
  '(': 8,
  '{': 8,
};

function alignmentOf(type: string): number {
  const found = alignments[type[0] ?? ''];
  if (found === undefined) throw new RangeError(`"${type}" is not a type of D-Bus`);
  return found;
}

/** Splits a signature into its complete types. */
function typesOf(signature: string): string[] {
  const types: string[] = [];
  for (let at = 0; at < signature.length;) {
    const end = endOfType(signature, at, 0);
    types.push(signature.slice(at, end));
    at = end;
  }
  return types;
}

function endOfType(signature: string, at: number, depth: number): number {
  const type = signature[at];
  if (depth > mostDepth || type === undefined) throw new RangeError(`"${signature}" is not a signature of D-Bus`);
  if (type === 'a') return endOfType(signature, at + 1, depth + 1);
  if (type !== '(' && type !== '{') {
    alignmentOf(type);
    return at + 1;
  }
  const close = type === '(' ? ')' : '}';
  let next = at + 1;
  while (signature[next] !== close) next = endOfType(signature, next, depth + 1);
  return next + 1;
}

const text = new TextDecoder();

/** Reads values from one message. Throws a RangeError where the bytes do not fit the signature. */
export class ValueReader {
  readonly #view: DataView;
  readonly #bytes: Uint8Array;
  readonly #isLittle: boolean;
  #at: number;

  /** `bytes` starts where the message starts: alignment counts from there. */
  constructor(bytes: Uint8Array, at: number, isLittle: boolean) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#at = at;
    this.#isLittle = isLittle;
  }

  values(signature: string): DBusValue[] {
    return typesOf(signature).map((type) => this.#value(type, 0));
  }

  #take(bytes: number): number {
    const at = this.#at;
    if (at + bytes > this.#bytes.length) throw new RangeError('a message of D-Bus is shorter than its values');
    this.#at += bytes;
    return at;
  }

  #align(to: number): void {
    this.#at = Math.ceil(this.#at / to) * to;
  }

  #value(type: string, depth: number): DBusValue {
    if (depth > mostDepth) throw new RangeError('a value of D-Bus is nested too deeply');
    this.#align(alignmentOf(type));
    const [view, isLittle] = [this.#view, this.#isLittle];
    switch (type[0]) {
      case 'y':
        return view.getUint8(this.#take(1));
      case 'b':
        return view.getUint32(this.#take(4), isLittle) !== 0;
      case 'n':
        return view.getInt16(this.#take(2), isLittle);
      case 'q':
        return view.getUint16(this.#take(2), isLittle);
      case 'i':
        return view.getInt32(this.#take(4), isLittle);
      case 'u':
      case 'h':
        return view.getUint32(this.#take(4), isLittle);
      case 'x':
        return view.getBigInt64(this.#take(8), isLittle);
      case 't':
        return view.getBigUint64(this.#take(8), isLittle);
      case 'd':
        return view.getFloat64(this.#take(8), isLittle);
      case 's':
      case 'o':
        return this.#text(view.getUint32(this.#take(4), isLittle));
      case 'g':
        return this.#text(view.getUint8(this.#take(1)));
      case 'v':
        return this.#variant(depth);
      case '(':
        return typesOf(type.slice(1, -1)).map((inner) => this.#value(inner, depth + 1));
      default:
        return this.#array(type.slice(1), depth);
    }
  }

  #text(length: number): string {
    const at = this.#take(length + 1);
    return text.decode(this.#bytes.subarray(at, at + length));
  }

  #variant(depth: number): Variant {
    const signature = this.#text(this.#view.getUint8(this.#take(1)));
    const [type, ...more] = typesOf(signature);
    if (type === undefined || more.length > 0) throw new RangeError(`a variant of D-Bus has the type "${signature}"`);
    return new Variant(type, this.#value(type, depth + 1));
  }

  #array(type: string, depth: number): DBusValue {
    const length = this.#view.getUint32(this.#take(4), this.#isLittle);
    if (length > longestArray) throw new RangeError('an array of D-Bus is too long');
    this.#align(alignmentOf(type));
    if (type === 'y') {
      const at = this.#take(length);
      return new Uint8Array(this.#bytes.subarray(at, at + length)); // a copy: the message must not stay in memory
    }
    const end = this.#at + length;
    const items: DBusValue[] = [];
    const entries = new Map<DBusKey, DBusValue>();
    const [key = '', value = ''] = type[0] === '{' ? typesOf(type.slice(1, -1)) : [];
    while (this.#at < end) {
      if (key === '') items.push(this.#value(type, depth + 1));
      else {
        this.#align(8);
        const name = this.#value(key, depth + 1) as DBusKey;
        entries.set(name, this.#value(value, depth + 1));
      }
    }
    return key === '' ? items : entries;
  }
}

/** Writes a number of a fixed size. */
const fixed: Readonly<Record<string, { size: number; write: (into: DataView, at: number, value: number) => void }>> = {
  y: { size: 1, write: (into, at, value) => into.setUint8(at, value) },
  b: { size: 4, write: (into, at, value) => into.setUint32(at, value, true) },
  n: { size: 2, write: (into, at, value) => into.setInt16(at, value, true) },
  q: { size: 2, write: (into, at, value) => into.setUint16(at, value, true) },
  i: { size: 4, write: (into, at, value) => into.setInt32(at, value, true) },
  u: { size: 4, write: (into, at, value) => into.setUint32(at, value, true) },
  d: { size: 8, write: (into, at, value) => into.setFloat64(at, value, true) },
};

/** Writes values, little-endian. Throws a TypeError for a value that does not fit its type. */
export class ValueWriter {
  #bytes = Buffer.alloc(256);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  align(to: number): void {
    this.#grow(Math.ceil(this.#length / to) * to - this.#length);
  }

  values(signature: string, values: readonly DBusValue[]): void {
    const types = typesOf(signature);
    if (types.length !== values.length) throw new TypeError(`${values.length} values for the signature "${signature}"`);
    for (const [n, value] of values.entries()) this.#value(types[n] ?? '', value);
  }

  /** @returns where the new bytes begin; they are zero. */
  #grow(bytes: number): number {
    const at = this.#length;
    this.#length += bytes;
    if (this.#length > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(this.#length, this.#bytes.length * 2));
      this.#bytes.copy(larger);
      this.#bytes = larger;
    }
    return at;
  }

  #number(type: string, value: number): void {
    const { size, write } = fixed[type] ?? { size: 0, write: () => {} };
    const at = this.#grow(size);
    write(new DataView(this.#bytes.buffer, this.#bytes.byteOffset), at, value);
  }

  #text(lengthBytes: 'u' | 'y', value: string): void {
    const bytes = Buffer.from(value);
    if (bytes.includes(0)) throw new TypeError('a text of D-Bus must not contain NUL');
    if (lengthBytes === 'y' && bytes.length > 255) throw new TypeError('a signature of D-Bus is too long');
    this.#number(lengthBytes, bytes.length);
    const at = this.#grow(bytes.length + 1);
    bytes.copy(this.#bytes, at);
  }

  #value(type: string, value: DBusValue): void {
    this.align(alignmentOf(type));
    const kind = type[0] ?? '';
    if (kind === 'b' && typeof value === 'boolean') return this.#number('b', value ? 1 : 0);
    if (kind in fixed && kind !== 'b' && typeof value === 'number') return this.#number(kind, value);
    if ((kind === 'x' || kind === 't') && typeof value === 'bigint') {
      const at = this.#grow(8);
      this.#bytes.writeBigUInt64LE(BigInt.asUintN(64, value), at);
      return;
    }
    if ((kind === 's' || kind === 'o') && typeof value === 'string') return this.#text('u', value);
    if (kind === 'g' && typeof value === 'string') return this.#text('y', value);
    if (kind === 'v' && value instanceof Variant) {
      this.#text('y', value.signature);
      return this.#value(value.signature, value.value);
    }
    if (kind === '(' && isList(value)) return this.values(type.slice(1, -1), value);
    if (kind === 'a') return this.#array(type.slice(1), value);
    throw new TypeError(`a value does not fit the type "${type}" of D-Bus`);
  }

  #array(type: string, value: DBusValue): void {
    this.#number('u', 0);
    const lengthAt = this.#length - 4;
    this.align(alignmentOf(type));
    const start = this.#length;
    if (type === 'y' && value instanceof Uint8Array) {
      const at = this.#grow(value.length);
      this.#bytes.set(value, at);
    } else if (type[0] === '{' && value instanceof Map) {
      const [keyType = '', valueType = ''] = typesOf(type.slice(1, -1));
      for (const [key, item] of value as ReadonlyMap<DBusKey, DBusValue>) {
        this.align(8);
        this.#value(keyType, key);
        this.#value(valueType, item);
      }
    } else if (isList(value)) {
      for (const item of value) this.#value(type, item);
    } else {
      throw new TypeError(`a value does not fit the type "a${type}" of D-Bus`);
    }
    this.#bytes.writeUInt32LE(this.#length - start, lengthAt);
  }
}

const isList = (value: DBusValue): value is readonly DBusValue[] => Array.isArray(value);
