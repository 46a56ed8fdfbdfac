// A client that writes HTTP/2 frames as it likes.
import { connect } from 'node:net';

const frame = (type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};

/** A header field without Huffman coding and without an entry in the table; `name` is an index of the static table. */
const field = (name: number, value: string): Buffer =>
  Buffer.concat([Buffer.from(name < 15 ? [name, value.length] : [15, name - 15, value.length]), Buffer.from(value)]);

const path = '/viam.provisioning.v1.ProvisioningService/GetNetworkList';
const headers = Buffer.concat([
  Buffer.from([0x83, 0x86]),
  field(4, path),
  field(1, 'device'),
  field(31, 'application/grpc'),
]);
const longHeader = Buffer.concat([Buffer.from([0, 3]), Buffer.from('x-a'), Buffer.from([120]), Buffer.alloc(120, 'a')]);
/** An entry of 3 KB in the table of the peer, and references to it. */
const tableEntry = Buffer.concat([
  Buffer.from([0x40, 1]),
  Buffer.from('b'),
  Buffer.from([0x7f, 0xb9, 0x16]),
  Buffer.alloc(3_000, 'b'),
]);

const open = (id: number): Buffer => frame(1, 4, id, headers);
const emptyMessage = Buffer.alloc(5);

/** What the frame number `n` of each flood is. */
export const floods: Readonly<Record<string, (n: number) => Buffer>> = {
  'rapid reset': (n) => Buffer.concat([open(2 * n + 1), frame(3, 0, 2 * n + 1, Buffer.from([0, 0, 0, 8]))]),
  'whole calls, answers unread': (n) => Buffer.concat([open(2 * n + 1), frame(0, 1, 2 * n + 1, emptyMessage)]),
  'calls that are reset when complete': (n) =>
    Buffer.concat([
      open(2 * n + 1),
      frame(0, 1, 2 * n + 1, emptyMessage),
      frame(3, 0, 2 * n + 1, Buffer.from([0, 0, 0, 8])),
    ]),
  'streams without an end': (n) => open(2 * n + 1),
  'announced, never sent': (n) =>
    Buffer.concat([open(2 * n + 1), frame(0, 0, 2 * n + 1, Buffer.from([0, 0, 0, 63, 0, 1]))]),
  'pings, answers unread': () => frame(6, 0, 0, Buffer.alloc(8)),
  'settings, answers unread': () => frame(4, 0, 0, Buffer.from([0, 4, 0, 0, 255, 255])),
  'a table that changes its size': (n) => frame(4, 0, 0, Buffer.from([0, 1, 0, 0, n % 2, 255])),
  continuations: (n) =>
    n === 0 ? frame(1, 0, 1, headers) : frame(9, 0, 1, Buffer.concat(Array.from({ length: 20 }, () => longHeader))),
  'empty continuations': (n) => (n === 0 ? frame(1, 0, 1, headers) : frame(9, 0, 1)),
  'references to a long header': (n) =>
    frame(1, 4, 2 * n + 1, Buffer.concat([tableEntry, Buffer.alloc(4_000, 0x80 + 62)])),
  'empty data': (n) => (n === 0 ? open(1) : frame(0, 0, 1)),
  'data in single bytes': (n) =>
    n === 0
      ? Buffer.concat([open(1), frame(0, 0, 1, Buffer.from([0, 0, 0, 63, 255]))])
      : frame(0, 0, 1, Buffer.from([1])),
  'data for closed streams': (n) =>
    n === 0 ? Buffer.concat([open(1), frame(0, 1, 1, emptyMessage)]) : frame(0, 0, 1, Buffer.alloc(1_000)),
  'window updates': () => frame(8, 0, 0, Buffer.from([0, 0, 0, 1])),
  'no window for answers': (n) =>
    n === 0
      ? frame(4, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0]))
      : Buffer.concat([open(2 * n - 1), frame(0, 1, 2 * n - 1, emptyMessage)]),
  priorities: (n) => frame(2, 0, 2 * n + 1, Buffer.alloc(5)),
  'unknown frames': () => frame(200, 0, 0, Buffer.alloc(1_000)),
  'frames beyond the limit': () => frame(0, 0, 1, Buffer.alloc(70_000)),
};

/**
 * Sends `count` frames of a flood and reads nothing.
 *
 * @returns when the server has ended the connection, or all is written
 */
export async function flood(port: number, make: (n: number) => Buffer, count: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {}); // the server ended it
  socket.pause();
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0)]));
  for (let n = 0; n < count && !socket.destroyed;) {
    const parts: Buffer[] = [];
    for (let bytes = 0; n < count && bytes < 65_536; n++) bytes += parts[parts.push(make(n)) - 1]?.length ?? 0;
    await Promise.race([new Promise((resolve) => socket.write(Buffer.concat(parts), resolve)), ended]);
  }
  socket.destroy();
  await ended;
}
