// What the ways to give a machine its credentials share.
import { errorText } from '@platform/kit';
import { controlOf, NoAgentRuns } from '../control/client.ts';
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

/** An unreadable file must not count as missing. */
export function orMissing(file: string, error: unknown): undefined {
  if (error instanceof Error && 'code' in error && ['ENOENT', 'ENOTDIR'].includes(String(error.code))) return undefined;
  throw endedByMachine(error) ?? unreadable(file, error);
}

export const unreadable = (file: string, error: unknown): Ended =>
  new Ended(exitCodes.usage, {
    code: 'NOT_READABLE',
    what: `${file} cannot be read: ${errorText(error)}.`,
    remedy: 'Name the file that holds the credentials, or - for stdin.',
  });

export async function stdinText(): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limitBytes) throw new Error(`it is longer than ${limitBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
