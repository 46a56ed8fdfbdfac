import net from 'node:net';

/**
 * Sends bytes on a new connection. @returns the status of the first answer; undefined if the server closed without one.
 * @param isCut - the sender half-closes; otherwise the server rightly waits for the rest of a message.
 */
export function rawStatus(
  url: string,
  bytes: Uint8Array,
  isCut = false,
  limitMs = 20_000,
): Promise<number | undefined> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host: hostname, port: Number(port) });
    const chunks: Buffer[] = [];
    const done = (): void => {
      socket.destroy();
      resolve(statusOf(Buffer.concat(chunks).toString('latin1')));
    };
    socket.setTimeout(limitMs, () => {
      socket.destroy();
      reject(new Error(`no answer in ${limitMs} ms`));
    });
    socket.on('connect', () => (isCut ? socket.end(bytes) : socket.write(bytes)));
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      if (statusOf(Buffer.concat(chunks).toString('latin1')) !== undefined) done();
    });
    socket.on('end', done);
    // A server that refuses may close early; the data received until then counts.
    socket.on('error', done);
  });
}

/** Parses the status of the final answer, skipping 1xx answers. */
function statusOf(text: string): number | undefined {
  const rest = text.replace(/^HTTP\/1\.1 100 .*\r\n(.+\r\n)*\r\n/, '');
  const status = /^HTTP\/1\.1 (\d{3})/.exec(rest)?.[1];
  return status === undefined || status === '100' ? undefined : Number(status);
}
