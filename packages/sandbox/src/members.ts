/** The processes inside a sandbox, seen from outside: they are those of its pid namespace. */
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';

const pids = (): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

function read<T>(f: () => T): T | undefined {
  try {
    return f();
  } catch {
    return undefined; // it ended between two looks
  }
}

/** State and parent; the name in parentheses may itself hold spaces and parentheses. */
function statOf(pid: number): { state: string; parent: number } | undefined {
  const text = read(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  if (text === undefined) return undefined;
  const [state = '', parent = ''] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state, parent: Number(parent) };
}

/** Those that live, zombies not among them. @param namespace - number of the pid namespace. */
export function membersOf(namespace: number): number[] {
  const name = `pid:[${namespace}]`;
  return pids().filter((pid) => {
    if (read(() => readlinkSync(`/proc/${pid}/ns/pid`)) !== name) return false;
    const state = statOf(pid)?.state;
    return state !== undefined && state !== 'Z' && state !== 'X';
  });
}

/** The children of one process. */
export const childrenOf = (parent: number): number[] => pids().filter((pid) => statOf(pid)?.parent === parent);

/** Resident memory of all of them; what several share counts several times. */
export function residentBytes(members: readonly number[]): number {
  let sum = 0;
  for (const pid of members) {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(read(() => readFileSync(`/proc/${pid}/status`, 'utf8')) ?? '')?.[1];
    sum += Number(kib ?? 0) * 1024;
  }
  return sum;
}

/** Files that have no name any more but are still open: they take room on the disk until they are closed. */
export function deletedBytes(members: readonly number[], device: number): number {
  const sizes = new Map<number, number>();
  for (const pid of members) {
    for (const fd of read(() => readdirSync(`/proc/${pid}/fd`)) ?? []) {
      const found = read(() => statSync(`/proc/${pid}/fd/${fd}`));
      if (found?.isFile() && found.nlink === 0 && found.dev === device) sizes.set(found.ino, found.size);
    }
  }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0);
}
