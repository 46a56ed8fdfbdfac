import { readFile, stat } from 'node:fs/promises';

const lockFiles = ['/var/lib/dpkg/lock-frontend', '/var/lib/dpkg/lock', '/var/lib/apt/lists/lock'];

export interface LockHolder {
  pid: number;
  /** For users, for example apt-get. */
  program: string;
}

/**
 * The process that holds one of these files, by the text of /proc/locks: `1: POSIX ADVISORY WRITE 42 08:01:77 0 EOF`. A
 * line that begins with "->" waits for a lock. Pure.
 */
export function holderOf(locks: string, inodes: readonly number[]): number | undefined {
  for (const line of locks.split('\n')) {
    const [, pid, inode] = /^\d+: POSIX +ADVISORY +WRITE +(\d+) [0-9a-f]+:[0-9a-f]+:(\d+) /.exec(line) ?? [];
    if (inode !== undefined && inodes.includes(Number(inode))) return Number(pid);
  }
  return undefined;
}

/** The process that keeps other package managers waiting; undefined: none. */
export async function lockHolder(prefix: string): Promise<LockHolder | undefined> {
  const inodes = await Promise.all(
    lockFiles.map((file) =>
      stat(`${prefix}${file}`).then(
        ({ ino }) => ino,
        () => -1,
      ),
    ),
  );
  const locks = await readFile(`${prefix}/proc/locks`, 'utf8').catch(() => '');
  const pid = holderOf(locks, inodes);
  if (pid === undefined) return undefined;
  const program = await readFile(`${prefix}/proc/${pid}/comm`, 'utf8').catch(() => '');
  return { pid, program: program.trim() || 'another program' };
}
