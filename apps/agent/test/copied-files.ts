// Folders and files of machines, copied and put back.
import { cp, rm } from 'node:fs/promises';
import type { SimFiles } from '../src/os/sim/files.ts';

type Copied = { path: string } & ({ bytes: Uint8Array; mode: number } | { target: string });

export function copyFiles(files: SimFiles): readonly Copied[] {
  return [...files.tree().keys()].flatMap((path): Copied[] => {
    const node = files.node(path);
    if (node?.kind === 'file') return [{ path, bytes: node.bytes.slice(), mode: node.mode }];
    return node?.kind === 'link' ? [{ path, target: node.target }] : [];
  });
}

/** Folders stay, as the agent expects them. */
export function putFilesBack(files: SimFiles, copied: readonly Copied[]): void {
  for (const path of files.tree().keys()) {
    const kind = files.node(path)?.kind;
    if (kind === 'file' || kind === 'link') files.remove(path);
  }
  for (const one of copied) {
    if ('target' in one) files.putLink(one.target, one.path);
    else files.put(one.path, one.bytes, one.mode);
  }
}

/** A row: what happens, and the right value. */
export type Row = readonly [what: string, happens: () => Promise<unknown>, right: unknown];

export const copyFolder = async (from: string, to: string): Promise<void> => {
  await rm(to, { recursive: true, force: true });
  await cp(from, to, { recursive: true, verbatimSymlinks: true });
};
