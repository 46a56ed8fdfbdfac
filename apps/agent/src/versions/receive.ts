import { PlatformError } from '@platform/contract/errors/errors';
import { errorText, TimeoutError, within, type Clock, type Log } from '@platform/kit';
import { chunksOf, fullDisk, replaceFile } from '../os/file-disk.ts';
import type { FileSystem, Web, WebAnswer, WritableFile } from '../os/ports.ts';
import { Inspector, type Inspected } from './inspect.ts';
import { partFolder } from './layout.ts';
import type { Progress } from './fetch-ports.ts';
import { textOf } from './switch.ts';
import type { Context } from '../health/context.ts';

const silenceMs = 60_000;
const slowBytes = 60 * 1024; // within `silenceMs`: 1 KiB/s
const progressMs = 1_000;
const loggedMs = 10_000;
const syncBytes = 16 * 2 ** 20;
const spareBytes = 50 * 2 ** 20;
export const largestBytes = 2 ** 30;
const mostRedirects = 5;

export interface Wanting {
  url: string;
  /** Empty: unknown. */
  sha256: string;
  /** 0: unknown. */
  sizeBytes: number;
  /** Name of the unfinished file. */
  part: string;
  /** What is downloaded, for display. */
  what: string;
}

export interface Received {
  /** Path of the complete file; the caller moves it away. */
  path: string;
  found: Inspected;
  stamp: string;
}

export interface ReceiveParts extends Pick<Context, 'files' | 'clock' | 'log'> {
  web: Web;
  /** Boot ID, different after each boot; empty: unknown. */
  boot: string;
}

const isLoopback = ({ hostname }: URL): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);

/** Why a URL must not be used for a download; undefined: it may. Plain http needs a hash, except on loopback. */
export function problemOfUrl(text: string, hasHash: boolean): string | undefined {
  if (!URL.canParse(text)) return 'it is not a URL';
  const url = new URL(text);
  if (url.protocol === 'https:' || url.protocol === 'file:') return undefined;
  if (url.protocol !== 'http:') return `${url.protocol} is not supported: use https, http or file`;
  if (hasHash || isLoopback(url)) return undefined;
  return 'plain http could be changed on its way: use https, or name the sha256 of the file';
}

/** The target of a redirect. @throws PlatformError if it must not be followed */
function redirected(from: string, location: string | undefined, hasHash: boolean): string {
  const problem = (text: string) => new PlatformError('DOWNLOAD_FAILED', { url: from, problem: text });
  if (location === undefined || !URL.canParse(location, from)) throw problem('a redirect that leads nowhere');
  const [was, to] = [new URL(from), new URL(location, from)];
  if (to.protocol === 'file:') throw problem('a redirect to a file of this machine is not followed');
  if (was.protocol === 'https:' && to.protocol !== 'https:') throw problem('a redirect to plain http is not followed');
  const why = problemOfUrl(to.href, hasHash);
  if (why !== undefined) throw problem(`a redirect is not followed: ${why}`);
  return to.href;
}

async function ask(
  method: 'GET' | 'HEAD',
  { url, sha256 }: Pick<Wanting, 'url' | 'sha256'>,
  headers: Record<string, string>,
  { web, clock }: Pick<ReceiveParts, 'web' | 'clock'>,
  signal: AbortSignal,
): Promise<WebAnswer> {
  const wrong = problemOfUrl(url, sha256 !== '');
  if (wrong !== undefined) throw new PlatformError('DOWNLOAD_FAILED', { url, problem: wrong });
  let at = url;
  for (let hop = 0; hop <= mostRedirects; hop++) {
    const answer = await within(silenceMs, { what: 'the answer', clock, signal }, () =>
      web.ask(method, at, headers, signal),
    );
    if (![301, 302, 303, 307, 308].includes(answer.status)) return answer;
    at = redirected(at, answer.headers.get('location'), sha256 !== '');
  }
  throw new PlatformError('DOWNLOAD_FAILED', { url, problem: `more than ${mostRedirects} redirects` });
}

const stampFrom = ({ headers }: WebAnswer): string => headers.get('etag') ?? headers.get('last-modified') ?? '';

/** First byte of an answer with status 206; undefined: not stated. */
function rangeStart({ headers }: WebAnswer): number | undefined {
  const start = /^bytes (\d+)-/.exec(headers.get('content-range') ?? '')?.[1];
  return start === undefined ? undefined : Number(start);
}

/** The stamp of the current content of a URL. @throws if the URL is unreachable */
export async function stampOf(
  url: string,
  parts: Pick<ReceiveParts, 'web' | 'clock'>,
  signal: AbortSignal,
): Promise<string> {
  const answer = await ask('HEAD', { url, sha256: '' }, {}, parts, signal);
  if (answer.status !== 200) throw new Error(`HTTP ${answer.status}`);
  return stampFrom(answer);
}

/** Seconds of the Retry-After header, at most a day. */
function retryAfter(headers: ReadonlyMap<string, string>, wall: number): number | undefined {
  const text = headers.get('retry-after');
  if (text === undefined) return undefined;
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - wall) / 1000);
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, 86_400) : undefined;
}

/** @param of - path of the file to write, and what it is, for display. */
export async function checkSpace(
  files: FileSystem,
  sizeBytes: number,
  of: { path: string; what: string },
): Promise<void> {
  const neededBytes = 2 * sizeBytes + spareBytes;
  const freeBytes = await files.freeBytes();
  if (freeBytes >= neededBytes) return;
  const [needed, free] = [`${Math.ceil(neededBytes / 1e6)} MB`, `${Math.floor(freeBytes / 1e6)} MB`];
  throw new PlatformError('DISK_FULL', { ...of, needed, free, neededBytes, freeBytes });
}

/**
 * Downloads into the folder of unfinished files and hashes while writing. Continues an interrupted download if the
 * source is unchanged (If-Range).
 *
 * @throws PlatformError DOWNLOAD_FAILED, DOWNLOAD_CORRUPT, DISK_FULL
 */
export async function receive(
  want: Wanting,
  parts: ReceiveParts,
  tell: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<Received> {
  const { url } = want;
  try {
    const first = await receiveOnce(want, true, parts, tell, signal);
    if (want.sha256 === '' || first.found.sha256 === want.sha256) return first;
    // A power cut may have damaged the continued part: download the whole file once more.
    const got = first.isContinued ? await receiveOnce(want, false, parts, tell, signal) : first;
    if (got.found.sha256 === want.sha256) return got;
    await parts.files.unlink(got.path);
    throw new PlatformError('DOWNLOAD_CORRUPT', { url, wantSha256: want.sha256, gotSha256: got.found.sha256 });
  } catch (error) {
    if (signal.aborted || error instanceof PlatformError) throw error;
    const known = await fullDisk(parts.files, error, `${partFolder}/${want.part}`, want.what);
    if (known !== error) throw known;
    const problem = error instanceof TimeoutError ? `silent for ${silenceMs / 1000} s` : errorText(error);
    throw new PlatformError('DOWNLOAD_FAILED', { url, problem }, error);
  }
}

async function receiveOnce(
  want: Wanting,
  mayContinue: boolean,
  parts: ReceiveParts,
  tell: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<Received & { isContinued: boolean }> {
  const { files, clock } = parts;
  const path = `${partFolder}/${want.part}`;
  await checkSpace(files, want.sizeBytes, { path, what: want.what });
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  try {
    const before = mayContinue
      ? await findLeftover(path, await textOf(files, stampPath(path)), want, parts)
      : undefined;
    const range = before && { range: `bytes=${before.bytes}-`, 'if-range': before.stamp };
    const answer = await ask('GET', want, { 'accept-encoding': 'identity', ...range }, parts, both);
    const isElsewhere = answer.status === 206 && rangeStart(answer) !== before?.bytes;
    if ((answer.status === 416 || isElsewhere) && before) {
      stop.abort();
      return await receiveOnce(want, false, parts, tell, signal); // the source has shrunk, or sends another range
    }
    if (isElsewhere) throw new Error('the server sent another range than the requested one');
    checkStatus(answer, want.url, clock.wall());
    const continued = answer.status === 206 ? before : undefined;
    const found = await writeAnswer(answer, { want, path, continued, tell, signal, both }, parts);
    return { path, found, stamp: stampFrom(answer), isContinued: continued !== undefined };
  } finally {
    stop.abort();
  }
}

const stampPath = (path: string): string => `${path}.stamp`;

/** @throws PlatformError DOWNLOAD_FAILED if there is no file in the answer */
function checkStatus({ status, headers }: WebAnswer, url: string, wall: number): void {
  if (status === 200 || status === 206) return;
  const wait = retryAfter(headers, wall);
  throw new PlatformError('DOWNLOAD_FAILED', {
    url,
    problem: `HTTP ${status}`,
    ...(wait !== undefined && { retryAfterSeconds: wait }),
  });
}

/** What an interrupted download left. */
interface Leftover {
  bytes: number;
  stamp: string;
  inspector: Inspector;
}

/** An answer that is being written. */
interface Writing {
  want: Wanting;
  path: string;
  /** The interrupted download that this answer continues. */
  continued: Leftover | undefined;
  tell: (progress: Progress) => void;
  /** Ends the whole download. */
  signal: AbortSignal;
  /** Ends this answer, too. */
  both: AbortSignal;
}

/** Writes an answer to the file at `path`. Its stamp is on disk meanwhile, so that the download can be continued. */
async function writeAnswer(answer: WebAnswer, writing: Writing, parts: ReceiveParts): Promise<Inspected> {
  const { want, path, continued } = writing;
  const { files, boot, log } = parts;
  const { url } = want;
  const had = continued?.bytes ?? 0;
  const length = Number(answer.headers.get('content-length') ?? 0);
  if (had + length > limitOf(want)) throw tooLarge(want);
  await checkSpace(files, length, { path, what: want.what });
  if (continued) log.info('continuing an interrupted download', { url, fromBytes: had });
  else await files.unlink(stampPath(path));
  const inspector = continued?.inspector ?? new Inspector();
  const file = await files.openWrite(path, { mode: 0o600, append: continued !== undefined });
  try {
    if (!continued) {
      const stamp = JSON.stringify({ url, stamp: stampFrom(answer), boot });
      await replaceFile(files, stampPath(path), new TextEncoder().encode(stamp), { mode: 0o600 });
    }
    await writeBody(answer.body, { file, inspector, had, length }, writing, parts);
    await file.sync();
  } finally {
    await file.close();
  }
  await files.unlink(stampPath(path));
  return inspector.finish();
}

const limitOf = ({ sizeBytes }: Wanting): number => sizeBytes || largestBytes;
const tooLarge = (want: Wanting): PlatformError =>
  new PlatformError('DOWNLOAD_FAILED', {
    url: want.url,
    problem: `it is larger than ${limitOf(want)} bytes, its limit`,
  });

/** @param length - size of the body according to its headers; 0: not stated. */
async function writeBody(
  body: AsyncIterable<Uint8Array>,
  { file, inspector, had, length }: { file: WritableFile; inspector: Inspector; had: number; length: number },
  { want, path, tell, signal, both }: Writing,
  { files, clock, log }: ReceiveParts,
): Promise<void> {
  let bytes = had;
  let synced = had;
  const ofBytes = want.sizeBytes || (length > 0 ? had + length : 0);
  const paced = paceChecker({ url: want.url, ofBytes, tell, clock, log }, bytes);
  const chunks = body[Symbol.asyncIterator]();
  for (;;) {
    const { done, value } = await within(silenceMs, { what: 'the next part', clock, signal: both }, () =>
      chunks.next(),
    );
    if (done === true) break;
    signal.throwIfAborted();
    bytes += value.length;
    if (bytes > limitOf(want)) throw tooLarge(want);
    inspector.update(value);
    await file.write(value);
    if (bytes - synced >= syncBytes) {
      await file.sync();
      synced = bytes;
      await checkSpace(files, 0, { path, what: want.what }); // other programs write, too, and a source may not state its size
    }
    paced(bytes);
  }
  const end = want.sizeBytes || (length > 0 ? had + length : bytes);
  if (bytes < end) throw new Error(`it ended after ${bytes} of ${end} bytes`);
}

/** Reports and logs the progress of a download. The returned function throws if the source is too slow. */
function paceChecker(
  of: { url: string; ofBytes: number; tell: (progress: Progress) => void; clock: Clock; log: Log },
  first: number,
): (bytes: number) => void {
  const { url, ofBytes, tell, clock, log } = of;
  let reported = -Infinity;
  let logged = clock.now();
  let pace = { at: clock.now(), bytes: first };
  return (bytes) => {
    const now = clock.now();
    if (now - reported >= progressMs) {
      tell({ bytes, ofBytes });
      reported = now;
    }
    if (now - logged >= loggedMs) {
      logged = now;
      log.info('downloading', { url, bytes, ofBytes });
    }
    if (now - pace.at < silenceMs) return;
    if (bytes - pace.bytes < slowBytes) throw new Error('slower than 1 KiB a second');
    pace = { at: now, bytes };
  };
}

/** Undefined: nothing to continue. */
async function findLeftover(
  path: string,
  stampText: string,
  { url, sha256 }: Wanting,
  { files, boot }: Pick<ReceiveParts, 'files' | 'boot'>,
): Promise<Leftover | undefined> {
  try {
    const kept = JSON.parse(stampText) as { url?: unknown; stamp?: unknown; boot?: unknown };
    const { stamp } = kept;
    if (kept.url !== url || typeof stamp !== 'string' || stamp === '' || stamp.startsWith('W/')) return undefined;
    // A power cut may leave zero bytes in it, which only a hash detects.
    if (sha256 === '' && (boot === '' || kept.boot !== boot)) return undefined;
    const inspector = new Inspector();
    let bytes = 0;
    for await (const chunk of chunksOf(files, path)) {
      inspector.update(chunk);
      bytes += chunk.length;
    }
    return bytes > 0 ? { bytes, stamp, inspector } : undefined;
  } catch {
    return undefined;
  }
}
