import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';

/** Tells whether the file that this process was started from was replaced since. */
export interface ProgramFile {
  isReplaced(): Promise<boolean>;
}

interface Look {
  readonly identity: string;
  readonly hash: string;
}

/**
 * @param file - path of the program as it was started; symbolic links on the way are followed at each look.
 * @param running - another name of the very bytes that run, which stays valid after the file was replaced.
 */
export async function watchProgramFile(file: string, running = '/proc/self/exe'): Promise<ProgramFile> {
  const start = await identity(file);
  const known = { last: undefined as Look | undefined, running: undefined as string | undefined };
  return {
    isReplaced: async () => {
      const now = await identity(file);
      // Gone, or where the system offers no second name: nothing newer to restart into.
      if (now === undefined || start === undefined || now === start) return false;
      if (known.last?.identity !== now) known.last = { identity: now, hash: await hash(file) };
      known.running ??= await hash(running);
      return known.last.hash !== known.running;
    },
  };
}

/** Changes whenever another file takes the place or the content is written anew; cheap, unlike a hash of 125 MB. */
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
