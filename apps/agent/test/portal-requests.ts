import net from 'node:net';

export interface RawAnswer {
  /** Status of the first answer; undefined: the connection was closed without one. */
  status: number | undefined;
  text: string;
}

/**
 * Sends these parts on a new connection, waits for its end and returns all that came back.
 *
 * @param isOpen - the client keeps its side open; otherwise it has sent everything.
 */
export function sendRaw(
  { port }: { port: number },
  parts: readonly (string | Uint8Array)[],
  { isOpen = false }: { isOpen?: boolean } = {},
): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const socket = net.connect({ host: '127.0.0.1', port, noDelay: true, allowHalfOpen: true });
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', () => {}); // a server that refuses may close early; what was received counts
    socket.on('end', () => socket.end());
    socket.on('connect', () => {
      for (const part of parts) socket.write(part);
      if (!isOpen) socket.end();
    });
    socket.on('close', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      const status = /^(?:HTTP\/1\.1 100 Continue\r\n\r\n)?HTTP\/1\.1 (\d{3}) /.exec(text)?.[1];
      resolve({ status: status === undefined ? undefined : Number(status), text });
    });
  });
}

/** The text of a POST request of a form. */
export const postOf = (
  host: string,
  body: string | Buffer,
  { path = '/save', type = 'application/x-www-form-urlencoded', headers = '' } = {},
): [string, string | Buffer] => [
  `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${headers}\r\n`,
  body,
];
