import { sleep } from './clock.ts';
import type { Connection } from './connection.ts';
import { PlatformApiError, apiError, localError } from './errors.ts';
import { nodeCrypto, webCrypto } from './runtime.ts';

export interface DownloadOptions {
  readonly signal?: AbortSignal;
  /** Called after each chunk with the bytes so far, and with the total if it is known. */
  readonly onProgress?: (doneBytes: number, totalBytes: number | undefined) => void;
  /** Maximum consecutive reconnects without a received byte. Default: 5. */
  readonly attempts?: number;
}

type Bytes = Uint8Array<ArrayBuffer>;

/** Downloads a file, resumes after a broken connection, and verifies the hash at the end. @param sha256 - in hex. */
export async function* download(
  connection: Connection,
  path: string,
  sha256: string,
  options: DownloadOptions,
): AsyncGenerator<Bytes, void> {
  const { signal, attempts = 5 } = options;
  const hash = hasher();
  let done = 0;
  let total: number | undefined;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const headers = done > 0 ? { range: `bytes=${done}-`, 'if-range': `"${sha256}"` } : new Headers();
      const response = await connection.request(path, { headers, ...(signal && { signal }) });
      // Without 206 the server sends the whole file again: skip the bytes received before.
      let skip = response.status === 206 ? 0 : done;
      total = sizeOf(response, done);
      for await (const piece of pieces(response)) {
        const rest = piece.subarray(Math.min(skip, piece.length));
        skip -= piece.length - rest.length;
        if (rest.length === 0) continue;
        done += rest.length;
        attempt = 0;
        hash.update(rest);
        options.onProgress?.(done, total);
        yield rest;
      }
      if (total !== undefined && done < total) throw new TypeError('the connection ended early');
      break;
    } catch (error) {
      const failure = apiError(error, connection.url, signal);
      // 416: all bytes were received before.
      if (failure instanceof PlatformApiError && failure.code === 'RANGE_NOT_SATISFIABLE') break;
      const mayPass = failure instanceof PlatformApiError ? failure.retry === 'later' : error instanceof TypeError;
      if (!mayPass || attempt >= attempts) throw failure;
      await sleep(Math.random() * Math.min(8000, 250 * 2 ** attempt), signal);
      signal?.throwIfAborted();
    }
  }
  const digest = await hash.digest();
  if (digest === sha256) return;
  throw localError('DOWNLOAD_CORRUPT', `The download of ${path} does not have the sha256 of its version.`, {
    url: path,
    wantSha256: sha256,
    gotSha256: digest,
  });
}

function sizeOf(response: Response, done: number): number | undefined {
  const length = response.headers.get('content-length');
  if (length === null || response.headers.has('content-encoding')) return undefined;
  return Number(length) + (response.status === 206 ? done : 0);
}

async function* pieces(response: Response): AsyncGenerator<Bytes, void> {
  const reader = response.body?.getReader();
  if (!reader) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    // Releases the connection if the consumer stops early.
    await reader.cancel().catch(() => undefined);
  }
}

interface Hasher {
  update(bytes: Bytes): void;
  digest(): Promise<string>;
}

/** Hashes SHA-256 incrementally on Node. A browser has no incremental hash, so it hashes the whole file. */
function hasher(): Hasher {
  const node = nodeCrypto();
  if (node) {
    const hash = node.createHash('sha256');
    return { update: (bytes) => void hash.update(bytes), digest: () => Promise.resolve(hash.digest('hex')) };
  }
  const kept: Bytes[] = [];
  return {
    update: (bytes) => void kept.push(bytes),
    async digest() {
      const { subtle } = await webCrypto();
      const all = await subtle.digest('SHA-256', await new Blob(kept).arrayBuffer());
      return Array.from(new Uint8Array(all), (byte) => byte.toString(16).padStart(2, '0')).join('');
    },
  };
}
