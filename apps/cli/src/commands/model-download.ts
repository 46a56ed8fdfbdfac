import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { PlatformApiError } from '@platform/client';
import { PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { PlatformError } from '@platform/contract/errors/errors';
import { formatBytes, retry } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { unpackModelArchive } from '@platform/sandbox/model-archive';
import type { Command } from 'commander';
import type { Connection } from '../connection.ts';
import { Ended, exitCodes } from '../exit-codes.ts';
import { findModel } from '../find/registry.ts';
import { printable } from '../output.ts';
import type { CommandWorld, Run } from '../run.ts';
import { countScreen } from '../views/count-progress.ts';

interface DownloadFlags {
  readonly version: string;
  readonly output: string;
  readonly unpack?: boolean;
}

export function downloadCommand(model: Command, run: Run): void {
  model
    .command('download <model>')
    .description('download a version and check its hash; a repeated download resumes')
    .option('--version <version>', 'version to use', 'latest')
    .option('-o, --output <folder>', 'target folder', '.')
    .option('--unpack', 'unpack the files into the folder NAME-VERSION')
    .action(run(download));
}

async function download(
  { connection, output, signal }: CommandWorld,
  name: string,
  flags: DownloadFlags,
): Promise<void> {
  const open = await connection();
  const item = await findModel(open, name);
  const { package: found } = await open.client.packageClient.getPackage({
    id: `${item.organizationId}/${item.name}`,
    version: flags.version,
    type: PackageType.ML_MODEL,
  });
  if (!found) throw new PlatformError('PACKAGE_NOT_FOUND', { packageId: name, version: flags.version });
  const version = found.info?.version ?? '';
  // A version is free text and may contain characters that file names must not.
  const stem = `${item.name}-${version}`.replace(/[^\p{L}\p{N}._-]/gu, '_');
  await mkdir(flags.output, { recursive: true });
  const target = path.join(flags.output, `${stem}.tar.gz`);
  const place = `/packages/${item.organizationId}/${encodeURIComponent(item.name)}/${encodeURIComponent(version)}.tar.gz`;
  const size = await fetchArchive(open, { place, target, sha256: found.checksum, signal });
  const result = { name: item.name, version, sha256: found.checksum, size_bytes: size };
  if (!flags.unpack) {
    output.json({ ...result, file: target });
    return output.text(`Downloaded ${printable(item.name)} ${printable(version)} to ${target} (${formatBytes(size)}).`);
  }
  const folder = path.join(flags.output, stem);
  if (existsSync(folder))
    throw new PlatformError('INVALID_ARGUMENT', { field: '--output', value: folder, limit: 'it exists already' });
  const files = await unpack(target, folder);
  await rm(target);
  output.json({ ...result, folder, files });
  output.text(`Downloaded ${printable(item.name)} ${printable(version)} to ${folder}:`);
  for (const file of files) output.text(`  ${printable(file)}`);
}

/**
 * Downloads to `<target>.part`, resumes an earlier run, and renames the file after its hash matches. @returns its size
 * in bytes.
 */
async function fetchArchive(
  open: Connection,
  { place, target, sha256, signal }: { place: string; target: string; sha256: string; signal: AbortSignal },
): Promise<number> {
  const there = await stat(target).catch(() => undefined);
  if (there && (await hashOf(target)) === sha256) return there.size;
  const partial = `${target}.part`;
  try {
    for (const isResumed of [true, false]) {
      const from = isResumed ? await sizeOf(partial) : 0;
      await fetchPatiently(open, { place, partial, from, signal });
      if ((await hashOf(partial)) === sha256) {
        await rename(partial, target);
        return (await stat(target)).size;
      }
      await rm(partial);
      if (from === 0) break; // the second attempt only helps if the first one resumed a partial file of another version
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new Ended(exitCodes.stopped, 'Stopped. The same command goes on with the rest.');
  }
  throw new PlatformError('DOWNLOAD_CORRUPT', { url: `${open.url}${place}`, wantSha256: sha256 });
}

const sizeOf = async (file: string): Promise<number> => (await stat(file).catch(() => undefined))?.size ?? 0;

interface Fetching {
  readonly place: string;
  readonly partial: string;
  /** Bytes that already exist. */
  readonly from: number;
  readonly signal: AbortSignal;
}

/** Reconnects and resumes after a broken connection. */
async function fetchPatiently(open: Connection, of: Fetching): Promise<void> {
  const isRetryable = (error: unknown): boolean =>
    error instanceof TypeError || (error instanceof PlatformApiError && error.retry === 'later');
  await retry(async (attempt) => fetchRest(open, { ...of, from: attempt === 1 ? of.from : await sizeOf(of.partial) }), {
    clock: systemClock,
    signal: of.signal,
    attempts: 6,
    isRetryable,
  });
}

async function fetchRest(open: Connection, { place, partial, from, signal }: Fetching): Promise<void> {
  const headers = from > 0 ? { range: `bytes=${from}-` } : {};
  const response = await open.client.request(place, { headers, signal }).catch((error: unknown) => {
    // The file is already complete; the caller verifies it next.
    if (from > 0 && error instanceof Error && 'code' in error && error.code === 'RANGE_NOT_SATISFIABLE')
      return undefined;
    throw error;
  });
  if (!response) return;
  const start = response.status === 206 ? from : 0;
  const total = start + Number(response.headers.get('content-length') ?? 0);
  if (!response.body) throw new PlatformError('DOWNLOAD_FAILED', { url: place, problem: 'the answer was empty' });
  const screen = countScreen(process.stderr, 'downloaded', total, 'bytes');
  let done = start;
  const counting = new Transform({
    transform(chunk: Uint8Array, _encoding, next) {
      done += chunk.length;
      screen.show(done);
      next(null, chunk);
    },
  });
  try {
    await pipeline(
      Readable.fromWeb(response.body),
      counting,
      createWriteStream(partial, { flags: start > 0 ? 'a' : 'w' }),
      { signal },
    );
  } finally {
    screen.close();
  }
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

/**
 * Unpacks to `folder`, which must not exist yet: all files, or none if the archive breaks a rule. @returns its files.
 */
async function unpack(archive: string, folder: string): Promise<readonly string[]> {
  const partial = `${folder}.part`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { recursive: true });
  try {
    const { files } = await unpackModelArchive(createReadStream(archive), partial);
    await rename(partial, folder);
    return files;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}
