const empty = new Uint8Array(0);
const firstBytes = 16 * 2 ** 10;

/** Collects chunks into one block: a list of one-byte chunks would take 100 times their memory. */
export class ByteCollector {
  #bytes: Uint8Array = empty;
  #size = 0;

  get size(): number {
    return this.#size;
  }
  append(piece: Uint8Array): void {
    if (this.#size === 0) {
      this.#bytes = piece;
      this.#size = piece.length;
      return;
    }
    const size = this.#size + piece.length;
    if (size > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(size, 2 * this.#size, firstBytes));
      grown.set(this.#bytes.subarray(0, this.#size));
      this.#bytes = grown;
    }
    this.#bytes.set(piece, this.#size);
    this.#size = size;
  }
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#size);
    this.#bytes = empty;
    this.#size = 0;
    return taken;
  }
}

export type Envelope = { flags: number; data: Uint8Array };

const headBytes = 5;

/** Splits a stream into its messages. Each message follows a header of five bytes: flags and length. */
export class EnvelopeSplitter {
  readonly #part = new ByteCollector();
  readonly #mostBytes: number;
  readonly #onTooLarge: () => never;
  #head: { flags: number; length: number } | undefined;

  constructor(mostBytes: number, onTooLarge: () => never) {
    this.#mostBytes = mostBytes;
    this.#onTooLarge = onTooLarge;
  }
  /** Whether the last message is incomplete. */
  get isInside(): boolean {
    return this.#head !== undefined || this.#part.size > 0;
  }
  push(chunk: Uint8Array): Envelope[] {
    const found: Envelope[] = [];
    for (let at = 0; at < chunk.length || this.#head?.length === 0;) {
      const length = this.#head?.length ?? headBytes;
      const piece = chunk.subarray(at, at + length - this.#part.size);
      at += piece.length;
      this.#part.append(piece);
      if (this.#part.size < length) break;
      const bytes = this.#part.take();
      if (this.#head) {
        found.push({ flags: this.#head.flags, data: bytes });
        this.#head = undefined;
      } else {
        this.#head = { flags: bytes[0] ?? 0, length: Buffer.from(bytes).readUInt32BE(1) };
        if (this.#head.length > this.#mostBytes) this.#onTooLarge();
      }
    }
    return found;
  }
}
