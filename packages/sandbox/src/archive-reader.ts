/** Reads an untrusted .tar.gz as a stream, in bounded memory; the first broken rule ends the read. */
import { createWriteStream } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { Readable, Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { Accepted, ArchiveRules } from '@platform/contract/job/archive-rules';
import { PlatformError } from '@platform/contract/errors/errors';
import tar from 'tar-stream';

export type Bytes = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Upper bound of headers and padding per entry; no common tool writes more. */
const overheadPerEntry = 2048;

/** Consumes the whole content of an entry. @param mode - as stored in the archive. */
export type Take = (entry: Accepted, content: AsyncIterable<Uint8Array>, mode: number) => Promise<void>;

/** @throws PlatformError of the rules; errors of the source and of `take`. */
export async function readArchive(source: Bytes, rules: ArchiveRules, take: Take): Promise<void> {
  const { unpackedBytes, entries } = rules.limits;
  const most = unpackedBytes + entries * overheadPerEntry;
  const count = { packed: 0, unpacked: 0 };
  // Headers count too: the tar reader keeps long names in memory until they are complete.
  const meter = new Transform({
    transform(chunk: Buffer, _, done) {
      count.unpacked += chunk.length;
      try {
        if (count.unpacked > most) throw rules.tooLarge();
        rules.checkRatio(count.unpacked, count.packed);
        done(undefined, chunk);
      } catch (error) {
        done(error as Error);
      }
    },
  });
  const extract = tar.extract();
  const feeding = pipeline(Readable.from(counted(source, count)), createGunzip(), meter, extract);
  try {
    const reading = (async () => {
      for await (const content of extract) {
        // A failure destroys the entry with the tar reader; without this handler, an unread entry would crash the
        // process.
        content.on('error', () => {});
        const { name, type, size, mode } = content.header;
        await take(rules.accept({ name, type, sizeBytes: size }), content as AsyncIterable<Uint8Array>, mode);
      }
    })();
    const [fed, read] = await Promise.allSettled([feeding, reading]);
    // When one side fails, the other one ends early. Errors of the rules or the disk take precedence.
    if (read.status === 'rejected' && (fed.status === 'fulfilled' || !isEarlyEnd(read.reason))) throw read.reason;
    if (fed.status === 'rejected') throw fed.reason;
  } catch (error) {
    throw readable(error, rules);
  }
  rules.end();
}

const isEarlyEnd = (error: unknown): boolean =>
  error instanceof Error && /premature(ly)?\b/i.test(error.message) && !(error instanceof PlatformError);

async function* counted(source: Bytes, count: { packed: number }): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    count.packed += chunk.length;
    yield chunk;
  }
}

export const skip: Take = (_, content) => skipped(content);

const skipped = (content: AsyncIterable<Uint8Array>): Promise<void> =>
  pipeline(content, new Writable({ write: (_chunk, _encoding, done) => done() }));

/**
 * Writes entries below `folder`, which must be empty. An existing file is an error, so no write goes through an entry
 * unpacked before. Files get mode 0644, or 0755 if `programs` is set and the entry is executable for its owner.
 */
export const writeBelow =
  (folder: string, { programs }: { programs: boolean }): Take =>
  async ({ kind, path: name }, content, mode) => {
    const target = path.join(folder, name);
    if (kind === 'folder') {
      await mkdir(target, { recursive: true });
      return skipped(content);
    }
    await mkdir(path.dirname(target), { recursive: true });
    await pipeline(content, createWriteStream(target, { flags: 'wx', mode: 0o644 }));
    // All users may read the files, whatever the umask is.
    await chmod(target, programs && mode & 0o100 ? 0o755 : 0o644);
  };

/** Maps errors of the gzip and tar readers to the archive's error; passes other errors through. */
function readable(error: unknown, rules: ArchiveRules): unknown {
  if (error instanceof PlatformError || !(error instanceof Error)) return error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code.startsWith('Z_'))
    return rules.invalid(`it is not a .tar.gz, or it is damaged (${error.message})`, undefined, error);
  if (/tar header|Header exceeds|Unexpected end of data/i.test(error.message)) {
    return rules.invalid(`the tar file in it is damaged (${error.message})`, undefined, error);
  }
  return error;
}
