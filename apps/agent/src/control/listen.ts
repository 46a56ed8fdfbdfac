import { createServer, type Socket } from 'node:net';
import { PlatformError } from '@platform/contract/errors/errors';
import type { ControlFailure } from '@platform/contract/machine/agent-status';
import { errorText, type Clock, type Log } from '@platform/kit';
import type { OpenControl } from '../os/ports.ts';
import { readRequest, replyText, type HttpRequest } from './http-text.ts';
import { answer, type Controlled } from './requests.ts';

/** Clients are users and scripts on this machine: short requests, short answers, few at a time. */
export const controlLimits = { connections: 16, connectionMs: 5_000 } as const;

/**
 * Serves the control channel until `signal`. A client can occupy at most one of a few connections for a few seconds.
 *
 * @param open - makes the channel: a Unix socket or a named pipe, for administrators only.
 * @throws Error if it cannot be made
 */
export async function listen(
  open: OpenControl,
  controlled: Controlled,
  { clock, log }: { clock: Clock; log: Log },
  signal: AbortSignal,
): Promise<void> {
  const connections = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {}); // clients may disconnect at any time
    if (connections.size >= controlLimits.connections) return void socket.destroy();
    connections.add(socket);
    const closed = new AbortController();
    socket.once('close', () => {
      connections.delete(socket);
      closed.abort();
    });
    void clock.sleep(controlLimits.connectionMs, closed.signal).then(() => socket.destroy());
    converse(socket, controlled, log);
  });
  const bind = async (to: string): Promise<void> => {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(to, () => resolve());
    });
    server.removeAllListeners('error');
    server.on('error', (error) => log.warn('the control channel failed', { error: errorText(error) }));
  };
  const close = await open(bind).catch((error: unknown) => {
    server.close(); // it may listen already
    throw error;
  });
  try {
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  } finally {
    await close();
    server.close();
    for (const socket of connections) socket.destroy();
  }
}

/** Reads one request and sends one answer. */
function converse(socket: Socket, controlled: Controlled, log: Log): void {
  let heard = Buffer.alloc(0);
  const reply = (text: string): void => {
    socket.off('data', hear).off('end', giveUp);
    socket.end(text);
    socket.resume(); // discard further input
  };
  const refuse = (error: unknown): void => {
    const known = error instanceof PlatformError ? error : new PlatformError('INTERNAL', {}, error);
    if (known !== error) log.warn('a request on the control socket failed', { error: errorText(error) });
    const { code, what, remedy } = known;
    reply(replyText(code, { error: { code, what, remedy } } satisfies ControlFailure));
  };
  const giveUp = (): void => void socket.destroy(); // the input ended before a complete request
  const hear = (chunk: Buffer): void => {
    heard = Buffer.concat([heard, chunk]);
    try {
      const request = readRequest(heard);
      if (!request) return;
      socket.off('data', hear).off('end', giveUp);
      log.debug('request', { route: `${request.method} ${request.path}`, by: 'a command on this machine' });
      answered(request, controlled).then((body) => reply(replyText(undefined, body)), refuse);
    } catch (error) {
      refuse(error);
    }
  };
  socket.on('data', hear).on('end', giveUp);
}

async function answered({ method, path: what, body }: HttpRequest, controlled: Controlled): Promise<unknown> {
  return answer({ method, path: what, body: body === '' ? undefined : parsed(body) }, controlled);
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    throw new PlatformError('INVALID_ARGUMENT', { field: 'body', limit: 'it must be JSON' });
  }
}
