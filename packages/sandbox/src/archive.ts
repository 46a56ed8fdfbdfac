/**
 * Reads the archive of a training script: a .tar.gz of a Python project. The project has setup.py or pyproject.toml and
 * model/training.py, at the top or in one top folder. The archive is read as a stream; the first broken rule ends the
 * read.
 */
import { lstat, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { ArchiveRules, scriptArchive, type ArchiveLimits } from '@platform/contract/job/archive-rules';
import tar from 'tar-stream';
import { readArchive, skip, writeBelow, type Bytes } from './archive-reader.ts';

export type { ArchiveLimits } from '@platform/contract/job/archive-rules';
const archiveLimits = scriptArchive.limits;

export interface ScriptArchive {
  /** Number of regular files. */
  readonly files: number;
  readonly unpackedBytes: number;
  /** Folder of the project in the archive: empty, or the one top folder. */
  readonly root: string;
  /** The file that lists the script's dependencies. */
  readonly project: 'setup.py' | 'pyproject.toml';
}

const entryModule = 'model/training.py';
const projects = ['setup.py', 'pyproject.toml'] as const;

/** @throws PlatformError SCRIPT_ARCHIVE_INVALID; errors of the source. */
export async function checkScriptArchive(source: Bytes, limits: ArchiveLimits = archiveLimits): Promise<ScriptArchive> {
  const rules = new ArchiveRules({ ...scriptArchive, limits });
  await readArchive(source, rules, skip);
  return projectIn(rules);
}

/**
 * Unpacks the project, without its top folder, to `folder`, which must not exist yet. All or nothing: on an error no
 * unpacked file remains.
 *
 * @throws PlatformError SCRIPT_ARCHIVE_INVALID; errors of the disk and of the source.
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
    const rules = new ArchiveRules({ ...scriptArchive, limits });
    await readArchive(source, rules, writeBelow(partial, { programs: true }));
    const archive = projectIn(rules);
    await rename(path.join(partial, archive.root), folder);
    return archive;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

/** @throws PlatformError SCRIPT_ARCHIVE_INVALID. */
function projectIn(rules: ArchiveRules): ScriptArchive {
  rules.end();
  const { files } = rules;
  const roots = ['', ...topFolders(files)];
  for (const root of roots) {
    const project = projects.find((name) => files.has(`${root}${name}`));
    if (project === undefined || !files.has(`${root}${entryModule}`)) continue;
    return { files: files.size, unpackedBytes: rules.unpackedBytes, root: root.replace(/\/$/, ''), project };
  }
  const base = roots.find((root) => projects.some((name) => files.has(`${root}${name}`)));
  if (base !== undefined)
    throw rules.invalid(`the module model.training is missing: there is no ${base}${entryModule}`);
  const module = roots.find((root) => files.has(`${root}${entryModule}`));
  if (module !== undefined) throw rules.invalid(`there is no ${module}setup.py and no ${module}pyproject.toml`);
  const problem = `there is no setup.py (or pyproject.toml) with ${entryModule} beside it, at the top or in one top folder`;
  throw rules.invalid(problem);
}

/** The top folder, if there is exactly one. */
function topFolders(files: ReadonlySet<string>): string[] {
  const tops = new Set([...files].filter((file) => file.includes('/')).map((file) => file.split('/')[0] ?? ''));
  return tops.size === 1 ? [...tops].map((top) => `${top}/`) : [];
}

const leftOut = /^(\.git|\.venv|venv|__pycache__|\.pytest_cache|\.mypy_cache|\.DS_Store|.*\.egg-info|.*\.pyc)$/;

/**
 * Packs the folder of a script; the same content gives the same bytes. Skips caches, virtual environments and .git.
 *
 * @throws PlatformError SCRIPT_ARCHIVE_INVALID when it could not be unpacked: links, a missing module, too large.
 */
export async function packScriptFolder(folder: string, limits: ArchiveLimits = archiveLimits): Promise<Buffer> {
  const rules = new ArchiveRules({ ...scriptArchive, limits });
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
  projectIn(rules);
  pack.finalize();
  const parts: Buffer[] = [];
  await pipeline(pack, createGzip(), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) parts.push(chunk);
  });
  return Buffer.concat(parts);
}
