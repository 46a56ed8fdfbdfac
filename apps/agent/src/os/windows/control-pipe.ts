import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { atomicWrite } from '@platform/kit/node';
import type { OpenControl } from '../ports.ts';
import { closePipeToOthers } from './win32-machine.ts';

/**
 * A named pipe for the system and the administrators. Any program can take a pipe's name before we do, and then read
 * what commands send: the name is new at each start, and is written to a file that only the same users can read.
 *
 * @param file - below the root, holds the name.
 */
export const controlPipe =
  (root: string, file: string): OpenControl =>
  async (listen) => {
    const name = String.raw`\\.\pipe\platform-agent-${randomUUID()}`;
    const nameFile = path.join(root, file);
    await listen(name);
    await closePipeToOthers(name);
    await atomicWrite(nameFile, `${name}\n`, { mode: 0o600 });
    return () => rm(nameFile, { force: true });
  };
