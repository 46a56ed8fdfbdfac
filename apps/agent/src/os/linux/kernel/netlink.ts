// Messages of generic netlink: https://docs.kernel.org/userspace-api/netlink/intro.html. All numbers are in the byte
// order of the processor, which is little-endian on every platform of the agent.

export interface Attribute {
  type: number;
  value: Uint8Array;
}

export interface Request {
  /** Number of the family; `controller` names the families. */
  family: number;
  command: number;
  /** A list of everything, in place of one object. */
  isDump?: boolean;
  attributes: readonly Attribute[];
}

export interface Reply {
  command: number;
  attributes: readonly Attribute[];
}

/** The kernel refused a request. */
export class NetlinkError extends Error {
  /** Number of errno.h. */
  readonly code: number;
  constructor(code: number) {
    super(`the kernel refused with error ${code}`);
    this.name = 'NetlinkError';
    this.code = code;
  }
}

/** The family that names the others. */
export const controller = { family: 0x10, getFamily: 3, familyId: 1, familyName: 2 } as const;

const flags = { request: 1, acknowledge: 4, dump: 0x300 } as const;
const headerBytes = 16;
const genericBytes = 4;
const attributeBytes = 4;
const messageTypes = { error: 2, done: 3 } as const;
/** The two highest bits are flags. */
const typeMask = 0x3fff;

const aligned = (size: number): number => (size + 3) & ~3;

export const number = (type: number, value: number): Attribute => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return { type, value: bytes };
};
export const text = (type: number, value: string): Attribute => ({ type, value: Buffer.from(`${value}\0`) });
export const flag = (type: number): Attribute => ({ type, value: Buffer.alloc(0) });

function encodeAttribute({ type, value }: Attribute): Buffer {
  const bytes = Buffer.alloc(aligned(attributeBytes + value.length));
  bytes.writeUInt16LE(attributeBytes + value.length, 0);
  bytes.writeUInt16LE(type, 2);
  bytes.set(value, attributeBytes);
  return bytes;
}

/** Each exchange has a socket of its own: the sequence number says nothing. */
export function encodeRequest({ family, command, isDump = false, attributes }: Request): Buffer {
  const head = Buffer.alloc(headerBytes + genericBytes);
  const bytes = Buffer.concat([head, ...attributes.map(encodeAttribute)]);
  bytes.writeUInt32LE(bytes.length, 0);
  bytes.writeUInt16LE(family, 4);
  bytes.writeUInt16LE(flags.request | (isDump ? flags.dump : flags.acknowledge), 6);
  bytes.writeUInt32LE(1, 8);
  bytes.writeUInt8(command, headerBytes);
  return bytes;
}

interface RawMessage {
  type: number;
  body: Buffer;
}

function* messagesIn(bytes: Uint8Array): Generator<RawMessage> {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at + headerBytes <= all.length;) {
    const size = all.readUInt32LE(at);
    if (size < headerBytes || at + size > all.length) return;
    yield { type: all.readUInt16LE(at + 4), body: all.subarray(at + headerBytes, at + size) };
    at += aligned(size);
  }
}

/** A list ends with `done`, one object with its acknowledgement, which has the form of an error. */
export const isLastAnswer = (bytes: Uint8Array): boolean =>
  [...messagesIn(bytes)].some(({ type }) => type === messageTypes.error || type === messageTypes.done);

export function attributesIn(bytes: Uint8Array): readonly Attribute[] {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found: Attribute[] = [];
  for (let at = 0; at + attributeBytes <= all.length;) {
    const size = all.readUInt16LE(at);
    if (size < attributeBytes || at + size > all.length) break;
    found.push({ type: all.readUInt16LE(at + 2) & typeMask, value: all.subarray(at + attributeBytes, at + size) });
    at += aligned(size);
  }
  return found;
}

/** The replies of a family in the kernel's answers. @throws NetlinkError */
export function repliesIn(answers: readonly Uint8Array[], family: number): readonly Reply[] {
  const replies: Reply[] = [];
  for (const { type, body } of answers.flatMap((answer) => [...messagesIn(answer)])) {
    if (type === messageTypes.error || type === messageTypes.done) {
      const code = body.length >= 4 ? -body.readInt32LE(0) : 0;
      if (code > 0) throw new NetlinkError(code);
    } else if (type === family && body.length >= genericBytes)
      replies.push({ command: body.readUInt8(0), attributes: attributesIn(body.subarray(genericBytes)) });
  }
  return replies;
}

export const valueOf = (attributes: readonly Attribute[], type: number): Uint8Array | undefined =>
  attributes.find((one) => one.type === type)?.value;

/** Undefined: absent, or no number. */
export function numberOf(attributes: readonly Attribute[], type: number): number | undefined {
  const value = valueOf(attributes, type);
  if (!value || value.length < 2) return undefined;
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return value.length < 4 ? bytes.readUInt16LE(0) : bytes.readUInt32LE(0);
}

export const textOf = (attributes: readonly Attribute[], type: number): string =>
  Buffer.from(valueOf(attributes, type) ?? [])
    .toString('latin1')
    .replace(/\0.*$/s, '');
