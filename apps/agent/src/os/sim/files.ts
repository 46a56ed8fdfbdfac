import type { Inodes } from '../ports.ts';

/** A file of a simulated disk. */
export interface SimFile {
  /** Another file of the same name has another ID. */
  id: string;
  bytes: Uint8Array;
}

interface FileNode extends SimFile {
  kind: 'file';
  /** The content that certainly survives a power cut. */
  durable: Uint8Array;
  changedWall: number;
  mode: number;
}
type Node = FileNode | { kind: 'folder' } | { kind: 'link'; target: string };
type Names = Map<string, Node>;
interface Change {
  folder: string;
  apply(names: Names): void;
}

/** What survives a power cut of the changes that were not synced. */
export type Survivors =
  /** No change. */
  | { of: 'nothing' }
  /** All names, but no bytes: the empty files of a file system with delayed allocation. */
  | { of: 'names' }
  /** A random subset of the names, and of each file a random prefix of its bytes, or zeros instead. */
  | { of: 'some'; random: () => number }
  /** Everything, as after a killed process. */
  | { of: 'all' };

export const folderOf = (path: string): string => (path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.');
const nothing = new Uint8Array();

/**
 * The disk of a simulated device. It tracks what was synced and what would be lost. The methods in the first part are
 * for tests and other simulated programs: they never fail.
 */
export class SimFiles {
  #names: Names = new Map<string, Node>([['.', { kind: 'folder' }]]);
  #durable: Names = new Map(this.#names);
  #pending: Change[] = [];
  #made = 0;
  /** The time of a file's last change. */
  wall: () => number = () => 0;
  capacityBytes = Infinity;
  /** Undefined: not limited. Reported only; `fate` refuses the files. */
  inodes: Inodes | undefined;
  readonly #watchers = new Map<string, Set<() => void>>();

  /** Resolves at the next write to this file, or when the signal aborts. */
  changed(name: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const all = this.#watchers.get(name) ?? new Set();
      this.#watchers.set(name, all);
      const wake = () => {
        all.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      all.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }

  get(name: string): SimFile | undefined {
    const node = this.#names.get(name);
    return node?.kind === 'file' ? node : undefined;
  }

  /** Durable at once, including its folders. */
  put(name: string, bytes: Uint8Array, mode = 0o644): void {
    for (let folder = folderOf(name); folder !== '.'; folder = folderOf(folder)) {
      for (const names of [this.#names, this.#durable]) {
        if (!names.has(folder)) names.set(folder, { kind: 'folder' });
      }
    }
    const node = this.#file(bytes, mode);
    node.durable = bytes;
    for (const names of [this.#names, this.#durable]) names.set(name, node);
    for (const wake of this.#watchers.get(name) ?? []) wake();
  }

  putLink(target: string, name: string): void {
    this.put(name, nothing);
    for (const names of [this.#names, this.#durable]) names.set(name, { kind: 'link', target });
  }

  /** As an ordinary program does it: without sync. */
  append(name: string, bytes: Uint8Array): void {
    const file = this.#names.get(name);
    if (file?.kind !== 'file') {
      this.put(name, nothing);
      return this.append(name, bytes);
    }
    const whole = new Uint8Array(file.bytes.length + bytes.length);
    whole.set(file.bytes);
    whole.set(bytes, file.bytes.length);
    file.bytes = whole;
    file.changedWall = this.wall();
    for (const wake of this.#watchers.get(name) ?? []) wake();
  }

  remove(name: string): void {
    for (const names of [this.#names, this.#durable]) names.delete(name);
  }

  link(name: string): string | undefined {
    const node = this.#names.get(name);
    return node?.kind === 'link' ? node.target : undefined;
  }

  names(): string[] {
    return [...this.#names].flatMap(([name, { kind }]) => (kind === 'file' ? [name] : [])).toSorted();
  }

  /** All files, folders and links by path, with their content. */
  tree(): Map<string, string> {
    const text = (node: Node) =>
      node.kind === 'file'
        ? new TextDecoder('latin1').decode(node.bytes)
        : node.kind === 'link'
          ? `-> ${node.target}`
          : '';
    return new Map([...this.#names].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, node]) => [name, text(node)]));
  }

  usedBytes(): number {
    return [...this.#names.values()].reduce((sum, node) => sum + (node.kind === 'file' ? node.bytes.length : 0), 0);
  }

  // The steps of the FileSystem port, as running programs see them.

  node(path: string): Node | undefined {
    return this.#names.get(path);
  }

  children(folder: string): string[] {
    return [...this.#names.keys()]
      .filter((name) => name !== '.' && folderOf(name) === folder)
      .map((name) => (folder === '.' ? name : name.slice(folder.length + 1)))
      .toSorted();
  }

  mkdir(path: string): void {
    const node: Node = { kind: 'folder' };
    this.#change(path, (names) => void names.set(path, node));
  }

  create(path: string, mode: number): FileNode {
    const found = this.#names.get(path);
    if (found?.kind === 'file') {
      found.bytes = nothing;
      found.mode = mode;
      found.changedWall = this.wall();
      found.id = `file-${++this.#made}`;
      return found;
    }
    const node = this.#file(nothing, mode);
    this.#change(path, (names) => void names.set(path, node));
    return node;
  }

  sync(file: FileNode): void {
    file.durable = file.bytes;
  }

  syncFolder(path: string): void {
    this.#pending = this.#pending.filter((change) => {
      if (change.folder !== path) return true;
      change.apply(this.#durable);
      return false;
    });
  }

  rename(from: string, to: string): void {
    const node = this.#names.get(from)!;
    this.#change(to, (names) => {
      if (names.get(from) === node) names.delete(from);
      names.set(to, node);
    });
  }

  symlink(target: string, path: string): void {
    const node: Node = { kind: 'link', target };
    this.#change(path, (names) => void names.set(path, node));
  }

  unlink(path: string): void {
    this.#change(path, (names) => void names.delete(path));
  }

  /** Simulates a power cut: keeps only the survivors. */
  cutPower(survivors: Survivors): void {
    const names = survivors.of === 'all' ? new Map(this.#names) : new Map(this.#durable);
    if (survivors.of === 'names') for (const change of this.#pending) change.apply(names);
    if (survivors.of === 'some') {
      for (const change of this.#pending) if (survivors.random() < 0.5) change.apply(names);
    }
    const isThere = (path: string): boolean => path === '.' || (names.has(path) && isThere(folderOf(path)));
    for (const [path, node] of names) {
      if (!isThere(folderOf(path))) names.delete(path);
      else if (node.kind === 'file' && survivors.of !== 'all') node.bytes = remains(node, survivors);
    }
    for (const node of names.values()) if (node.kind === 'file') node.durable = node.bytes;
    this.#names = names;
    this.#durable = new Map(names);
    this.#pending = [];
  }

  #file(bytes: Uint8Array, mode: number): FileNode {
    return { kind: 'file', id: `file-${++this.#made}`, bytes, durable: nothing, changedWall: this.wall(), mode };
  }

  #change(path: string, apply: Change['apply']): void {
    apply(this.#names);
    this.#pending.push({ folder: folderOf(path), apply });
  }
}

function remains({ bytes, durable }: FileNode, survivors: Survivors): Uint8Array {
  if (bytes === durable || survivors.of !== 'some') return durable;
  const { random } = survivors;
  if (random() < 0.3) return durable;
  // Some of the new bytes reached the disk; where only the length did, the rest is zeros.
  const kept = Math.floor(random() * (bytes.length + 1));
  const torn = new Uint8Array(random() < 0.5 ? bytes.length : kept);
  torn.set(bytes.subarray(0, kept));
  return torn;
}
