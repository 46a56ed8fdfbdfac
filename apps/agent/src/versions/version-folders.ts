import type { Log } from '@platform/kit';
import { chunksOf, makeFolder, replaceFile } from '../os/file-disk.ts';
import type { FileSystem } from '../os/ports.ts';
import { idOf } from '../state/state.ts';
import { isId } from '../state/trial-file.ts';
import { Inspector } from './inspect.ts';
import { nameOf, programPath, type Program } from './layout.ts';
import { linkedId, textOf } from './switch.ts';

/** The stored origin of a version. */
export interface About {
  version: string;
  sha256: string;
  sizeBytes: number;
  url: string;
  /** Path among the signed targets; empty: no release key signed it. */
  target: string;
}

interface Kept extends About {
  /** Both as of the last verified hash of the file; see FileEntry. */
  mark: string;
  file: string;
}

export interface Installed {
  id: string;
  about: About | undefined;
  sizeBytes: number;
  /** ms since 1970. */
  since: number;
}

/** The version folders of one program. */
export interface StoredVersions {
  files: FileSystem;
  program: Program;
  log: Log;
  /** Id → mark of the file at its last verified hash. */
  verified: Map<string, string>;
}

interface Comparison {
  is: 'sound' | 'replaced' | 'damaged';
  /** sha256 in hex. */
  got: string;
  want: string;
  /** Version in the note inside the file; undefined: the file has no note. */
  version: string | undefined;
}

const encoder = new TextEncoder();
const aboutPath = (id: string): string => `versions/${id}/about.json`;

async function readAbout(files: FileSystem, id: string): Promise<Kept | undefined> {
  try {
    const kept = JSON.parse(await textOf(files, aboutPath(id))) as Partial<Kept>;
    if (typeof kept.sha256 !== 'string' || typeof kept.mark !== 'string') return undefined;
    return {
      version: String(kept.version),
      sha256: kept.sha256,
      sizeBytes: Number(kept.sizeBytes ?? 0),
      url: String(kept.url ?? ''),
      target: String(kept.target ?? ''),
      mark: kept.mark,
      file: String(kept.file ?? ''),
    };
  } catch {
    return undefined;
  }
}

/** All complete versions, oldest first. */
export async function listVersions({ files, program }: StoredVersions): Promise<Installed[]> {
  const found: Installed[] = [];
  for (const id of await files.readdir('versions')) {
    const entry = isId(id) ? await files.stat(programPath(program, id)) : undefined;
    if (entry?.kind !== 'file') continue;
    found.push({ id, about: await readAbout(files, id), sizeBytes: entry.sizeBytes, since: entry.changedWall });
  }
  return found.toSorted((a, b) => a.since - b.since);
}

export async function removeVersion({ files, program, verified }: StoredVersions, id: string): Promise<void> {
  verified.delete(id);
  await files.unlink(programPath(program, id)); // first: a folder without a program is not a version
  for (const name of await files.readdir(`versions/${id}`)) await files.unlink(`versions/${id}/${name}`);
  await files.rmdir(`versions/${id}`);
  await files.syncFolder('versions').catch(() => {});
}

/** Compares a stored file with its hash. `replaced`: the machine server replaced its own file, which is allowed. */
export async function compareWithHash({ files, program }: StoredVersions, id: string): Promise<Comparison> {
  const noted = (await textOf(files, `versions/${id}/sha256`)).trim();
  const inspector = new Inspector();
  for await (const chunk of chunksOf(files, programPath(program, id))) inspector.update(chunk);
  const { sha256: got, note } = inspector.finish();
  // If the sha256 file is lost, the hash prefix in the id decides, so that a complete program stays.
  const want = /^[0-9a-f]{64}$/.test(noted) ? noted : id.endsWith(`-${got.slice(0, 12)}`) ? got : noted;
  const isNewer = note?.name === nameOf(program) && note.version !== (await readAbout(files, id))?.version;
  // Specification, Versioning 4. The note is the last part of a file, so this file is complete.
  const isReplaced = got !== want && program === 'server' && isNewer;
  return { is: got === want ? 'sound' : isReplaced ? 'replaced' : 'damaged', got, want, version: note?.version };
}

/** Hashes a file unless its mark matches the last verified hash. Removes a damaged version. */
export async function isSound(stored: StoredVersions, id: string, mustHash = false): Promise<boolean> {
  const { files, program, log, verified } = stored;
  const entry = await files.stat(programPath(program, id));
  if (entry?.kind !== 'file') return false;
  if (verified.get(id) === entry.mark) return true;
  const about = await readAbout(files, id);
  if (!mustHash && about?.mark === entry.mark) return true;
  const { is, got, want, version } = await compareWithHash(stored, id);
  if (is === 'replaced') log.warn('the machine server has replaced its own file', { id, version, sha256: got });
  if (is === 'damaged') {
    log.error('an installed version is damaged and is removed', { id, wantSha256: want, gotSha256: got });
    await removeVersion(stored, id);
    return false;
  }
  verified.set(id, entry.mark);
  return true;
}

/** Id that bin/ links to; null: none, or it is damaged. */
export async function linkedVersion(stored: StoredVersions): Promise<string | null> {
  const id = await linkedId(stored.files, stored.program);
  return id !== undefined && isId(id) && (await isSound(stored, id)) ? id : null;
}

/** Moves a verified file (path below the root) into its version folder. Safe to repeat. Returns the id. */
export async function stageVersion(stored: StoredVersions, part: string, about: About): Promise<string> {
  const { files, program, verified } = stored;
  const id = idOf(about.version, about.sha256);
  if (await isSound(stored, id, true)) {
    await files.unlink(part);
    return id;
  }
  await makeFolder(files, `versions/${id}`);
  // Other users can read the file only from here on: an unverified download may be any file at the URL.
  const file = await files.openWrite(part, { mode: 0o755, append: true });
  await file.sync();
  await file.close();
  const { mark = '', file: self = '' } = (await files.stat(part)) ?? {};
  await replaceFile(files, `versions/${id}/sha256`, encoder.encode(`${about.sha256}\n`), { mode: 0o644 });
  await replaceFile(files, aboutPath(id), encoder.encode(`${JSON.stringify({ ...about, mark, file: self })}\n`), {
    mode: 0o600, // the URL may contain a token
  });
  await files.rename(part, programPath(program, id));
  await files.syncFolder(`versions/${id}`);
  await files.syncFolder('versions');
  verified.set(id, mark); // hashed during the download
  return id;
}
