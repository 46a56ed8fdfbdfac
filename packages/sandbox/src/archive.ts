/**
 * Reads the archive of a training script: a .tar.gz of a Python project with setup.py or pyproject.toml and
 * model/training.py, at the top or in one top folder. It is read as a stream; whatever breaks a rule ends the reading.
 */
import { createWriteStream } from 'node:fs';
import { chmod, lstat, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable, Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { PlatformError } from '@platform/contract/errors';
import tar from 'tar-stream';
import { archiveLimits, ArchiveRules, invalidArchive } from './archive-rules.ts';
import type { Accepted, ArchiveLimits, ScriptArchive } from './archive-rules.ts';

export { archiveLimits, type ArchiveLimits, type ScriptArchive } from './archive-rules.ts';

/** Headers and padding around the files: more than this per entry is no archive that a tool would make. */
const overheadPerEntry = 2048;

type Bytes = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** @throws PlatformError SCRIPT_ARCHIVE_INVALID; whatever the source throws. */
export async function checkScriptArchive(source: Bytes, limits: ArchiveLimits = archiveLimits): Promise<ScriptArchive> {
  return readEntries(source, limits, (_, content) => skipped(content));
}

/**
 * Unpacks the project, without its top folder, to `folder`, which must not exist yet. All or nothing: nothing is left of an
 * archive that breaks a rule.
 *
 * @throws PlatformError SCRIPT_ARCHIVE_INVALID; errors of the disk; whatever the source throws.
 */
export async function unpackScriptArchive(
  source: Bytes,
  folder: string,
  limits: ArchiveLimits = archiveLimits,
): Promise<ScriptArchive> {
  const partial = `${folder}.part`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { recursive: true });
  try {
    const archive = await readEntries(source, limits, async ({ kind, path: name }, content, mode) => {
      const target = path.join(partial, name);
      if (kind === 'folder') {
        await mkdir(target, { recursive: true });
        return skipped(content);
      }
      await mkdir(path.dirname(target), { recursive: true });
      await pipeline(content, createWriteStream(target, { flags: 'wx', mode: 0o644 }));
      // The owner's right to run it is kept, nothing else; others may read whatever the umask is.
      await chmod(target, mode & 0o100 ? 0o755 : 0o644);
    });
    await rename(path.join(partial, archive.root), folder);
    return archive;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

async function readEntries(
  source: Bytes,
  limits: ArchiveLimits,
  take: (entry: Accepted, content: AsyncIterable<Uint8Array>, mode: number) => Promise<void>,
): Promise<ScriptArchive> {
  const rules = new ArchiveRules(limits);
  const most = limits.unpackedBytes + limits.entries * overheadPerEntry;
  let seen = 0;
  // A bomb of headers is one, too: the reader keeps long names in memory until they are complete.
  const meter = new Transform({
    transform(chunk: Buffer, _, done) {
      seen += chunk.length;
      if (seen > most) done(rules.tooLarge());
      else done(undefined, chunk);
    },
  });
  const extract = tar.extract();
  const feeding = pipeline(Readable.from(source), createGunzip(), meter, extract);
  try {
    const reading = (async () => {
      for await (const content of extract) {
        // It is destroyed with the reader, also where nobody reads it any more.
        content.on('error', () => {});
        const { name, type, size, mode } = content.header;
        await take(rules.accept({ name, type, sizeBytes: size }), content as AsyncIterable<Uint8Array>, mode);
      }
    })();
    const [fed, read] = await Promise.allSettled([feeding, reading]);
    // What the rules say comes first: the rest follows from it.
    if (read.status === 'rejected' && (fed.status === 'fulfilled' || read.reason instanceof PlatformError))
      throw read.reason;
    if (fed.status === 'rejected') throw fed.reason;
  } catch (error) {
    throw readable(error);
  }
  return rules.end();
}

const skipped = (content: AsyncIterable<Uint8Array>): Promise<void> =>
  pipeline(content, new Writable({ write: (_chunk, _encoding, done) => done() }));

/** What the readers of gzip and tar throw is about the archive; the rest is not. */
function readable(error: unknown): unknown {
  if (error instanceof PlatformError || !(error instanceof Error)) return error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code.startsWith('Z_'))
    return invalidArchive(`it is not a .tar.gz, or it is damaged (${error.message})`, undefined, error);
  if (/tar header|Header exceeds|Unexpected end of data/i.test(error.message)) {
    return invalidArchive(`the tar file in it is damaged (${error.message})`, undefined, error);
  }
  return error;
}

const leftOut = /^(\.git|\.venv|venv|__pycache__|\.pytest_cache|\.mypy_cache|\.DS_Store|.*\.egg-info|.*\.pyc)$/;

/**
 * Packs the folder of a script; the same content gives the same bytes. Left out are caches, virtual environments and .git.
 *
 * @throws PlatformError SCRIPT_ARCHIVE_INVALID when it could not be unpacked: links, a missing module, too large.
 */
export async function packScriptFolder(folder: string, limits: ArchiveLimits = archiveLimits): Promise<Buffer> {
  const rules = new ArchiveRules(limits);
  const pack = tar.pack();
  const add = async (at: string): Promise<void> => {
    const entries = await readdir(path.join(folder, at), { withFileTypes: true });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      if (leftOut.test(entry.name)) continue;
      const name = at === '' ? entry.name : `${at}/${entry.name}`;
      if (entry.isDirectory()) {
        await add(name);
        continue;
      }
      const { size, mode } = await lstat(path.join(folder, name));
      const type = entry.isSymbolicLink() ? 'symlink' : entry.isFile() ? 'file' : null;
      rules.accept({ name, type, sizeBytes: size });
      const header = { name, mode: mode & 0o100 ? 0o755 : 0o644, mtime: new Date(0), uid: 0, gid: 0 };
      pack.entry(header, await readFile(path.join(folder, name)));
    }
  };
  await add('');
  rules.end();
  pack.finalize();
  const parts: Buffer[] = [];
  await pipeline(pack, createGzip(), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) parts.push(chunk);
  });
  return Buffer.concat(parts);
}
