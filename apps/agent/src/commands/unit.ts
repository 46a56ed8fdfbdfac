import path from 'node:path';
import { unitText } from '../install/unit.ts';
import type { Io } from './command.ts';
import { exitCodes } from './exit-codes.ts';

/** The running agent gets the unit of the next version from this command. */
export async function printUnit(given: { root: string; config: string }, io: Io): Promise<number> {
  const places = { root: path.resolve(given.root), credentialsFile: path.resolve(given.config) };
  io.out(unitText(places).trimEnd());
  return exitCodes.done;
}
