import path from 'node:path';
import { controlOf, NoAgentRuns } from '../control/client.ts';
import { commandOfService } from '../control/service-words.ts';
import { system } from '../composition/system.ts';
import { fileDisk } from '../os/file-disk.ts';
import { placeOptions } from './run-options.ts';
import type { Io } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { lastRunHere } from '../composition/this-machine.ts';
import { statusOnDisk } from '../control/status-on-disk.ts';
import { statusText } from './status-text.ts';

export async function status(given: { root: string; json: boolean }, io: Io): Promise<number> {
  const root = path.resolve(given.root);
  try {
    const now = await controlOf(root, io.clock).status();
    io.out(given.json ? JSON.stringify(now, null, 2) : statusText(now, io.columns));
    return exitCodes.done;
  } catch (error) {
    if (!(error instanceof NoAgentRuns)) throw error;
  }
  const files = system.files(root);
  const disk = fileDisk(files);
  const found = await statusOnDisk({
    root,
    files,
    disk,
    clock: io.clock,
    credentialsFile: placeOptions.config.default,
    previousRun: () => lastRunHere(disk),
  });
  io.out(given.json ? JSON.stringify(found, null, 2) : statusText(found, io.columns));
  io.note(`No agent runs for ${root}. This is the state in its folder. Start it with: ${commandOfService('start')}`);
  return exitCodes.notRunning;
}
