import { connect, type Socket } from 'node:net';

export const connected = (host: string, port: number, signal: AbortSignal): Promise<Socket> =>
  opened(connect({ host, port }), 'connect', signal);

/** The socket, after the event that says that it can be used. It is destroyed by the signal until then. */
export function opened<S extends Socket>(socket: S, event: string, signal: AbortSignal): Promise<S> {
  socket.on('error', () => {}); // whoever uses it hears of it by what it reads
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
