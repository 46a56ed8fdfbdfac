import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';

/**
 * Removes what a script left, including paths that are too long and folders without permissions. Throws if a file
 * remains.
 */
export async function removeTree(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true });
  } catch {
    for (const args of [
      ['chmod', '-R', 'u+rwx', folder],
      ['rm', '-rf', folder],
    ]) {
      const [command = '', ...rest] = args;
      await once(spawn(command, rest, { stdio: 'ignore' }), 'close');
    }
    await rm(folder, { recursive: true, force: true });
  }
}
