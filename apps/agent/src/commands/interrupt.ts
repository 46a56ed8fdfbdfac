import { windows } from '../composition/windows-calls.ts';
import type { Io } from './command.ts';
import { exitCodes } from './exit-codes.ts';

/** Only for agents on Windows, which start this as a child. */
export async function interrupt(given: { pid: number }, _io: Io): Promise<number> {
  await windows.interruptConsole(given.pid, process.ppid);
  return exitCodes.done;
}
