import { connect, type Socket } from 'node:net';

export const connected = (host: string, port: number, signal: AbortSignal): Promise<Socket> =>
  opened(connect({ host, port }), 'connect', signal);

/** Resolves with the socket after the event that makes it usable. Until then the signal destroys it. */
export function opened<S extends Socket>(socket: S, event: string, signal: AbortSignal): Promise<S> {
  socket.on('error', () => {}); // later users detect errors when they read
  return new Promise((resolve, reject) => {
    const abort = (): void => void socket.destroy(signal.reason as Error);
    const end = (f: () => void) => (): void => {
      signal.removeEventListener('abort', abort);
      f();
    };
    socket.once(
      event,
      end(() => resolve(socket)),
    );
    socket.once('error', (error) => end(() => reject(error))());
    socket.once(
      'close',
      end(() => reject(new Error('the connection was closed'))),
    );
    signal.addEventListener('abort', abort, { once: true });
  });
}
