/** Content-addressed files: GET and PUT /blobs/<sha256>. */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Code, ConnectError } from '@connectrpc/connect';
import { isErrorCode, PlatformError } from '@platform/contract/errors/errors';
import type { Session } from './session.ts';

/** Throws ConnectError when the server refuses or is unreachable, HASH_MISMATCH when the received bytes differ. */
export interface Blobs {
  /** Writes the content to `file` and verifies its hash. */
  get(sha256: string, file: string, signal: AbortSignal): Promise<void>;
  /** Stores the content of `file`; sends nothing if the server already has it. */
  put(sha256: string, file: string, signal: AbortSignal): Promise<void>;
}

const codes: Readonly<Record<number, Code>> = {
  400: Code.InvalidArgument,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.NotFound,
  413: Code.ResourceExhausted,
  422: Code.DataLoss,
};

/** @throws ConnectError with code Unavailable on a network failure, as RPC calls do. */
async function exchange(url: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ConnectError('the server cannot be reached', Code.Unavailable, undefined, undefined, error);
  }
  if (response.ok) return response;
  const code = codes[response.status] ?? Code.Unavailable;
  const text = await response.text().catch(() => '');
  const reported = reportedIn(text);
  throw new ConnectError(
    reported ?? `${init.method ?? 'GET'} ${new URL(url).pathname}: ${response.status} ${text.slice(0, 300)}`,
    code,
  );
}

/** Formats the server's error like an RPC error; undefined if the text is not an error of the server. */
function reportedIn(text: string): string | undefined {
  try {
    const { code, message, remedy } = JSON.parse(text) as Record<string, unknown>;
    if (typeof code === 'string' && isErrorCode(code)) return `${code}: ${String(message)} ${String(remedy)}`;
  } catch {
    // The response may come from a proxy.
  }
  return undefined;
}

export function connectBlobs(baseUrl: string, session: Session): Blobs {
  const urlOf = (sha256: string): string => `${baseUrl}/blobs/${sha256}`;
  return {
    get: (sha256, file, signal) =>
      session.call(signal, async (headers) => {
        const { body } = await exchange(urlOf(sha256), { headers, signal });
        const hash = createHash('sha256');
        const through = new Transform({
          transform(chunk: Buffer, _, done) {
            hash.update(chunk);
            done(undefined, chunk);
          },
        });
        try {
          await pipeline(
            body ? Readable.fromWeb(body) : Readable.from([]),
            through,
            createWriteStream(file, { mode: 0o600 }),
            {
              signal,
            },
          );
        } catch (error) {
          const isDisk = error instanceof Error && 'code' in error && 'syscall' in error;
          if (signal.aborted || isDisk) throw error;
          throw new ConnectError('the transfer broke off', Code.Unavailable, undefined, undefined, error);
        }
        const got = hash.digest('hex');
        if (got !== sha256)
          throw new PlatformError('HASH_MISMATCH', { path: file, wantSha256: sha256, gotSha256: got });
      }),
    put: (sha256, file, signal) =>
      session.call(signal, async (headers) => {
        const body = Readable.toWeb(createReadStream(file)) as ReadableStream<Uint8Array>;
        const init = { method: 'PUT', headers, body, signal, duplex: 'half' } as const;
        await (await exchange(urlOf(sha256), init)).arrayBuffer();
      }),
  };
}
