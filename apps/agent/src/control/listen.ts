import { chmod, mkdir, rename, rm, symlink } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors';
import type { ControlFailure } from '@platform/contract/agent-status';
import { errorText, type Clock, type Log } from '@platform/kit';
import { inMemory } from '@platform/kit/node';
import { readRequest, replyText, type HttpRequest } from './http-text.ts';
import { answer, type Controlled } from './requests.ts';
import { socketFile } from './socket-file.ts';

/** Clients are users and scripts on this machine: short requests, short answers, few at a time. */
export const controlLimits = { connections: 16, connectionMs: 5_000 } as const;

/**
 * Serves ROOT/state/control.sock, for root only, until `signal`. A client can occupy at most one of a few connections
 * for a few seconds. @throws Error if the socket cannot be created
 */
export async function listen(
  root: string,
  controlled: Controlled,
  { clock, log }: { clock: Clock; log: Log },
  signal: AbortSignal,
): Promise<void> {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {}); // clients may disconnect at any time
    if (open.size >= controlLimits.connections) return void socket.destroy();
    open.add(socket);
    const closed = new AbortController();
    socket.once('close', () => {
      open.delete(socket);
      closed.abort();
    });
    void clock.sleep(controlLimits.connectionMs, closed.signal).then(() => socket.destroy());
    converse(socket, controlled, log);
  });

  const file = path.join(root, socketFile);
  const bind = async (to: string): Promise<void> => {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(to, () => resolve());
    });
    server.removeAllListeners('error');
    server.on('error', (error) => log.warn('the control socket failed', { error: errorText(error) }));
    await chmod(to, 0o600);
  };
  const inFile = await bound(file, bind).catch((error: unknown) => {
    server.close(); // it may listen already
    throw error;
  });
  try {
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  } finally {
    await rm(file, { force: true });
    await rm(inFile, { force: true });
    server.close();
    for (const socket of open) socket.destroy();
  }
}

/**
 * Binds inside a private folder, so that other users can connect at no moment. The rename replaces the socket of a dead
 * agent. On a full disk, the socket is in memory and `file` is a link to it. Returns the path of the socket.
 */
async function bound(file: string, bind: (to: string) => Promise<void>): Promise<string> {
  const made = `${path.dirname(file)}/.control`;
  const socket = path.join(made, 's');
  try {
    await rm(made, { recursive: true, force: true });
    await mkdir(made, { mode: 0o700 });
    await bind(socket);
    await rename(socket, file);
    return file;
  } catch (error) {
    const spare = await inMemory('control', file);
    if (spare === undefined) throw error;
    await rm(spare, { force: true });
    await bind(spare);
    const link = `${file}.link`;
    await rm(link, { force: true });
    await symlink(spare, link);
    await rename(link, file);
    return spare;
  } finally {
    await rm(made, { recursive: true, force: true });
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
