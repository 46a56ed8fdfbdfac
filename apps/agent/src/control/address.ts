import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** The Unix socket, below the root. */
export const socketFile = 'state/control.sock';
/** On Windows: holds the name of the pipe, below the root. */
export const pipeFile = 'state/control.pipe';

/** Where commands connect to the agent of `root`. @throws ENOENT: none runs; EACCES, EPERM: not for this user */
export async function controlAddress(root: string, platform: NodeJS.Platform = process.platform): Promise<string> {
  if (platform !== 'win32') return path.join(root, socketFile);
  return (await readFile(path.join(root, pipeFile), 'utf8')).trim();
}
