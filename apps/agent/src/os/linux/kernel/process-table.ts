import { readdir, readFile, readlink } from 'node:fs/promises';
import path from 'node:path';
import type { ProcessInfo } from '../../ports.ts';

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
  const sockets = await socketsIn(['/proc/net/tcp', '/proc/net/tcp6'], port);
  return holderOf(sockets.filter(({ state }) => state === listening).map(({ name }) => name));
}

/** The process that receives the datagrams of a UDP port on all addresses. */
export async function datagramHolderOf(port: number): Promise<ProcessInfo | undefined> {
  const sockets = await socketsIn(['/proc/net/udp', '/proc/net/udp6'], port);
  return holderOf(sockets.filter(({ address }) => /^0+$/.test(address)).map(({ name }) => name));
}

async function socketsIn(
  files: readonly string[],
  port: number,
): Promise<{ address: string; state: string; name: string }[]> {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  const tables = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')));
  return tables.flatMap((table) =>
    table
      .split('\n')
      .slice(1)
      .flatMap((line) => {
        const fields = line.trim().split(/\s+/);
        const [address = '', localPort] = (fields[1] ?? '').split(':');
        return localPort === wanted ? [{ address, state: fields[3] ?? '', name: `socket:[${fields[9]}]` }] : [];
      }),
  );
}

async function holderOf(sockets: readonly string[]): Promise<ProcessInfo | undefined> {
  if (sockets.length === 0) return undefined;
  for (const pid of await pids()) {
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const target = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => '');
      if (sockets.includes(target)) return { pid, command: await commandOf(pid) };
    }
  }
  return undefined;
}
