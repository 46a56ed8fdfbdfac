// What the ways to give a machine its credentials share.
import { errorText } from '@platform/kit';
import { readStdin } from '@platform/kit/node';
import { controlOf, NoAgentRuns } from '../control/client.ts';
import { findCredentials } from '../install/fetch-credentials.ts';
import type { FoundCredentials } from '../install/facts.ts';
import type { Io } from './command.ts';
import { Ended, endedByMachine, exitCodes } from './exit-codes.ts';

const limitBytes = 64 * 1024;

/** Notifies the running agent, and says what it did. */
export async function takenBy(root: string, { clock }: Io): Promise<string> {
  try {
    const { did } = await controlOf(root, clock).post('/credentials', {});
    return did;
  } catch (error) {
    if (error instanceof NoAgentRuns) return 'The agent uses the credentials when it starts.';
    return 'A running agent uses them within a minute.';
  }
}

/** What the credentials file holds before the command. An unreadable file must not count as missing. */
export const credentialsBefore = (file: string): Promise<FoundCredentials> =>
  findCredentials(file).catch((error: unknown) => {
    throw endedByMachine(error) ?? unreadable(file, error);
  });

export const unreadable = (file: string, error: unknown): Ended =>
  new Ended(exitCodes.usage, {
    code: 'NOT_READABLE',
    what: `${file} cannot be read: ${errorText(error)}.`,
    remedy: 'Pass the file that holds the credentials, or - for stdin.',
  });

export const stdinText = (): Promise<string> => readStdin({ limitBytes });
