import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { errorText, type Clock } from '@platform/kit';
import type { Web, WebAnswer } from './ports.ts';
import type { RequestTrace } from './request-trace.ts';

/** http, https and local files. `send`: the runtime's own fetch by default. */
export const createWeb = (send: typeof fetch = fetch, tracing?: { trace: RequestTrace; clock: Clock }): Web => {
  const web = plainWeb(send);
  return tracing ? { ask: (...request) => tracedAsk(web, tracing, ...request) } : web;
};

async function tracedAsk(
  web: Web,
  { trace, clock }: { trace: RequestTrace; clock: Clock },
  ...request: Parameters<Web['ask']>
): Promise<WebAnswer> {
  const [method, url] = request;
  const report = trace.begin({ method, url }, clock);
  try {
    const answer = await web.ask(...request);
    if (method === 'HEAD') report(answer.status, 0);
    return method === 'HEAD' ? answer : { ...answer, body: counted(answer, report) };
  } catch (error) {
    report(undefined, 0, errorText(error).slice(0, 200));
    throw error;
  }
}

/** Reports when the body has been read or abandoned. */
async function* counted(
  { status, body }: WebAnswer,
  report: (status: number, receivedBytes: number) => void,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const piece of body) {
      bytes += piece.byteLength;
      yield piece;
    }
  } finally {
    report(status, bytes);
  }
}

const plainWeb = (send: typeof fetch): Web => ({
  async ask(method, url, headers, signal) {
    if (url.startsWith('file:')) return askFile(method, url, signal);
    const answer = await send(url, { method, headers, signal, redirect: 'manual' });
    return {
      status: answer.status,
      headers: new Map(answer.headers),
      body: answer.body ?? nothing(),
    };
  },
});

export const systemWeb: Web = createWeb();

async function* nothing(): AsyncGenerator<Uint8Array> {}

async function askFile(method: 'GET' | 'HEAD', url: string, signal: AbortSignal): Promise<WebAnswer> {
  const path = fileURLToPath(url);
  const s = await stat(path);
  if (!s.isFile()) throw new Error(`${path} is not a file`);
  return {
    status: 200,
    // Size, time and inode of the file. They are not sent as an ETag, so a copy is never resumed by them.
    headers: new Map([
      ['content-length', String(s.size)],
      ['last-modified', `${s.size}/${s.mtimeMs}/${s.ino}`],
    ]),
    body: method === 'HEAD' ? nothing() : (createReadStream(path, { signal }) as AsyncIterable<Uint8Array>),
  };
}
