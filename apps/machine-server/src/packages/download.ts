import type { Clock } from '@platform/kit';
import { within } from '@platform/kit';
import { checksumHeader, crc32c, parseChecksum } from '@platform/sandbox/package-checksum';
import { createReadStream } from 'node:fs';
import { open, rm, stat, statfs } from 'node:fs/promises';
import path from 'node:path';

export interface Download {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Default: the runtime's fetch. */
  readonly fetch?: typeof fetch;
  /** Target file; resumes a partial file of an earlier attempt. */
  readonly file: string;
}

/** The response is not a package; an early retry would get the same response. */
export class NotAPackage extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = 'NotAPackage';
  }
}

/** The checksum differs from the announced one; the bytes have been removed. */
class ChecksumMismatch extends Error {
  constructor(want: number, got: number) {
    super(`its checksum is ${got.toString(16)}, announced was ${want.toString(16)}`);
    this.name = 'ChecksumMismatch';
  }
}

/** Timeout of each response and chunk; the whole download may take longer. */
const silenceMs = 30_000;

/** Downloads a package file: HEAD returns size and checksum, GET the bytes, from where an earlier attempt stopped. */
export async function download(of: Download, clock: Clock, signal: AbortSignal): Promise<void> {
  const { url, file } = of;
  const limit = { what: `the download of ${url}`, clock, signal };
  const { size, crc } = await within(silenceMs, limit, (until) => announced(of, until));
  const had = await stat(file).then(
    (s) => s.size,
    () => 0,
  );
  const disk = await statfs(path.dirname(file));
  const free = disk.bavail * disk.bsize;
  if (size - had > free) throw new Error(`it has ${size} bytes, ${path.dirname(file)} has ${free} left`);
  if (had > size) await rm(file);
  if (had !== size) await fetchRest(of, had > size ? 0 : had, limit);
  const got = await checksum(file);
  if (got !== crc) {
    await rm(file, { force: true });
    throw new ChecksumMismatch(crc, got);
  }
}

async function announced(
  { url, headers, fetch: send = fetch }: Download,
  signal: AbortSignal,
): Promise<{ size: number; crc: number }> {
  const response = await send(url, { method: 'HEAD', headers, signal, redirect: 'error' });
  if (response.status !== 200) throw new Error(`HEAD ${url} answered with status ${response.status}`);
  const type = response.headers.get('content-type');
  if (type !== 'application/x-gzip') throw new NotAPackage(`its content type is ${type}, not application/x-gzip`);
  const crc = parseChecksum(response.headers.get(checksumHeader));
  if (crc === undefined) throw new NotAPackage('its address announces no crc32c checksum');
  const size = Number(response.headers.get('content-length') ?? Number.NaN);
  if (!Number.isSafeInteger(size)) throw new NotAPackage('its address announces no length');
  return { size, crc };
}

async function fetchRest(
  { url, headers, file, fetch: send = fetch }: Download,
  from: number,
  limit: { what: string; clock: Clock; signal: AbortSignal },
): Promise<void> {
  const stop = new AbortController();
  const end = () => stop.abort(limit.signal.reason);
  limit.signal.addEventListener('abort', end, { once: true });
  if (limit.signal.aborted) end();
  try {
    const range = from > 0 ? { range: `bytes=${from}-` } : {};
    const response = await within(silenceMs, limit, () =>
      send(url, { headers: { ...headers, ...range }, signal: stop.signal, redirect: 'error' }),
    );
    if (response.status !== 200 && response.status !== 206) {
      throw new Error(`GET ${url} answered with status ${response.status}`);
    }
    // Status 200 for a range request returns the whole file from its start.
    await using handle = await open(file, response.status === 206 ? 'a' : 'w', 0o600);
    const body = response.body?.getReader();
    for (;;) {
      const piece = await within(silenceMs, limit, async () => body?.read() ?? { done: true, value: undefined });
      if (piece.value === undefined) break;
      await handle.write(piece.value);
    }
    await handle.sync();
  } finally {
    limit.signal.removeEventListener('abort', end);
    stop.abort();
  }
}

async function checksum(file: string): Promise<number> {
  let crc = 0;
  for await (const piece of createReadStream(file)) crc = crc32c(piece as Buffer, crc);
  return crc;
}
