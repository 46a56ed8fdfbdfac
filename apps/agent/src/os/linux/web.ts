import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Web, WebAnswer } from '../ports.ts';

/** http, https and files of this machine. `send`: left out, the runtime's own fetch. */
export const webBy = (send: typeof fetch = fetch): Web => ({
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

export const linuxWeb: Web = webBy();

async function* nothing(): AsyncGenerator<Uint8Array> {}

async function askFile(method: 'GET' | 'HEAD', url: string, signal: AbortSignal): Promise<WebAnswer> {
  const path = fileURLToPath(url);
  const s = await stat(path);
  if (!s.isFile()) throw new Error(`${path} is no file`);
  return {
    status: 200,
    // Size, time and number of the file; no part of an entity tag that a copy could be continued by.
    headers: new Map([
      ['content-length', String(s.size)],
      ['last-modified', `${s.size}/${s.mtimeMs}/${s.ino}`],
    ]),
    body: method === 'HEAD' ? nothing() : (createReadStream(path, { signal }) as AsyncIterable<Uint8Array>),
  };
}
