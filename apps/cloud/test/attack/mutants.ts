import { type DescMethod, fromJson, type JsonObject, type JsonValue, toBinary } from '@bufbuild/protobuf';
import { type WireRequest, framed, type Headers, pathOf } from './ask.ts';
import { mutatedJson, type Random, wildMessage } from './wild.ts';

export type Mutant = { how: string; asked: WireRequest };

type Form = 'proto' | 'json';

const asked = (method: DescMethod, form: Form, body: Uint8Array, headers: Headers): WireRequest => {
  const type = `application/${method.methodKind === 'unary' ? '' : 'connect+'}${form}`;
  const sent = {
    'content-type': type,
    'connect-protocol-version': '1',
    'content-length': String(body.length),
    ...headers,
  };
  return { method: 'POST', path: pathOf(method), headers: sent, body };
};

/** Whole messages, or the frames of a stream. */
const bodyOf = (method: DescMethod, messages: readonly Uint8Array[]): Buffer =>
  method.methodKind === 'unary' ? Buffer.from(messages[0] ?? []) : Buffer.concat(messages.map(framed));

const jsonBytes = (value: JsonValue): Buffer => Buffer.from(JSON.stringify(value));

type Bytes = (bytes: Buffer, random: Random) => Buffer;

const varint = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)]);

/** Nests messages to this depth: field 1 of each. */
function deep(depth: number): Buffer {
  let inner = Buffer.alloc(0);
  for (let n = 0; n < depth; n++) inner = Buffer.concat([Buffer.from([0x0a, ...varint(inner.length)]), inner]);
  return inner;
}

const ofBinary: readonly [how: string, mutate: Bytes][] = [
  ['cut short', (bytes, { below }) => bytes.subarray(0, below(bytes.length + 1))],
  [
    'one byte changed',
    (bytes, { below }) => {
      const changed = Buffer.from(bytes);
      if (changed.length > 0) changed[below(changed.length)] = below(256);
      return changed;
    },
  ],
  ['bytes changed', (bytes, { below }) => Buffer.from(bytes.map((byte) => (below(8) === 0 ? below(256) : byte)))],
  ['twice', (bytes) => Buffer.concat([bytes, bytes])],
  ['twenty times', (bytes) => Buffer.concat(Array.from({ length: 20 }, () => bytes))],
  ['fields of unknown numbers', (bytes) => Buffer.concat([bytes, Buffer.from([0xfa, 0xff, 0x01, 0x01, 0x78])])],
  ['field number 0', (bytes) => Buffer.concat([Buffer.from([0x02, 0x01, 0x78]), bytes])],
  [
    'wrong wire type',
    (bytes, { below }) => {
      const changed = Buffer.from(bytes);
      if (changed[0] !== undefined) changed[0] = (changed[0] & 0xf8) | below(8);
      return changed;
    },
  ],
  ['invalid UTF-8', (_, { pick }) => Buffer.from([pick([0x0a, 0x12, 0x1a]), 0x03, 0xff, 0xfe, 0xc0])],
  ['a length beyond the end', () => Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f])],
  ['a number without an end', () => Buffer.alloc(40, 0xff)],
  ['a group without an end', (_, { pick }) => Buffer.alloc(pick([1, 50, 3_000]), 0x0b)],
  ['messages in messages', (_, { pick }) => deep(pick([30, 99, 101, 2_000]))],
  ['noise', (_, { below }) => Buffer.from(Array.from({ length: below(200) }, () => below(256)))],
];

const ofText: readonly [how: string, mutate: Bytes][] = [
  ['JSON cut short', (bytes, { below }) => bytes.subarray(0, below(bytes.length))],
  [
    'no object',
    (_, { pick }) => Buffer.from(pick(['null', '[]', '"x"', '1', 'true', '', '{', '\0', '\uFEFF{}', '{}{}'])),
  ],
  ['a key twice', (bytes) => Buffer.from(bytes.toString().replace(/^\{("[^"]*":)/, '{$1null,$1'))],
  ['a lone surrogate', (bytes) => Buffer.from(bytes.toString().replace(/:"[^"]*"/, ':"\\ud800"'))],
  ['invalid UTF-8 in JSON', (bytes) => Buffer.from(bytes.toString('latin1').replace(/:"/, ':"\xff\xfe'), 'latin1')],
  ['ten thousand brackets', () => Buffer.from(`{"a":${'['.repeat(10_000)}`)],
  [
    'a number of many digits',
    (bytes) => Buffer.from(bytes.toString().replace(/:("[^"]*"|\d+)/, `:${'9'.repeat(400)}`)),
  ],
];

const ofHeaders: readonly [how: string, headers: Headers][] = [
  ['declared as compressed', { 'content-encoding': 'gzip', 'connect-content-encoding': 'gzip' }],
  ['an unknown compression', { 'content-encoding': 'zip', 'connect-content-encoding': 'zip' }],
  ['a timeout that is not a number', { 'connect-timeout-ms': 'soon' }],
  ['a negative timeout', { 'connect-timeout-ms': '-1' }],
  ['another version of the protocol', { 'connect-protocol-version': '2' }],
  ['another type of content', { 'content-type': 'text/plain' }],
  ['the frames of gRPC-Web', { 'content-type': 'application/grpc-web+proto' }],
  ['the text of gRPC-Web', { 'content-type': 'application/grpc-web-text' }],
];

/** Mutations of frames, for streams only. */
const ofFrames: readonly [how: string, frames: (bytes: Buffer) => Buffer][] = [
  ['no frame', () => Buffer.alloc(0)],
  ['half a frame', (bytes) => framed(bytes).subarray(0, 4)],
  ['a frame longer than it says', (bytes) => Buffer.concat([framed(bytes), Buffer.from('x')])],
  ['a frame of 4 GiB', () => Buffer.from([0, 0xff, 0xff, 0xff, 0xff])],
  ['a compressed frame', (bytes) => Buffer.concat([Buffer.from([1]), framed(bytes).subarray(1)])],
  [
    'the last frame first',
    (bytes) => Buffer.concat([Buffer.from([2]), framed(Buffer.from('{}')).subarray(1), framed(bytes)]),
  ],
  ['the first message twice', (bytes) => Buffer.concat([framed(bytes), framed(bytes)])],
];

/** @param right - valid messages. @param texts - ids of all kinds. */
export function mutantOf(
  method: DescMethod,
  right: readonly JsonObject[],
  { random, texts, headers }: { random: Random; texts: readonly string[]; headers: Headers },
): Mutant {
  const { pick, isLess } = random;
  const binary = (messages: readonly JsonObject[]): Buffer[] =>
    messages.map((message) => Buffer.from(toBinary(method.input, fromJson(method.input, message))));
  /** The valid messages, or one with every field set. */
  const some = (): readonly JsonObject[] => (isLess(0.5) ? right : [wildMessage(method.input, random, texts)]);
  const first = (bytes: readonly Buffer[]): Buffer => bytes[0] ?? Buffer.alloc(0);
  const send = (how: string, form: Form, messages: readonly Uint8Array[], more: Headers = {}): Mutant => ({
    how,
    asked: asked(method, form, bodyOf(method, messages), { ...headers, ...more }),
  });
  const kinds: (() => Mutant)[] = [
    () =>
      send('values that make no sense', 'json', [
        jsonBytes(wildMessage(method.input, random, texts)),
        ...right.slice(1).map(jsonBytes),
      ]),
    () =>
      send('values that make no sense', 'json', [
        jsonBytes({ ...right[0], ...wildMessage(method.input, random, texts) }),
      ]),
    () =>
      send('something else in one place', 'json', [
        jsonBytes(mutatedJson(right[0] ?? {}, random, texts)),
        ...right.slice(1).map(jsonBytes),
      ]),
    () =>
      send('something else in one place', 'json', [
        jsonBytes(mutatedJson(wildMessage(method.input, random, texts), random, texts)),
      ]),
    () => {
      const [how, mutate] = pick(ofBinary);
      const [bytes = Buffer.alloc(0), ...rest] = binary(some());
      return send(how, 'proto', [mutate(bytes, random), ...rest]);
    },
    () => {
      const [how, mutate] = pick(ofText);
      return send(how, 'json', [mutate(jsonBytes(some()[0] ?? {}), random)]);
    },
  ];
  if (isLess(0.08)) {
    const [how, more] = pick(ofHeaders);
    return send(how, 'proto', binary(right), more);
  }
  if (method.methodKind !== 'unary' && isLess(0.2)) {
    const [how, frames] = pick(ofFrames);
    const body = frames(first(binary(right)));
    return { how, asked: asked(method, 'proto', body, headers) };
  }
  return pick(kinds)();
}
