import { readdir, readFile, readlink } from 'node:fs/promises';
import path from 'node:path';
import type { ProcessInfo } from '../ports.ts';

// Reads /proc. Results are empty without /proc, and for processes that have exited or belong to another user.

export async function pids(): Promise<number[]> {
  return (await readdir('/proc').catch(() => [])).map(Number).filter(Number.isInteger);
}

/** File name of the program that a process runs. */
export async function programOf(pid: number): Promise<string> {
  const file = await readlink(`/proc/${pid}/exe`).catch(() => '');
  return path.basename(file.replace(/ \(deleted\)$/, ''));
}

export async function commandOf(pid: number): Promise<string> {
  const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return line.replaceAll('\0', ' ').trim().slice(0, 200) || (await programOf(pid));
}

/** The PID namespace of a process; a container has its own. Empty: the process belongs to another user. */
export const namespaceOf = (pid: number): Promise<string> => readlink(`/proc/${pid}/ns/pid`).catch(() => '');

const listening = '0A';

/** The process that listens on a TCP port, on any address. */
export async function listenerOf(port: number): Promise<ProcessInfo | undefined> {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const sockets = new Set<string>();
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    const table = await readFile(file, 'utf8').catch(() => '');
    for (const line of table.split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/);
      if (fields[1]?.endsWith(wanted) && fields[3] === listening) sockets.add(`socket:[${fields[9]}]`);
    }
  }
  if (sockets.size === 0) return undefined;
  for (const pid of await pids()) {
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const target = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => '');
      if (sockets.has(target)) return { pid, command: await commandOf(pid) };
    }
  }
  return undefined;
}
