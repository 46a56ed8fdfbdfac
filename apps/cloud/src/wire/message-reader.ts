import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { encodeEnvelope, type UniversalHandler } from '@connectrpc/connect/protocol';
import { PlatformError } from '@platform/contract/errors/errors';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { knownCallerOf } from '../access/caller.ts';
import { announcedBytes, type CallerBudgets, chargeBeyond } from '../access/caller-budgets.ts';
import { toConnectError } from './errors.ts';
import type { Lease, MessageBudget } from './message-budget.ts';
import { type MessageLimit, messageLimitOf } from './message-limits.ts';
import { countJsonValues, valueCounter } from './message-values.ts';
import type { ValueRate } from './value-rate.ts';

type UniversalRequest = Parameters<UniversalHandler>[0];
type Answer = (request: UniversalRequest) => ReturnType<UniversalHandler>;
type Reading = {
  limit: MessageLimit;
  lease: Lease;
  /** Set when the message budget evicted this message. */
  evicted: { readonly is: boolean };
  unpacking: 'gzip' | 'refused' | 'not announced';
  /** Charges the caller for a chunk. */
  charge(bytes: number): void;
  /** Counts values and stops at one above the limit. */
  count(bytes: Uint8Array): number;
  /** @returns false: the caller exceeds its rate of parsed values. */
  take(values: number): boolean;
};

const compressed = 0b1;
/** Messages up to this size are not counted. */
const smallBytes = 2 * 2 ** 10;
const unzip = promisify(gunzip);
/** The largest ratio at which deflate compresses. */
const mostUnpacked = 1_032;

const refusal = (...of: ConstructorParameters<typeof PlatformError>) => toConnectError(new PlatformError(...of));
const tooLarge = ({ bytes }: MessageLimit) => refusal('MESSAGE_TOO_LARGE', { limitBytes: bytes });

/**
 * Runs between the body of a request and the library that parses it. Decompresses messages within the limits of their
 * method, and counts their values before one is allocated. It rejects messages beyond a limit in each of the three
 * protocols.
 *
 * @param budgets - charged for bytes that no header announced, as they arrive; the request gate has charged the others.
 */
export function limitMessages(
  budget: MessageBudget,
  rate: ValueRate,
  budgets?: Pick<CallerBudgets, 'chargeBytes'>,
): (handler: UniversalHandler) => UniversalHandler {
  const countValues = valueCounter();
  return (handler) => {
    const { allowedMethods, method, protocolNames, requestPath, service, supportedContentType } = handler;
    const limit = messageLimitOf(method);
    const mayUnpack = service.typeName !== AuthService.typeName;
    const countJson = (bytes: Uint8Array): number =>
      bytes.length <= smallBytes ? 0 : countJsonValues(bytes, limit.values);
    const countBinary = (bytes: Uint8Array): number =>
      bytes.length <= smallBytes ? 0 : countValues(method.input, bytes, limit.values);
    const answer: Answer = async (request) => {
      const type = request.header.get('content-type') ?? '';
      if (!isBytes(request.body)) return handler(request);
      const { contextValues } = request;
      // The caller is known when the first byte is read.
      const caller = () => contextValues && knownCallerOf(contextValues);
      const callerId = (): string => caller()?.id ?? '';
      const charge = chargeBeyond(announcedBytes(request.header.get('content-length')), (bytes) => {
        const sender = caller();
        if (sender) budgets?.chargeBytes(sender, bytes);
      });
      const evicted = { is: false };
      const lease = budget.lease(callerId, () => (evicted.is = true));
      const take = (values: number): boolean => values === 0 || rate.take(callerId(), values);
      const isWhole = type.startsWith('application/proto') || type.startsWith('application/json');
      const encoding = request.header.get(encodingHeader(type, isWhole));
      const unpacking = !mayUnpack ? 'refused' : encoding === 'gzip' ? 'gzip' : 'not announced';
      const count = type.includes('json') ? countJson : countBinary;
      const reading: Reading = { limit, lease, evicted, unpacking, charge, count, take };
      try {
        if (isWhole) return await handler(wholeMessage(request, request.body, encoding, reading));
        return await handler({ ...request, body: envelopes(request.body, reading) });
      } finally {
        lease.end();
      }
    };
    return Object.assign(answer, { allowedMethods, method, protocolNames, requestPath, service, supportedContentType });
  };
}

const isBytes = (body: UniversalRequest['body']): body is AsyncIterable<Uint8Array> =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body;

const encodingHeader = (type: string, isWhole: boolean): string =>
  isWhole ? 'content-encoding' : type.startsWith('application/grpc') ? 'grpc-encoding' : 'connect-content-encoding';

/** Connect's unary calls: the body is the message, compressed as a whole. */
function wholeMessage(
  request: UniversalRequest,
  body: AsyncIterable<Uint8Array>,
  encoding: string | null,
  reading: Reading,
): UniversalRequest {
  const announced = Number(request.header.get('content-length') ?? 0);
  if (encoding === null || encoding === 'identity') return { ...request, body: whole(body, announced, false, reading) };
  // The library rejects encodings that it does not know.
  if (encoding !== 'gzip') return request;
  const header = new Headers(request.header);
  header.delete('content-encoding');
  header.delete('content-length');
  // A client that compresses also reads compressed responses.
  if (!header.has('accept-encoding')) header.set('accept-encoding', encoding);
  return { ...request, header, body: whole(body, announced, true, reading) };
}

async function* whole(
  body: AsyncIterable<Uint8Array>,
  announced: number,
  isPacked: boolean,
  reading: Reading,
): AsyncGenerator<Uint8Array> {
  const { limit, lease } = reading;
  if (announced > limit.bytes) throw tooLarge(limit);
  const collected = new ByteCollector();
  for await (const chunk of body) {
    reading.charge(chunk.length);
    if (collected.size + chunk.length > limit.bytes) throw tooLarge(limit);
    await grow(reading, chunk.length);
    collected.append(chunk);
  }
  lease.complete();
  const bytes = collected.take();
  yield checked(isPacked ? await unpacked(bytes, reading) : bytes, reading);
}

/** gRPC, gRPC-Web and Connect's streams: each message has its own header with a flag for compression. */
async function* envelopes(body: AsyncIterable<Uint8Array>, reading: Reading): AsyncGenerator<Uint8Array> {
  const { limit, lease } = reading;
  const splitter = new EnvelopeSplitter(limit.bytes, () => {
    throw tooLarge(limit);
  });
  for await (const chunk of body) {
    reading.charge(chunk.length);
    await grow(reading, chunk.length);
    for (const { flags, data } of splitter.push(chunk)) {
      const bytes = (flags & compressed) === 0 ? data : await unpacked(data, reading);
      yield encodeEnvelope(flags & ~compressed, checked(bytes, reading));
      // The consumer requested the next message, so it has processed this one.
      lease.shrink(data.length);
    }
  }
  lease.complete();
  if (splitter.isInside) throw refusal('INVALID_MESSAGE', { problem: 'the message ends too early' });
}

/** Fails like any rejected call if the message budget is exhausted. */
function grow({ lease, evicted }: Reading, bytes: number): Promise<void> | undefined {
  if (evicted.is) throw refusal('TOO_MANY_REQUESTS', { limit: 'the message came too slowly while others waited' });
  return lease.grow(bytes)?.catch((error: unknown) => {
    throw error instanceof PlatformError ? toConnectError(error) : error;
  });
}

function checked(bytes: Uint8Array, { limit, count, take }: Reading): Uint8Array {
  const values = count(bytes);
  if (values > limit.values) throw refusal('MESSAGE_TOO_COMPLEX', { limit: limit.values });
  if (!take(values)) throw refusal('TOO_MANY_REQUESTS', { limit: 'too many values in a short time' });
  return bytes;
}

async function unpacked(bytes: Uint8Array, reading: Reading): Promise<Uint8Array> {
  const { limit, lease, unpacking } = reading;
  if (unpacking === 'not announced') throw refusal('INVALID_MESSAGE', { problem: 'compressed without saying how' });
  if (unpacking === 'refused')
    throw refusal('INVALID_ARGUMENT', { field: 'encoding', limit: 'a call that authenticates is not compressed' });
  if (bytes.length === 0) return bytes;
  const most = Math.min(limit.bytes, bytes.length * mostUnpacked);
  await grow(reading, most);
  try {
    return await unzip(bytes, { maxOutputLength: most });
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(limit);
    throw refusal('INVALID_MESSAGE', { problem: 'the compressed message cannot be unpacked' });
  } finally {
    lease.shrink(most);
  }
}

const empty = new Uint8Array(0);
const firstBytes = 16 * 2 ** 10;

/** Collects chunks into one block: a list of one-byte chunks would take 100 times their memory. */
class ByteCollector {
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

type Envelope = { flags: number; data: Uint8Array };

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
