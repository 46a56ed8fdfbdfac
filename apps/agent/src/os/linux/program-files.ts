import { createHash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import path from 'node:path';
import type { ProcessId } from '../ports.ts';

/**
 * Tells whether a process runs another file than the one that lies where it was started from. Cheap as long as it is the
 * very same file; another one is read once, because a program may be replaced by its equal.
 */
export function programFiles(root: string): (id: ProcessId, program: string) => Promise<boolean> {
  const known = { of: '', isReplaced: false };
  return async ({ pid }, program) => {
    const running = `/proc/${pid}/exe`;
    const file = path.join(root, program);
    const [ours, now] = [identity(running), identity(file)];
    // Gone, or another user's: nothing newer to start.
    if (ours === undefined || now === undefined || ours === now) return false;
    // A script runs as its interpreter.
    if (!(await isProgram(file))) return false;
    const of = `${ours} ${now}`;
    if (known.of !== of) {
      const [a, b] = [await hash(running), await hash(file)];
      Object.assign(known, { of, isReplaced: a !== b });
    }
    return known.isReplaced;
  };
}

/** Read by this thread: every ten seconds, another one would have to be woken for it. */
function identity(file: string): string | undefined {
  try {
    const { dev, ino, size, mtimeMs } = statSync(file);
    return [dev, ino, size, mtimeMs].join(' ');
  } catch {
    return undefined;
  }
}

async function isProgram(file: string): Promise<boolean> {
  for await (const head of createReadStream(file, { end: 3 })) return (head as Buffer).toString('latin1') === '\x7fELF';
  return false;
}

async function hash(file: string): Promise<string> {
  const sum = createHash('sha256');
  for await (const piece of createReadStream(file)) sum.update(piece as Buffer);
  return sum.digest('hex');
}
