import { PlatformError } from '@platform/contract/errors/errors';
import type { Disk, Lines } from '../ports.ts';
import type { SimFiles } from './files.ts';

export class PowerCut extends Error {}

/** Faults that a test can inject into the disk. */
export interface DiskFaults {
  /** The power fails in the n-th change from now, after this share of its bytes. */
  cutIn?: { changes: number; share: number };
  /** Set by the power cut: all changes fail until the test clears it. */
  isOff?: boolean;
  isFull?: boolean;
}

export function simDisk(files: SimFiles, faults: DiskFaults): Disk {
  /** Counts a change; returns the share of its bytes that reaches the disk. */
  const change = (): number => {
    if (faults.isOff) throw new PowerCut();
    if (faults.isFull) throw new PlatformError('DISK_FULL');
    const { cutIn } = faults;
    if (!cutIn || --cutIn.changes > 0) return 1;
    delete faults.cutIn;
    faults.isOff = true;
    return cutIn.share;
  };
  return {
    read: async (file) => files.get(file)?.bytes.slice(),
    async write(file, bytes) {
      const share = change();
      if (share >= 0.5) files.put(file, bytes.slice()); // the rename is atomic: before it nothing, after it everything
      if (share < 1) throw new PowerCut();
    },
    async append(file, bytes) {
      const share = change();
      files.append(file, bytes.slice(0, Math.floor(bytes.length * share)));
      if (share < 1) throw new PowerCut();
    },
    async list(folder) {
      return files
        .names()
        .filter((name) => name.startsWith(`${folder}/`) && !name.slice(folder.length + 1).includes('/'))
        .map((name) => name.slice(folder.length + 1));
    },
    async remove(file) {
      const share = change();
      if (share >= 0.5) files.remove(file);
      if (share < 1) throw new PowerCut();
    },
  };
}

export function simLines(files: SimFiles): Lines {
  return {
    async end(name) {
      if (!files.get(name)) files.put(name, new Uint8Array());
      const file = files.get(name)!;
      return { file: file.id, offset: file.bytes.length };
    },
    makeRoom: async () => 'disk',
    async read(name, from) {
      const file = files.get(name);
      if (!file) return { lines: [], position: { file: '', offset: 0 } };
      const offset = from && from.file === file.id && from.offset <= file.bytes.length ? from.offset : 0;
      const text = new TextDecoder().decode(file.bytes.subarray(offset));
      const end = text.lastIndexOf('\n') + 1;
      const lines = end === 0 ? [] : text.slice(0, end - 1).split('\n');
      return {
        lines,
        position: { file: file.id, offset: offset + new TextEncoder().encode(text.slice(0, end)).length },
      };
    },
    follow(name) {
      const mark = () => `${files.get(name)?.id} ${files.get(name)?.bytes.length}`;
      const seen = { mark: mark() };
      return {
        async changed(signal) {
          // Resolves at once if the file was written since the last call, as the real one does.
          if (mark() === seen.mark) await files.changed(name, signal);
          seen.mark = mark();
        },
        close: () => {},
      };
    },
    async trim(name, read, limitBytes) {
      const file = files.get(name);
      if (!file || file.id !== read.file || file.bytes.length <= limitBytes || read.offset < file.bytes.length)
        return read;
      file.bytes = new Uint8Array();
      return { file: file.id, offset: 0 };
    },
    async empty(name, from, limitBytes) {
      const file = files.get(name);
      if (!file) return undefined;
      const seen = from && from.file === file.id && from.offset <= file.bytes.length ? from.offset : 0;
      if (file.bytes.length - seen <= limitBytes) return undefined;
      const lines = file.bytes.subarray(seen).filter((byte) => byte === 0x0a).length;
      files.put(`${name}.1`, file.bytes.slice(-(2 ** 20)));
      file.bytes = new Uint8Array();
      return { position: { file: file.id, offset: 0 }, lines };
    },
  };
}
