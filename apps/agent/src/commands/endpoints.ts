import { randomBytes } from 'node:crypto';
import { systemClock } from '@platform/kit/node';
import { serveEndpoints } from '../endpoints/serve-endpoints.ts';
import { serveBluetooth } from '../endpoints/serve-bluetooth.ts';
import type { Io } from './command.ts';
import { exitCodes } from './exit-codes.ts';

/** The process that serves unknown clients; see network/endpoints.ts. */
export async function endpoints(given: { bluetooth: boolean; address: string; port: number }, io: Io): Promise<number> {
  // The agent ends it by closing its input; a signal to the whole group must not be faster.
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, () => {});
  io.gone.addEventListener('abort', () => process.exit(exitCodes.done), { once: true });
  const link = { input: process.stdin, say: io.out, clock: systemClock };
  if (given.bluetooth) {
    await serveBluetooth(link);
    return exitCodes.done;
  }
  const newToken = (): string => randomBytes(16).toString('hex');
  await serveEndpoints({ ...given, ...link, newToken });
  return exitCodes.done;
}
