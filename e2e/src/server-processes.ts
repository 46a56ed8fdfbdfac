// The processes of a management server with its own database, and rows that only its database has.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Client } from 'pg';
import { systemClock } from '@platform/kit/node';
import { postmasterOf } from './end-state.ts';

export const socketOf = (dataDir: string): { host: string; port: number; user: string; database: string } => ({
  host: postmasterOf(dataDir)?.socketFolder ?? '',
  port: 5432,
  user: 'platform',
  database: 'platform',
});

/** All lines of machines, as rows of the running database. */
export async function linesOf(dataDir: string): Promise<string[]> {
  const client = new Client(socketOf(dataDir));
  await client.connect();
  try {
    const { rows } = await client.query<{ line: string }>(
      'select to_jsonb(l)::text as line from part_log l order by id',
    );
    return rows.map(({ line }) => line);
  } finally {
    await client.end();
  }
}

/** Processes whose command line names the folder, and their children. */
export function processesOf(folder: string): number[] {
  const read = (file: string): string => {
    try {
      return readFileSync(`/proc/${file}`, 'utf8');
    } catch {
      return ''; // it has ended
    }
  };
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const own = pids.filter((pid) => read(`${pid}/cmdline`).includes(folder));
  const children = own.flatMap((pid) => read(`${pid}/task/${pid}/children`).split(' ').filter(Boolean));
  return [...new Set([...own, ...children])].map(Number);
}

/** Kills the server, its database and all their children at once. @returns how many there were */
export async function killAll(dataDir: string): Promise<number> {
  const pids = processesOf(path.join(dataDir, 'cloud'));
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended with its parent.
    }
  }
  while (processesOf(path.join(dataDir, 'cloud')).length > 0) await systemClock.sleep(20);
  return pids.length;
}
