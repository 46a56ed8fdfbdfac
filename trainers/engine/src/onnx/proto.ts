/** Encodes the part of the protobuf wire format that an ONNX file needs. */
export class ProtoWriter {
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
