import { versionLine } from '@platform/contract/machine-server/machine-server';
import { version } from '../versions/own-version.ts';
import type { Io } from './command.ts';
import { exitCodes } from './exit-codes.ts';

export async function printVersion(_given: object, io: Io): Promise<number> {
  io.out(versionLine({ version, binaryName: 'platform-agent' }));
  return exitCodes.done;
}
