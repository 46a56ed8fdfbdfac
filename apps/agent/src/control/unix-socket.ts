import { chmod, mkdir, rename, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { inMemory } from '@platform/kit/node';
import type { OpenControl } from '../os/ports.ts';
import { socketFile } from './address.ts';

/**
 * ROOT/state/control.sock, for root only. Binds inside a private folder, so that other users can connect at no moment.
 * The rename replaces the socket of a dead agent. On a full disk, the socket is in memory and the file is a link to it.
 */
export const unixSocket =
  (root: string): OpenControl =>
  async (listen) => {
    const file = path.join(root, socketFile);
    const bind = async (to: string): Promise<void> => {
      await listen(to);
      await chmod(to, 0o600);
    };
    const inFile = await bound(file, bind);
    return async () => {
      await rm(file, { force: true });
      await rm(inFile, { force: true });
    };
  };

/** Returns the path of the socket. */
async function bound(file: string, bind: (to: string) => Promise<void>): Promise<string> {
  const made = `${path.dirname(file)}/.control`;
  const socket = path.join(made, 's');
  try {
    await rm(made, { recursive: true, force: true });
    await mkdir(made, { mode: 0o700 });
    await bind(socket);
    await rename(socket, file);
    return file;
  } catch (error) {
    const spare = await inMemory('control', file);
    if (spare === undefined) throw error;
    await rm(spare, { force: true });
    await bind(spare);
    const link = `${file}.link`;
    await rm(link, { force: true });
    await symlink(spare, link);
    await rename(link, file);
    return spare;
  } finally {
    await rm(made, { recursive: true, force: true });
  }
}
