/** Lists the processes of a sandbox from outside: those in its PID namespace. */
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';

const pids = (): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

function read<T>(f: () => T): T | undefined {
  try {
    return f();
  } catch {
    return undefined; // the process ended between two reads
  }
}

/** State and parent. The name in parentheses may contain spaces and parentheses. */
function statOf(pid: number): { state: string; parent: number } | undefined {
  const text = read(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  if (text === undefined) return undefined;
  const [state = '', parent = ''] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state, parent: Number(parent) };
}

/** The live processes, without zombies. @param namespace - number of the PID namespace. */
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

/** Sum of the resident memory; pages that several processes share count several times. */
export function residentBytes(members: readonly number[]): number {
  let sum = 0;
  for (const pid of members) {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(read(() => readFileSync(`/proc/${pid}/status`, 'utf8')) ?? '')?.[1];
    sum += Number(kib ?? 0) * 1024;
  }
  return sum;
}

/** Size of deleted files that are still open: they use disk space until they are closed. */
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
