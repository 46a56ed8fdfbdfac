import { once } from 'node:events';
import { createServer, request, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';

/** Starts an HTTP proxy that forwards every host name to one port of this machine and records the requests. */
export async function proxyTo(port: number) {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((incoming: IncomingMessage, answer) => {
    const url = new URL(incoming.url ?? '');
    asked.push(`${incoming.method} ${url.host}`);
    const { method, headers } = incoming;
    const onward = request({ port, method, headers, path: url.pathname + url.search }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.pipe(answer);
    });
    incoming.pipe(onward);
  });
  server.on('connect', (incoming: IncomingMessage, socket: Socket) => {
    asked.push(`CONNECT ${incoming.url} ${incoming.headers['proxy-authorization'] ?? ''}`.trim());
    const onward = connect(port, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    socket.pipe(onward).pipe(socket);
    for (const s of [socket, onward]) s.on('error', () => {});
  });
  server.on('connection', (socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
