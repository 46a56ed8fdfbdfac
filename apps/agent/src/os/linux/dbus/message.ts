// Messages of D-Bus: https://dbus.freedesktop.org/doc/dbus-specification.html#message-protocol-messages
import { type DBusValue, ValueReader, ValueWriter, Variant } from './values.ts';

export const messageType = { call: 1, reply: 2, error: 3, signal: 4 } as const;
/** The caller waits for no reply. */
const noReplyExpected = 1;
/** Asks the bus to start no service for this call. */
const noAutoStart = 2;

export interface Message {
  type: number;
  serial: number;
  path?: string;
  interface?: string;
  member?: string;
  errorName?: string;
  replySerial?: number;
  destination?: string;
  /** Set by the bus: a sender cannot pretend to be another one. */
  sender?: string;
  /** The call was received, and its sender does not wait for a reply. */
  isReplyUnwanted?: true;
  signature: string;
  body: readonly DBusValue[];
}

type Field = 'path' | 'interface' | 'member' | 'errorName' | 'replySerial' | 'destination' | 'sender' | 'signature';
const fields: readonly (readonly [code: number, name: Field, type: string])[] = [
  [1, 'path', 'o'],
  [2, 'interface', 's'],
  [3, 'member', 's'],
  [4, 'errorName', 's'],
  [5, 'replySerial', 'u'],
  [6, 'destination', 's'],
  [7, 'sender', 's'],
  [8, 'signature', 'g'],
];
const fixedHeader = 12;
/** Far above what a network with hundreds of access points needs. */
const longestMessage = 8 << 20;

export function encodeMessage(message: Message): Buffer {
  const body = new ValueWriter();
  body.values(message.signature, message.body);
  const present = fields.flatMap(([code, name, type]) => {
    const value = message[name];
    return value === undefined || value === '' ? [] : [[code, new Variant(type, value)]];
  });
  const header = new ValueWriter();
  const flags = message.type === messageType.call ? noAutoStart : 0;
  const little = 'l'.charCodeAt(0);
  header.values('yyyyuua(yv)', [little, message.type, flags, 1, body.length, message.serial, present]);
  header.align(8);
  return Buffer.concat([header.bytes(), body.bytes()]);
}

/** Splits a stream of bytes into messages. */
export class MessageReader {
  #rest: Uint8Array = new Uint8Array(0);

  /** @throws RangeError if the bytes are not messages of D-Bus; the stream is unusable then. */
  push(bytes: Uint8Array): Message[] {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    const messages: Message[] = [];
    for (;;) {
      const length = lengthOf(this.#rest);
      if (length === undefined || this.#rest.length < length) break;
      messages.push(decodeMessage(this.#rest.subarray(0, length)));
      this.#rest = this.#rest.subarray(length);
    }
    return messages;
  }
}

const isLittleEndian = (bytes: Uint8Array): boolean => {
  if (bytes[0] === 0x6c) return true;
  if (bytes[0] === 0x42) return false;
  throw new RangeError('a message of D-Bus has no byte order');
};

/** Undefined: more bytes are needed to tell. */
function lengthOf(bytes: Uint8Array): number | undefined {
  if (bytes.length < fixedHeader + 4) return undefined;
  const isLittle = isLittleEndian(bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const header = fixedHeader + 4 + view.getUint32(fixedHeader, isLittle);
  const length = Math.ceil(header / 8) * 8 + view.getUint32(4, isLittle);
  if (length > longestMessage)
    throw new RangeError(`a message of D-Bus has ${length} bytes; the limit is ${longestMessage}`);
  return length;
}

function decodeMessage(bytes: Uint8Array): Message {
  const isLittle = isLittleEndian(bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [pairs] = new ValueReader(bytes, fixedHeader, isLittle).values('a(yv)') as [[number, Variant][]];
  const found = new Map(pairs.map(([code, variant]) => [code, variant.value]));
  const named = Object.fromEntries(
    fields.flatMap(([code, name]) => (found.has(code) ? [[name, found.get(code)]] : [])),
  ) as Partial<Message>;
  const signature = named.signature ?? '';
  const bodyAt = Math.ceil((fixedHeader + 4 + view.getUint32(fixedHeader, isLittle)) / 8) * 8;
  return {
    ...named,
    type: bytes[1] ?? 0,
    serial: view.getUint32(8, isLittle),
    ...((bytes[2] ?? 0) & noReplyExpected && { isReplyUnwanted: true as const }),
    signature,
    body: new ValueReader(bytes, bodyAt, isLittle).values(signature),
  };
}
