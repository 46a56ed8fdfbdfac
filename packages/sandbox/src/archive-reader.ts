/** Reads a .tar.gz of somebody else as a stream, in bounded memory; whatever breaks a rule ends the reading. */
import { createWriteStream } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { Readable, Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { Accepted, ArchiveRules } from '@platform/contract/archive-rules';
import { PlatformError } from '@platform/contract/errors';
import tar from 'tar-stream';

export type Bytes = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Headers and padding around the files: more than this per entry is no archive that a tool would make. */
const overheadPerEntry = 2048;

/** Takes what is in a file, all of it. @param mode - as the archive says it. */
export type Take = (entry: Accepted, content: AsyncIterable<Uint8Array>, mode: number) => Promise<void>;

/** @throws PlatformError of the rules; whatever the source or `take` throws. */
export async function readArchive(source: Bytes, rules: ArchiveRules, take: Take): Promise<void> {
  const { unpackedBytes, entries } = rules.limits;
  const most = unpackedBytes + entries * overheadPerEntry;
  const count = { packed: 0, unpacked: 0 };
  // A bomb of headers is one, too: the reader keeps long names in memory until they are complete.
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
        // It is destroyed with the reader, also where nobody reads it any more.
        content.on('error', () => {});
        const { name, type, size, mode } = content.header;
        await take(rules.accept({ name, type, sizeBytes: size }), content as AsyncIterable<Uint8Array>, mode);
      }
    })();
    const [fed, read] = await Promise.allSettled([feeding, reading]);
    // When one of them breaks, the other one ends early. What the rules or the disk say comes first.
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
 * Writes entries below `folder`, which must be empty: a file that is there already is an error, so nothing is written through
 * something unpacked before. Modes are 0644, and 0755 where `programs` and the owner's right to run it is set.
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
    // Others may read whatever the umask is.
    await chmod(target, programs && mode & 0o100 ? 0o755 : 0o644);
  };

/** What the readers of gzip and tar throw is about the archive; the rest is not. */
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
