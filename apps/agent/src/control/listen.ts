import { chmod, mkdir, rename, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import path from 'node:path';
import { httpStatusOf, PlatformError } from '@platform/contract/errors';
import type { ControlFailure } from '@platform/contract/agent-status';
import { errorText, within, type Clock, type Log } from '@platform/kit';
import { answer, type Controlled } from './requests.ts';

export const socketFile = 'state/control.sock';

/** Whoever talks is a person or a script on this machine: short questions, short answers, few at a time. */
export const controlLimits = { connections: 16, bodyBytes: 4096, connectionMs: 5_000 } as const;

/**
 * Answers on ROOT/state/control.sock, for root alone, until `signal`. Whatever a client does costs at most one of a few
 * connections for a few seconds. @throws Error when the socket cannot be made
 */
export async function listen(
  root: string,
  controlled: Controlled,
  { clock, log }: { clock: Clock; log: Log },
  signal: AbortSignal,
): Promise<void> {
  const open = new Set<Socket>();
  const server = createServer({ maxHeaderSize: 4096, keepAlive: false }, (request, reply) => {
    void converse(request, reply, controlled, { clock, log });
  });
  server.on('connection', (socket: Socket) => {
    socket.on('error', () => {}); // a client that goes away in the middle is no event
    if (open.size >= controlLimits.connections) return void socket.destroy();
    open.add(socket);
    const done = new AbortController();
    socket.once('close', () => {
      open.delete(socket);
      done.abort();
    });
    void clock.sleep(controlLimits.connectionMs, done.signal).then(() => socket.destroy());
  });
  server.on('clientError', (_error, socket) => socket.destroy());

  // Bound inside a folder of our own: at no moment may others connect. The rename takes the place of a dead agent's socket.
  const file = path.join(root, socketFile);
  const made = `${path.dirname(file)}/.control`;
  await rm(made, { recursive: true, force: true });
  await mkdir(made, { mode: 0o700 });
  try {
    const bound = path.join(made, 's');
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(bound, () => resolve());
    });
    server.removeAllListeners('error');
    server.on('error', (error) => log.warn('the control socket failed', { error: errorText(error) }));
    await chmod(bound, 0o600);
    await rename(bound, file);
  } finally {
    await rm(made, { recursive: true, force: true });
  }
  try {
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  } finally {
    await rm(file, { force: true });
    server.close();
    for (const socket of open) socket.destroy();
  }
}

async function converse(
  request: IncomingMessage,
  reply: ServerResponse,
  controlled: Controlled,
  { clock, log }: { clock: Clock; log: Log },
): Promise<void> {
  const send = (status: number, body: unknown): void => {
    if (reply.destroyed) return;
    const text = `${JSON.stringify(body)}\n`;
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      connection: 'close',
    };
    reply.writeHead(status, headers).end(text);
  };
  try {
    const body = await bodyOf(request);
    const parts = { method: request.method ?? '', path: (request.url ?? '').split('?')[0] ?? '', body };
    const { status, body: result } = await within(
      controlLimits.connectionMs - 1_000,
      { what: 'the answer', clock },
      async () => answer(parts, controlled),
    );
    send(status, result);
  } catch (error) {
    const known = error instanceof PlatformError ? error : new PlatformError('INTERNAL', {}, error);
    if (known !== error) log.warn('a request on the control socket failed', { error: errorText(error) });
    const { code, what, remedy } = known;
    send(httpStatusOf(code), { error: { code, what, remedy } } satisfies ControlFailure);
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const limit = controlLimits.bodyBytes;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw new PlatformError('MESSAGE_TOO_LARGE', { limitBytes: limit });
    chunks.push(chunk);
  }
  if (size === 0) return undefined;
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
  } catch {
    throw new PlatformError('INVALID_ARGUMENT', { field: 'body', limit: 'it must be JSON' });
  }
}
