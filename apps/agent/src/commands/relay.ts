import { setPriority } from 'node:os';
import path from 'node:path';
import { inMemory, systemClock } from '@platform/kit/node';
import { growPipe, holdPresence } from '../composition/pipes.ts';
import { newId } from '../os/fresh-id.ts';
import { relayFolder } from '../os/relay-places.ts';
import { relayOutput } from '../logs/relay/relay.ts';
import type { Io } from './command.ts';
import { exitCodes } from './exit-codes.ts';

/** Above the priority of the machine server: a program that writes to a pipe waits for its reader. */
const priority = -10;

/** The process that reads the output of the machine server; see logs/relay/relay.ts. */
export async function relay(given: { root: string }, _io: Io): Promise<number> {
  // It ends with the machine server. A shutdown that stops all processes stops that one, too.
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, () => {});
  try {
    setPriority(priority);
  } catch {
    // only root may
  }
  const root = path.resolve(given.root);
  await relayOutput({
    root,
    folder: await relayFolder(root),
    spareFolder: await inMemory('log', root),
    newId: () => newId(),
    growPipe,
    holdPresence,
    clock: systemClock,
  });
  return exitCodes.done;
}
