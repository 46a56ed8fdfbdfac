import {
  mkdir,
  open,
  readdir,
  readlink,
  rename,
  rm,
  stat,
  truncate,
  writeFile,
  type FileHandle,
  lstat,
  statfs,
  symlink,
} from 'node:fs/promises';
import path from 'node:path';
import {
  fileOfSegment,
  isMark,
  isRelayed,
  olderOf,
  parseDropped,
  parseHeader,
  type DroppedOutput,
} from '../output-marks.ts';
import type { Lines, OutputRead, Position } from '../ports.ts';
import { watchFile } from './file-watch.ts';
import { startInodes } from '../mounts.ts';

const chunkBytes = 64 * 1024;
const countBytes = 2 ** 20;
const mostTurns = 20;
const newLine = 0x0a;

/** Files of the relay that are kept after they were read, for users who inspect the machine. */
const keptOlder = 3;
const headerBytes = 1024;

/** A file, or an older one of the same name; see logs/relay/rolling-file.ts. */
interface Part {
  path: string;
  /** Identifies it permanently; see Position. */
  id: string;
  size: number;
}

function partsSeen(): (where: string) => Promise<Part | undefined> {
  /** Cached by path, so that an unchanged file is not opened. */
  const seen = new Map<string, { mark: string; id: string }>();
  return async (where) => {
    try {
      const s = await stat(where);
      const file = `${s.dev}/${s.ino}`;
      const mark = `${file} ${s.size} ${s.mtimeMs}`;
      const known = seen.get(where);
      const id = known?.mark === mark ? known.id : ((await segmentId(where, s.size)) ?? file);
      seen.set(where, { mark, id });
      return { path: where, id, size: s.size };
    } catch {
      seen.delete(where);
      return undefined; // it does not exist yet, or no longer
    }
  };
}

interface OlderPart {
  readonly part: Part;
  /** A reader has reached its end. */
  readonly isRead: boolean;
}

/** The files behind the names below one root. */
interface PartFinder {
  pathOf(file: string): string;
  /** The file that is written now; undefined: there is none. */
  current(file: string): Promise<Part | undefined>;
  /** Older files of the same name, oldest first. */
  older(file: string): Promise<OlderPart[]>;
}

function partFinder(root: string): PartFinder {
  const look = partsSeen();
  const pathOf = (file: string) => path.join(root, file);
  return {
    pathOf,
    current: (file) => look(pathOf(file)),
    async older(file) {
      const folder = path.dirname(pathOf(file));
      const names = olderOf(path.basename(file), await readdir(folder).catch(() => []));
      const parts = await Promise.all(
        names.map(async ({ name, isRead }) => ({ part: await look(path.join(folder, name)), isRead })),
      );
      return parts.flatMap(({ part, isRead }) => (part ? [{ part, isRead }] : []));
    },
  };
}

/** @param spareFolder - returns a folder for lines while the disk of `root` is full; undefined: there is none. */
export function posixLines(root: string, spareFolder?: () => Promise<string | undefined>): Lines {
  const finder = partFinder(root);
  const { pathOf } = finder;
  return {
    end: (file) => endOf(finder, file),
    async makeRoom(file) {
      await mkdir(path.dirname(pathOf(file)), { recursive: true, mode: 0o700 }).catch(() => {});
      return makeRoom(pathOf(file), await spareFolder?.());
    },
    async read(file, from) {
      return readParts(await partsAfter(finder, file, from), from);
    },
    follow: (file, clock) => watchFile(pathOf(file), clock),
    async trim(file, read, limitBytes) {
      if (isRelayed(read)) {
        await retire(await finder.older(file), read);
        return read;
      }
      const current = await finder.current(file);
      if (!current || read.file !== current.id || current.size <= limitBytes || read.offset < current.size) return read;
      await truncate(pathOf(file), 0); // the writer appends, so it continues at the new end
      return { file: current.id, offset: 0 };
    },
    empty: (file, from, limitBytes) => emptyFile(finder, file, from, limitBytes),
  };
}

/** The file from which the reader continues, and those after it. */
async function partsAfter(finder: PartFinder, file: string, from: Position | undefined): Promise<Part[]> {
  const current = await finder.current(file);
  if (from && current?.id === from.file) return [current];
  const before = await finder.older(file);
  const parts = [...before.map(({ part }) => part), ...(current ? [current] : [])];
  const begin = parts.findIndex(({ id }) => id === from?.file);
  if (begin >= 0) return parts.slice(begin);
  // The position is unknown or missing: start from the oldest unread file.
  return [...before.filter(({ isRead }) => !isRead).map(({ part }) => part), ...(current ? [current] : [])];
}

async function endOf(finder: PartFinder, file: string): Promise<Position> {
  const current = (await finder.current(file)) ?? (await finder.older(file)).at(-1)?.part;
  if (current) return { file: current.id, offset: current.size };
  const name = finder.pathOf(file);
  await mkdir(path.dirname(name), { recursive: true, mode: 0o700 });
  await (await open(name, 'a', 0o640)).close(); // its identity is needed before its first line
  const made = await finder.current(file);
  return { file: made?.id ?? '', offset: made?.size ?? 0 };
}

async function readParts(parts: readonly Part[], from: Position | undefined): Promise<OutputRead> {
  for (const [i, { path: where, id, size }] of parts.entries()) {
    // A truncated file is read from its beginning.
    const offset = from && from.file === id && from.offset <= size ? from.offset : 0;
    const isLast = i === parts.length - 1;
    if (size <= offset) {
      if (isLast) return { lines: [], position: { file: id, offset } };
      continue;
    }
    const { text, used } = await textFrom(where, offset, !isLast);
    if (used === 0 && !isLast) continue;
    return { ...linesOf(text), position: { file: id, offset: offset + used } };
  }
  return { lines: [], position: { file: '', offset: 0 } };
}

async function emptyFile(
  finder: PartFinder,
  file: string,
  from: Position | undefined,
  limitBytes: number,
): Promise<{ position: Position; lines: number } | undefined> {
  const current = await finder.current(file);
  if (!current || isRelayed({ file: current.id, offset: 0 })) return undefined; // its writer limits its size
  const { id, size: first } = current;
  const begin = from && from.file === id && from.offset <= first ? from.offset : 0;
  if (first - begin <= limitBytes) return undefined;
  const name = finder.pathOf(file);
  await using handle = await open(name, 'r');
  const chunk = Buffer.alloc(countBytes);
  const { lines, size } = await countLines(
    { handle, chunk, begin, first },
    async () => (await finder.current(file))?.size ?? 0,
  );
  const { bytesRead } = await handle.read(chunk, 0, chunk.length, Math.max(0, size - chunk.length));
  await writeFile(`${name}.1`, chunk.subarray(0, bytesRead), { mode: 0o640 }).catch(() => {}); // a full disk
  await truncate(name, 0);
  return { position: { file: id, offset: 0 }, lines };
}

/**
 * Counts the lines of a file that is still being written. It may miss lines that are written at the end of the count.
 */
async function countLines(
  { handle, chunk, begin, first }: { handle: FileHandle; chunk: Buffer; begin: number; first: number },
  sizeNow: () => Promise<number>,
): Promise<{ lines: number; size: number }> {
  let lines = 0;
  let size = begin;
  for (let until = first, turns = 0; size < until && turns < mostTurns; until = await sizeNow(), turns++) {
    while (size < until) {
      const { bytesRead } = await handle.read(chunk, 0, chunk.length, size);
      if (bytesRead === 0) break;
      for (let i = chunk.indexOf(newLine); i >= 0 && i < bytesRead; i = chunk.indexOf(newLine, i + 1)) lines++;
      size += bytesRead;
    }
  }
  return { lines, size };
}

/** The identity of a file of the relay; undefined: another program writes the file. */
async function segmentId(where: string, size: number): Promise<string | undefined> {
  if (size === 0) return undefined;
  await using handle = await open(where, 'r');
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(headerBytes), 0, headerBytes, 0);
  const end = buffer.subarray(0, bytesRead).indexOf(newLine);
  const header = end < 0 ? undefined : parseHeader(buffer.toString('utf8', 0, end));
  return header && fileOfSegment(header);
}

/** @param isClosed - the file is complete: its last line counts even without a line feed. */
async function textFrom(where: string, offset: number, isClosed: boolean): Promise<{ text: string; used: number }> {
  await using handle = await open(where, 'r');
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(chunkBytes), 0, chunkBytes, offset);
  const last = buffer.subarray(0, bytesRead).lastIndexOf(newLine);
  // A line longer than the chunk is returned in parts; otherwise an incomplete line waits for its end.
  const used = last >= 0 ? last + 1 : bytesRead === chunkBytes || isClosed ? bytesRead : 0;
  return { text: buffer.toString('utf8', 0, used), used };
}

function linesOf(text: string): { lines: string[]; dropped?: DroppedOutput[] } {
  if (text === '') return { lines: [] };
  const all = text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => line.replace(/\r$/, ''));
  if (!all.some(isMark)) return { lines: all };
  const dropped = all.flatMap((line) => parseDropped(line) ?? []);
  return { lines: all.filter((line) => !isMark(line)), dropped };
}

/** Marks files that were read to their end; the relay removes these before others. */
async function retire(parts: readonly OlderPart[], read: Position): Promise<void> {
  const until = parts.findIndex(({ part }) => part.id === read.file);
  const done = until < 0 ? parts : parts.slice(0, until);
  for (const { part, isRead } of done) if (!isRead) await rename(part.path, `${part.path}.read`).catch(() => {});
  for (const { part, isRead } of done.slice(0, -keptOlder)) {
    const name = isRead ? part.path : `${part.path}.read`;
    const target = await readlink(name).catch(() => undefined);
    for (const gone of target === undefined ? [name] : [name, target]) await rm(gone, { force: true }).catch(() => {});
  }
}

/** With this much space for unprivileged users, no test write is needed. */
const plentyBytes = 2 ** 20;
/** The lines of a start, including the one that reports that the server is ready. */
const neededBytes = 64 * 1024;

/**
 * Without it, a full disk keeps a machine server from starting: it could not even log that it is ready. The file
 * becomes a link to one of the same name in `spareFolder`, in memory; a link needs no disk block. The old file becomes
 * `<file>.1`.
 *
 * @throws Error ENOSPC without inodes, which a link needs, too
 */
async function makeRoom(file: string, spareFolder: string | undefined): Promise<'disk' | 'memory'> {
  await checkInodes(file);
  const isLink = (await lstat(file).catch(() => undefined))?.isSymbolicLink() ?? false;
  if (await takesLines(file)) {
    if (isLink) await rm(file, { force: true }).catch(() => {});
    return 'disk';
  }
  if (spareFolder === undefined) return 'disk';
  try {
    const spare = path.join(spareFolder, path.basename(file));
    await mkdir(spareFolder, { recursive: true, mode: 0o700 });
    await (await open(spare, 'a', 0o640)).close();
    if (!isLink) {
      const link = `${file}.link`;
      await rm(link, { force: true });
      await symlink(spare, link);
      await rename(file, `${file}.1`).catch(() => {}); // it may not exist
      await rename(link, file);
    }
    return 'memory';
  } catch {
    return 'disk';
  }
}

/** With too few, the server runs, but its line that it is ready is lost. */
async function checkInodes(file: string): Promise<void> {
  const found = await statfs(path.dirname(file)).catch(() => undefined);
  if (!found || found.files === 0 || found.ffree >= startInodes) return;
  const message = `${found.ffree} of ${found.files} inodes are free; a start needs ${startInodes}`;
  throw Object.assign(new Error(`ENOSPC: ${message}`), { code: 'ENOSPC', path: file });
}

async function takesLines(file: string): Promise<boolean> {
  const probe = `${file}.probe`;
  try {
    const { bavail, bsize } = await statfs(path.dirname(file));
    if (bavail * bsize >= plentyBytes) return true;
    // Some file systems reserve blocks for root, others report more than they have.
    await using handle = await open(probe, 'w', 0o600);
    await handle.writeFile(Buffer.alloc(neededBytes));
    await handle.sync();
    return true;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    return code !== 'ENOSPC' && code !== 'EDQUOT';
  } finally {
    await rm(probe, { force: true }).catch(() => {});
  }
}
