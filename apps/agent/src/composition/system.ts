import { agentStopSeconds } from '../install/unit.ts';
import { posixFileSystem } from '../os/posix/file-system.ts';
import { posixLines } from '../os/posix/lines.ts';
import { posixPrograms } from '../os/posix/programs.ts';
import { watchFile } from '../os/posix/file-watch.ts';
import type { FileWatch, System } from '../os/ports.ts';
import type { Clock } from '@platform/kit';
import { windowsFileSystem } from '../os/windows/file-system.ts';

const longestMs = (agentStopSeconds + 60) * 1000; // the longest wait of systemctl is for the agent to stop

/** What a command uses of the host that it runs on. */
export const system: System = {
  ...posixPrograms(longestMs),
  files: process.platform === 'win32' ? windowsFileSystem : posixFileSystem,
  lines: (folder) => posixLines(folder),
};

/** Reads that file systems without change notifications need are as rare as an idle agent allows. */
export const watchSmallFile = (file: string, clock: Clock): FileWatch => watchFile(file, clock, 60_000);

/** @throws Error with the output of systemctl */
export async function reboot(): Promise<void> {
  const { code, text } = await system.run('systemctl', 'reboot');
  if (code !== 0) throw new Error(`systemctl reboot failed: ${text.slice(0, 200)}`);
}
