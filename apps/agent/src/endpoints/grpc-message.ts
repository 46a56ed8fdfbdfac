import { PlatformError } from '@platform/contract/errors/errors';

const headBytes = 5;

/** A gRPC message with its header: no compression, length. */
export function frame(message: Uint8Array): Buffer {
  const framed = Buffer.alloc(headBytes + message.length);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, headBytes);
  return framed;
}

/**
 * The one message of a unary request. It takes memory once its announced length is known and within the limit: a list
 * of one-byte chunks would take 100 times their size.
 */
export class MessageBuffer {
  readonly #head = Buffer.alloc(headBytes);
  readonly #limitBytes: number;
  #body: Uint8Array | undefined;
  #size = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** @throws PlatformError MESSAGE_TOO_LARGE, INVALID_MESSAGE, UNSUPPORTED */
  push(chunk: Uint8Array): void {
    const toHead = chunk.subarray(0, Math.max(0, headBytes - this.#size));
    this.#head.set(toHead, Math.min(this.#size, headBytes));
    this.#size += toHead.length;
    if (this.#size < headBytes) return;
    this.#body ??= this.#open();
    const rest = chunk.subarray(toHead.length);
    const at = this.#size - headBytes;
    if (at + rest.length > this.#body.length)
      throw new PlatformError('INVALID_MESSAGE', { problem: 'bytes follow the only message of the call' });
    this.#body.set(rest, at);
    this.#size += rest.length;
  }

  /** @throws PlatformError INVALID_MESSAGE: it is incomplete */
  message(): Uint8Array {
    if (this.#body && this.#size === headBytes + this.#body.length) return this.#body;
    throw new PlatformError('INVALID_MESSAGE', { problem: 'it ends before its announced length' });
  }

  #open(): Uint8Array {
    if (this.#head[0] !== 0) throw new PlatformError('UNSUPPORTED', { what: 'compressed messages' });
    const length = this.#head.readUInt32BE(1);
    if (length > this.#limitBytes) throw new PlatformError('MESSAGE_TOO_LARGE', { limitBytes: this.#limitBytes });
    return new Uint8Array(length);
  }
}
