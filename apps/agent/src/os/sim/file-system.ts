import type { FileEntry, FileSystem, ReadableFile, WritableFile } from '../ports.ts';
import { folderOf, type SimFiles } from './files.ts';

/** A step that changes the disk, or starts a program from it. */
export interface Step {
  do: 'exec' | 'mkdir' | 'create' | 'write' | 'sync' | 'syncFolder' | 'rename' | 'symlink' | 'unlink' | 'rmdir';
  path: string;
  /** The bytes of a write. */
  bytes?: Uint8Array;
}

/**
 * The outcome of a step. `fail`: it fails with a code and has no effect. `tear`: half of a write is done, then it
 * fails. `lost…`: the power fails before, after or halfway through the step, and the call never returns.
 */
export type Fate = 'ok' | { fail: 'ENOSPC' | 'EIO' } | { tear: 'EIO' } | 'lostBefore' | 'lostAfter' | 'lostHalf';

const systemError = (code: string, path: string): Error => Object.assign(new Error(`${code}: ${path}`), { code });
const never = <T>(): Promise<T> => new Promise(() => {});

/** Performs a step, or what its fate says. `work` gets the share of the step that takes effect. */
type MakeStep = (step: Step, work: (share: number) => void) => Promise<void>;

const stepMaker =
  (fate: (step: Step) => Fate): MakeStep =>
  async (step, work) => {
    const what = fate(step);
    if (what === 'ok') return work(1);
    if (what === 'lostBefore') return never();
    if (what === 'lostAfter' || what === 'lostHalf') {
      work(what === 'lostHalf' ? 0.5 : 1);
      return never();
    }
    if ('tear' in what) work(0.5);
    throw systemError('tear' in what ? what.tear : what.fail, step.path);
  };

/** @param fate - called before each change. */
export function simFileSystem(files: SimFiles, fate: (step: Step) => Fate = () => 'ok'): FileSystem {
  const make = stepMaker(fate);
  return {
    ...folderCalls(files, make),
    ...linkCalls(files, make),
    ...nameCalls(files, make),
    openWrite: (path, how) => openWrite(files, make, path, how),
    openRead: (path) => openRead(files, path),
    stat: async (path) => entryOf(files, path),
    freeBytes: async () => files.capacityBytes - files.usedBytes(),
    inodes: async () => files.inodes,
  };
}

function needFolder(files: SimFiles, path: string): void {
  if (files.node(folderOf(path))?.kind !== 'folder') throw systemError('ENOENT', path);
}

const folderCalls = (
  files: SimFiles,
  make: MakeStep,
): Pick<FileSystem, 'mkdir' | 'rmdir' | 'readdir' | 'syncFolder'> => ({
  async mkdir(path) {
    const found = files.node(path);
    if (found?.kind === 'folder') return;
    if (found) throw systemError('ENOTDIR', path);
    needFolder(files, path);
    await make({ do: 'mkdir', path }, () => files.mkdir(path));
  },
  async rmdir(path) {
    if (!files.node(path)) return;
    if (files.children(path).length > 0) throw systemError('ENOTEMPTY', path);
    await make({ do: 'rmdir', path }, () => files.unlink(path));
  },
  readdir: async (path) => files.children(path),
  async syncFolder(path) {
    if (files.node(path)?.kind !== 'folder') throw systemError('ENOENT', path);
    await make({ do: 'syncFolder', path }, () => files.syncFolder(path));
  },
});

const linkCalls = (files: SimFiles, make: MakeStep): Pick<FileSystem, 'symlink' | 'readlink'> => ({
  async symlink(target, path) {
    if (files.node(path)) throw systemError('EEXIST', path);
    needFolder(files, path);
    await make({ do: 'symlink', path }, () => files.symlink(target, path));
  },
  async readlink(path) {
    const node = files.node(path);
    return node?.kind === 'link' ? node.target : undefined;
  },
});

const nameCalls = (files: SimFiles, make: MakeStep): Pick<FileSystem, 'rename' | 'unlink'> => ({
  async rename(from, to) {
    if (!files.node(from)) throw systemError('ENOENT', from);
    needFolder(files, to);
    if (files.node(to)?.kind === 'folder') throw systemError('EISDIR', to);
    await make({ do: 'rename', path: to }, () => files.rename(from, to));
  },
  async unlink(path) {
    const node = files.node(path);
    if (!node) return;
    if (node.kind === 'folder') throw systemError('EISDIR', path);
    await make({ do: 'unlink', path }, () => files.unlink(path));
  },
});

async function openWrite(
  files: SimFiles,
  make: MakeStep,
  path: string,
  { mode, append = false }: { mode: number; append?: boolean },
): Promise<WritableFile> {
  needFolder(files, path);
  const found = files.node(path);
  if (found && found.kind !== 'file') throw systemError('EISDIR', path);
  let file = found;
  if (!append || !file) await make({ do: 'create', path }, () => void (file = files.create(path, mode)));
  const node = file!;
  node.mode = mode;
  return {
    async write(bytes) {
      const copy = bytes.slice();
      if (files.usedBytes() + copy.length > files.capacityBytes) throw systemError('ENOSPC', path);
      await make({ do: 'write', path, bytes: copy }, (share) => {
        const part = copy.subarray(0, Math.floor(copy.length * share));
        const whole = new Uint8Array(node.bytes.length + part.length);
        whole.set(node.bytes);
        whole.set(part, node.bytes.length);
        node.bytes = whole;
        node.changedWall = files.wall();
      });
    },
    sync: () => make({ do: 'sync', path }, () => files.sync(node)),
    close: async () => {},
  };
}

async function openRead(files: SimFiles, path: string): Promise<ReadableFile> {
  const node = files.node(path);
  if (node?.kind === 'link') return openRead(files, resolved(path, node.target));
  if (node?.kind !== 'file') throw systemError(node ? 'EISDIR' : 'ENOENT', path);
  const { bytes } = node;
  return {
    sizeBytes: bytes.length,
    read: async (at, length) => bytes.slice(at, at + length),
    close: async () => {},
  };
}

function entryOf(files: SimFiles, path: string): FileEntry | undefined {
  const node = files.node(path);
  if (!node) return undefined;
  if (node.kind !== 'file') return { kind: node.kind, sizeBytes: 0, file: node.kind, mark: node.kind, changedWall: 0 };
  const { bytes, id, changedWall } = node;
  return { kind: 'file', sizeBytes: bytes.length, file: id, mark: `${bytes.length}/${changedWall}/${id}`, changedWall };
}

function resolved(path: string, target: string): string {
  const parts = folderOf(path) === '.' ? [] : folderOf(path).split('/');
  for (const part of target.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.') parts.push(part);
  }
  return parts.join('/');
}
