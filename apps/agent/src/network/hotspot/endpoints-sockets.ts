import { createServer, type Server } from 'node:net';
import type { Processes } from '../../os/ports.ts';

/** A listening socket that is only handed over: nothing is accepted or read here. */
export interface HeldSocket {
  readonly descriptor: number;
  /** Closes the descriptor of this process. */
  close(): void;
}

/** @throws Error that names the process that has the port */
export async function bindSocket(
  host: string,
  port: number,
  processes: Pick<Processes, 'listener'>,
): Promise<HeldSocket> {
  // A connection that comes before the hand-over is closed; phones try again.
  const server = createServer((socket) => socket.destroy());
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port, backlog: 64 }, resolve);
    });
  } catch (error) {
    if ((error as { code?: string }).code !== 'EADDRINUSE') throw error;
    const owner = await processes.listener(port);
    const by = owner ? `${owner.command} (process ${owner.pid})` : 'another program';
    throw new Error(`Port ${port} on ${host} is used by ${by}. Stop it, or let it listen on other addresses only.`, {
      cause: error,
    });
  }
  return { descriptor: descriptorOf(server), close: () => void server.close() };
}

/** Node and Bun keep it in a property that has no documentation; a test starts the compiled program. */
function descriptorOf(server: Server): number {
  const { _handle: handle } = server as Server & { _handle?: { fd?: number } };
  if (typeof handle?.fd === 'number' && handle.fd > 2) return handle.fd;
  server.close();
  throw new Error('this runtime does not give the descriptor of a socket');
}
