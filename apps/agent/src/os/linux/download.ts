import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rm, stat, statfs, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { PlatformError } from '@platform/contract/errors';
import { errorText, TimeoutError, within, type Clock, type Log } from '@platform/kit';
import { atomicWrite, readJson } from '@platform/kit/node';
import { fullDisk } from './disk.ts';

const silenceMs = 60_000;
const progressMs = 10_000;
const spareBytes = 50 * 2 ** 20;
const limitBytes = 2 ** 30;

export interface Fetched {
  /** Complete, on disk; the caller moves it away. */
  file: string;
  sha256: string;
  /** What tells one content of this URL from another without fetching it; empty: nothing does. */
  stamp: string;
}

export type FreeBytes = (folder: string) => Promise<number>;
export interface DownloadParts {
  clock: Clock;
  log: Log;
  freeBytes: FreeBytes;
}

/**
 * Fetches `url` into `folder`, hashing while it writes. What an earlier, interrupted call left is continued when the
 * source still is the same (If-Range).
 *
 * @throws PlatformError DOWNLOAD_FAILED, DISK_FULL
 */
export async function fetchFile(
  url: string,
  folder: string,
  { clock, log, freeBytes }: DownloadParts,
  signal: AbortSignal,
): Promise<Fetched> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = path.join(folder, `${createHash('sha256').update(url).digest('hex').slice(0, 16)}.part`);
  try {
    return url.startsWith('file:')
      ? await copyLocal(url, file, freeBytes, signal)
      : await fetchHttp(url, file, { clock, log, freeBytes }, signal);
  } catch (error) {
    if (signal.aborted || error instanceof PlatformError) throw error;
    const known = fullDisk(error, folder);
    throw known === error ? new PlatformError('DOWNLOAD_FAILED', { url, problem: errorText(error) }, error) : known;
  }
}

async function copyLocal(url: string, file: string, freeBytes: FreeBytes, signal: AbortSignal): Promise<Fetched> {
  const source = fileURLToPath(url);
  const { size } = await stat(source);
  await checkSpace(path.dirname(file), size, freeBytes);
  const hash = createHash('sha256');
  await using handle = await open(file, 'w', 0o700);
  for await (const chunk of createReadStream(source, { signal })) await put(handle, hash, chunk as Uint8Array);
  await handle.sync();
  return { file, sha256: hash.digest('hex'), stamp: await stampOf(url, signal) };
}

async function fetchHttp(
  url: string,
  file: string,
  { clock, log, freeBytes }: DownloadParts,
  signal: AbortSignal,
): Promise<Fetched> {
  const stampFile = `${file}.stamp`;
  const before = await part(file, await readJson(stampFile).catch(() => undefined));
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  try {
    const headers: Record<string, string> = { 'accept-encoding': 'identity' };
    if (before) Object.assign(headers, { range: `bytes=${before.bytes}-`, 'if-range': before.stamp });
    const answer = await within(silenceMs, { what: 'the answer', clock, signal }, () =>
      fetch(url, { headers, signal: both }),
    );
    if (answer.status === 416) {
      await rm(file, { force: true }); // it was complete, or the source has shrunk: from the beginning
      throw new Error('the rest of an interrupted download is not there any more');
    }
    if (!answer.ok || !answer.body) throw new Error(`HTTP ${answer.status}`);
    const goesOn = before !== undefined && answer.status === 206;
    const had = goesOn ? before.bytes : 0;
    const length = Number(answer.headers.get('content-length') ?? 0);
    if (had + length > limitBytes) throw new Error(`larger than the limit of ${limitBytes} bytes`);
    await checkSpace(path.dirname(file), length, freeBytes);
    const stamp = stampFrom(answer.headers);
    const hash = goesOn ? before.hash : createHash('sha256');
    await using handle = await open(file, goesOn ? 'a' : 'w', 0o700);
    await atomicWrite(stampFile, JSON.stringify(stamp), { mode: 0o600 });
    if (goesOn) log.info('continuing an interrupted download', { url, fromBytes: had });

    let bytes = had;
    let told = clock.now();
    const reader = answer.body.getReader();
    for (;;) {
      const { done, value } = await within(silenceMs, { what: 'the next part', clock, signal }, () => reader.read());
      if (done) break;
      bytes += value.byteLength;
      if (bytes > limitBytes) throw new Error(`larger than the limit of ${limitBytes} bytes`);
      await put(handle, hash, value);
      if (clock.now() - told >= progressMs) {
        told = clock.now();
        log.info('downloading', { url, bytes, ofBytes: had + length });
      }
    }
    if (length > 0 && bytes !== had + length) throw new Error(`ended after ${bytes} of ${had + length} bytes`);
    await handle.sync();
    await rm(stampFile, { force: true });
    return { file, sha256: hash.digest('hex'), stamp };
  } catch (error) {
    if (error instanceof TimeoutError) throw new Error(`silent for ${silenceMs / 1000} s`, { cause: error });
    throw error;
  } finally {
    stop.abort();
  }
}

async function put(handle: FileHandle, hash: Hash, bytes: Uint8Array): Promise<void> {
  hash.update(bytes);
  await handle.appendFile(bytes);
}

/** What an interrupted download left, hashed; undefined when there is nothing that can be continued. */
async function part(file: string, stamp: unknown): Promise<{ bytes: number; stamp: string; hash: Hash } | undefined> {
  if (typeof stamp !== 'string' || stamp === '' || stamp.startsWith('W/')) return undefined;
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    for await (const chunk of createReadStream(file)) {
      hash.update(chunk as Uint8Array);
      bytes += (chunk as Uint8Array).byteLength;
    }
  } catch {
    return undefined;
  }
  return bytes > 0 ? { bytes, stamp, hash } : undefined;
}

const stampFrom = (headers: Headers): string => headers.get('etag') ?? headers.get('last-modified') ?? '';

/** The stamp of what the URL leads to now. @throws when it cannot be reached. */
export async function stampOf(url: string, signal: AbortSignal): Promise<string> {
  if (url.startsWith('file:')) {
    const s = await stat(fileURLToPath(url));
    return `${s.size}/${s.mtimeMs}/${s.ino}`;
  }
  const answer = await fetch(url, { method: 'HEAD', signal });
  if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
  return stampFrom(answer.headers);
}

/** What an ordinary process may still write beside this folder. */
export async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

async function checkSpace(folder: string, bytes: number, freeBytes: FreeBytes): Promise<void> {
  if ((await freeBytes(folder)) < bytes + spareBytes)
    throw new PlatformError('DISK_FULL', { path: folder, neededBytes: bytes + spareBytes });
}
