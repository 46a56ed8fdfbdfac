import { agentCheckPath } from '../src/wire/check.ts';
// One connection of a machine, byte by byte.
import assert from 'node:assert/strict';
import net from 'node:net';
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { DeviceAgentConfigRequestSchema } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';

export type Answer = { status: number; headers: Map<string, string>; body: Buffer };

/** A connection that reads whole answers. */
export async function dial(url: string) {
  const { hostname, port } = new URL(url);
  const socket = net.connect({ host: hostname, port: Number(port) });
  const chunks = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let got = Buffer.alloc(0);
  const more = async (): Promise<boolean> => {
    const { value, done } = await chunks.next();
    if (!done) got = Buffer.concat([got, value]);
    return !done;
  };
  return {
    say: (bytes: Uint8Array) => new Promise<void>((resolve) => socket.write(bytes, () => resolve())),
    close: () => socket.destroy(),
    async answer(): Promise<Answer> {
      while (!got.includes('\r\n\r\n')) assert.ok(await more(), 'the connection was closed');
      const end = got.indexOf('\r\n\r\n');
      const [first = '', ...lines] = got.toString('latin1', 0, end).split('\r\n');
      const headers = new Map(
        lines.map((line) => line.split(': ') as [string, string]).map(([k, v]) => [k.toLowerCase(), v]),
      );
      const length = Number(headers.get('content-length'));
      while (got.length < end + 4 + length) assert.ok(await more(), 'the answer was cut');
      const body = got.subarray(end + 4, end + 4 + length);
      got = got.subarray(end + 4 + length);
      return { status: Number(first.split(' ')[1]), headers, body };
    },
    /** Waits until no more bytes arrive. */
    async ended(): Promise<void> {
      while (await more().catch(() => false));
    },
  };
}

export function checkBytes(
  on: { url: string },
  token: string,
  ask: MessageInitShape<typeof DeviceAgentConfigRequestSchema>,
): Buffer {
  const body = toBinary(DeviceAgentConfigRequestSchema, create(DeviceAgentConfigRequestSchema, ask));
  const head = [
    `POST ${agentCheckPath} HTTP/1.1`,
    `host: ${new URL(on.url).host}`,
    'content-type: application/proto',
    `authorization: Bearer ${token}`,
    `content-length: ${body.length}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
}
