import { once } from 'node:events';
import type { Readable } from 'node:stream';

const listening = /Debugger listening on (ws:\S+)/;

/**
 * Makes a Node process, started with `--inspect-port=0`, open its debugger; works once per process.
 * @param stderr - of the process, which prints the URL of the debugger there.
 */
export function openDebugger(pid: number, stderr: Readable): Promise<string> {
  const address = addressIn(stderr);
  process.kill(pid, 'SIGUSR1');
  return address;
}

/** Runs a garbage collection in the process of this debugger. */
export async function collectGarbage(address: string): Promise<void> {
  const socket = new WebSocket(address);
  await once(socket, 'open');
  for (const id of [1, 2]) {
    socket.send(JSON.stringify({ id, method: 'HeapProfiler.collectGarbage' }));
    await once(socket, 'message');
  }
  socket.close();
  await once(socket, 'close');
}

function addressIn(stderr: Readable): Promise<string> {
  const found = Promise.withResolvers<string>();
  let output = '';
  const read = (bytes: Buffer): void => {
    output += bytes.toString();
    const [, address] = listening.exec(output) ?? [];
    if (address === undefined) return;
    stderr.off('data', read);
    found.resolve(address);
  };
  stderr.on('data', read);
  return found.promise;
}
