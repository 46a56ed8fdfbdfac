import path from 'node:path';
import { logSocketVersion } from '@platform/contract/log-socket';
import { inMemory } from '@platform/kit/node';

/** Relative to the root: the lines that the machine server sends to the socket, one JSON object each. */
export const linesFile = 'log/platform-server.lines.log';

/** The relay's folder contains two pipes and a socket. */
export const relayPlaces = (folder: string) => ({
  stdout: path.join(folder, 'stdout'),
  stderr: path.join(folder, 'stderr'),
  socket: path.join(folder, 'lines.sock'),
});

/** In memory if possible: a full disk must not keep a machine server from starting. */
export const relayFolder = async (root: string): Promise<string> =>
  (await inMemory('output', root)) ?? path.join(root, 'state', 'output');

/** First line of an agent on the socket: it checks whether the relay is alive. */
export const watchHello = JSON.stringify({ log_socket: logSocketVersion, watch: true });
