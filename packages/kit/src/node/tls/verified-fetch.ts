import { request, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { connectUnverified, connectVerified, type ConnectOptions } from './connection.ts';
import type { VerifiedChain } from './chain.ts';

/**
 * A fetch over its own connection; see `connectVerified`. It follows no redirects and decompresses nothing.
 *
 * @param checkChain - receives the verified chain before anything is sent; an exception ends the call.
 */
export async function fetchVerified(
  sent: Request,
  { floor, env, authorities, checkChain }: Omit<ConnectOptions, 'url'> & { checkChain: (chain: VerifiedChain) => void },
): Promise<Response> {
  const url = new URL(sent.url);
  const { socket, chain } = await connectVerified({ url, floor, env, authorities }, sent.signal);
  try {
    checkChain(chain);
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return exchange(sent, url, socket);
}

/**
 * A fetch from whoever answers at an https URL. Send nothing secret, and trust the answer only if you know its hash.
 * It follows no redirects and decompresses nothing.
 */
export async function fetchUnverified(sent: Request, env: ConnectOptions['env']): Promise<Response> {
  const url = new URL(sent.url);
  return exchange(sent, url, await connectUnverified({ url, env }, sent.signal));
}

async function exchange(sent: Request, url: URL, socket: Socket): Promise<Response> {
  const { signal } = sent;
  try {
    const body = sent.body ? new Uint8Array(await sent.arrayBuffer()) : undefined;
    const headers = Object.fromEntries(sent.headers);
    Object.assign(headers, { host: url.host, 'accept-encoding': 'identity', connection: 'close' });
    if (body) headers['content-length'] = String(body.length);
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const { method } = sent;
      const path = `${url.pathname}${url.search}`;
      const call = request({ createConnection: () => socket, host: url.hostname, method, path, headers, signal });
      call.once('response', resolve).on('error', reject);
      call.end(body);
    });
    return responseOf(sent, answer);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function responseOf({ method, redirect }: Request, answer: IncomingMessage): Response {
  const status = answer.statusCode ?? 0;
  if (redirect === 'error' && status >= 300 && status < 400 && status !== 304) {
    throw new TypeError(`the server sends to ${answer.headers.location}`);
  }
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headers)) {
    for (const one of Array.isArray(value) ? value : [value ?? '']) headers.append(name, one);
  }
  const isEmpty = method === 'HEAD' || status === 204 || status === 304;
  if (isEmpty) answer.resume();
  return new Response(isEmpty ? null : bodyOf(answer), { status, headers });
}

/** A body with backpressure; a connection that closes before the body ends is an error. */
function bodyOf(answer: IncomingMessage): ReadableStream<Uint8Array> {
  const parts = answer[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  return new ReadableStream({
    async pull(to) {
      const { done, value } = await parts.next();
      if (!done) return to.enqueue(new Uint8Array(value));
      if (!answer.complete) throw new Error('the connection ended before the body');
      to.close();
    },
    async cancel() {
      answer.destroy();
      await parts.return?.();
    },
  });
}
