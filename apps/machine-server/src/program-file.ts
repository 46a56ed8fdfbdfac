import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';

/** Detects whether the program's file was replaced since the start of this process. */
export interface ProgramFile {
  isReplaced(): Promise<boolean>;
}

interface Look {
  readonly identity: string;
  readonly hash: string;
}

/**
 * @param file - path that the program was started with; each check follows symbolic links.
 * @param running - another path of the running bytes, which stays valid after the file was replaced.
 */
export async function watchProgramFile(file: string, running = '/proc/self/exe'): Promise<ProgramFile> {
  const start = await identity(file);
  const known = { last: undefined as Look | undefined, running: undefined as string | undefined };
  return {
    isReplaced: async () => {
      const now = await identity(file);
      // The file is missing, or it is the same file: there is no newer program to restart into.
      if (now === undefined || start === undefined || now === start) return false;
      if (known.last?.identity !== now) known.last = { identity: now, hash: await hash(file) };
      known.running ??= await hash(running);
      return known.last.hash !== known.running;
    },
  };
}

/** Changes when the file is replaced or rewritten; cheap, in contrast to hashing 125 MB. */
async function identity(file: string): Promise<string | undefined> {
  try {
    const { dev, ino, size, mtimeMs } = await stat(file);
    return [dev, ino, size, mtimeMs].join(' ');
  } catch {
    return undefined;
  }
}

async function hash(file: string): Promise<string> {
  const sum = createHash('sha256');
  for await (const piece of createReadStream(file)) sum.update(piece as Buffer);
  return sum.digest('hex');
}
