import { PlatformError } from '@platform/contract/errors/errors';
import { errorText, isAbort, type Clock } from '@platform/kit';
import type { Web } from '../../os/ports.ts';

/** No usable connection is slower over a whole window, so this is a slow retrieval attack. */
const windowMs = 60_000;
const windowBytes = 60 * 1024;

/**
 * Fetches a small document; undefined: the server has none of that name (404 or 403).
 *
 * @param limitBytes - largest size; the rest is not read.
 * @throws PlatformError METADATA_UNREACHABLE: no usable answer, or too slow; RELEASE_UNTRUSTED: too large, or
 * redirected.
 */
export async function fetchDocument(
  web: Web,
  url: string,
  limitBytes: number,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<Uint8Array | undefined> {
  const ended = new AbortController();
  const both = AbortSignal.any([signal, ended.signal]);
  const pace = { bytes: 0, isSlow: false };
  const watch = async (): Promise<void> => {
    while (!both.aborted) {
      const before = pace.bytes;
      await clock.sleep(windowMs, both);
      if (!both.aborted && pace.bytes - before < windowBytes) {
        pace.isSlow = true;
        ended.abort();
      }
    }
  };
  const watched = watch();
  try {
    const answer = await web.ask('GET', url, { accept: 'application/json' }, both);
    if (answer.status === 404 || answer.status === 403) return undefined;
    if (answer.status >= 300 && answer.status < 400) throw untrusted(url, 'the server sends to another address');
    if (answer.status !== 200)
      throw new PlatformError('METADATA_UNREACHABLE', { url, problem: `HTTP ${answer.status}` });
    const chunks: Uint8Array[] = [];
    for await (const chunk of answer.body) {
      pace.bytes += chunk.length;
      if (pace.bytes > limitBytes) throw untrusted(url, `it is larger than ${limitBytes} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } catch (error) {
    if (error instanceof PlatformError || (isAbort(error) && signal.aborted)) throw error;
    const problem = pace.isSlow ? `less than 1 KiB a second for ${windowMs / 1000} s` : errorText(error);
    throw new PlatformError('METADATA_UNREACHABLE', { url, problem }, error);
  } finally {
    ended.abort();
    await watched;
  }
}

const untrusted = (url: string, problem: string): PlatformError =>
  new PlatformError('RELEASE_UNTRUSTED', { target: new URL(url).pathname, problem });
