import { createHash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import path from 'node:path';
import type { ProcessId } from '../../ports.ts';

/**
 * Detects whether a process runs another file than the one now at the path that it was started from. Comparing
 * identities is cheap. A different file is hashed once, because a program may be replaced by an identical one.
 */
export function programFiles(root: string): (id: ProcessId, program: string) => Promise<boolean> {
  const known = { of: '', isReplaced: false };
  return async ({ pid }, program) => {
    const running = `/proc/${pid}/exe`;
    const file = path.join(root, program);
    const [ours, now] = [identity(running), identity(file)];
    // The process has exited or belongs to another user, or there is no file to start.
    if (ours === undefined || now === undefined || ours === now) return false;
    // A script runs as its interpreter, so its file cannot be compared.
    if (!(await isProgram(file))) return false;
    const of = `${ours} ${now}`;
    if (known.of !== of) {
      const [a, b] = [await hash(running), await hash(file)];
      Object.assign(known, { of, isReplaced: a !== b });
    }
    return known.isReplaced;
  };
}

/** Synchronous: it runs every ten seconds, and an asynchronous call would wake another thread each time. */
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
