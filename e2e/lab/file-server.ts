// Files for a machine that cannot be handed a disk: over HTTP on a port of this host's loopback.
import { createReadStream } from 'node:fs';
import http from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import path from 'node:path';

/** Serves these files by their names. */
export async function serveFiles(...files: readonly string[]): Promise<{ port: number } & AsyncDisposable> {
  const byName = new Map(files.map((file) => [`/${path.basename(file)}`, file]));
  const server = http.createServer((request, response) => {
    const file = byName.get(request.url ?? '');
    if (file === undefined) return void response.writeHead(404).end();
    createReadStream(file)
      .once('error', (error) => response.destroy(error))
      .pipe(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
