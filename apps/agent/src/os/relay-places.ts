import path from 'node:path';
import { logSocketVersion } from '@platform/contract/log-socket';
import { inMemory } from '@platform/kit/node';

/** Below the root: what the machine server hands over at the socket, a JSON object a line. */
export const linesFile = 'log/platform-server.lines.log';

/** In the folder of the relay: two pipes and a socket. */
export const relayPlaces = (folder: string) => ({
  stdout: path.join(folder, 'stdout'),
  stderr: path.join(folder, 'stderr'),
  socket: path.join(folder, 'lines.sock'),
});

/** In memory where that is possible: a full disk must not keep a machine server from starting. */
export const relayFolder = async (root: string): Promise<string> =>
  (await inMemory('output', root)) ?? path.join(root, 'state', 'output');

/** First line of an agent on the socket: it wants to know whether the relay lives. */
export const watchHello = JSON.stringify({ log_socket: logSocketVersion, watch: true });
