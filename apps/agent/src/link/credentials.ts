import { lstat, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { parseCredentials, type MachineCredentials } from '@platform/contract/machine';
import type { Clock, Log } from '@platform/kit';
import { atomicWrite } from '@platform/kit/node';
import type { Condition } from '../health/conditions.ts';

const lookAgainMs = 10_000;
const limitBytes = 64 * 2 ** 10;

export interface FoundCredentials {
  credentials: MachineCredentials;
  /** The file that contains them, for the machine server. */
  file: string;
  /** The problem with the configured file; undefined: none. */
  problem: Condition | undefined;
}

type Read = { ok: true; text: string; value: MachineCredentials } | { ok: false; problem: string; isThere: boolean };

/**
 * Reads the credentials of this machine. If the file is damaged, the copy of the last intact one is used. Without a
 * copy the agent retries every 10 s and logs what is missing: exiting would only lead to a restart loop.
 *
 * @param copy - path of the copy of the last intact file.
 * @param tell - called at each retry with the problem.
 * @returns undefined if `signal` aborts first.
 */
export async function awaitCredentials(
  file: string,
  { copy, tell, clock, log }: { copy: string; tell: (text: string) => void; clock: Clock; log: Log },
  signal: AbortSignal,
): Promise<FoundCredentials | undefined> {
  const remedy = `Copy the credentials of this machine from the management app (or \`platform machine credentials\`) to ${file}.`;
  for (let logged = ''; !signal.aborted; await clock.sleep(lookAgainMs, signal)) {
    const read = await readFrom(file);
    if (read.ok) {
      await keep(copy, read.text).catch((error: unknown) => log.warn('credentials are not copied', { copy, error }));
      return { credentials: read.value, file, problem: undefined };
    }
    const last = read.isThere ? await readFrom(copy) : undefined; // a missing file was removed on purpose
    if (last?.ok) {
      log.error('the credentials file cannot be used; the last good one is used', { file, problem: read.problem });
      const problem: Condition = {
        code: 'CREDENTIALS_DAMAGED',
        severity: 'error',
        message: `The credentials file ${file} cannot be used (${read.problem}); the last good one is used.`,
        remedy: `${remedy} It is used from the next start of the agent on.`,
      };
      return { credentials: last.value, file: copy, problem };
    }
    if (read.problem !== logged) {
      log.error('this machine has no usable credentials; waiting for them', { file, problem: read.problem, remedy });
      logged = read.problem;
    }
    tell(`no usable credentials: ${read.problem}`);
  }
  return undefined;
}

async function readFrom(file: string): Promise<Read> {
  try {
    const found = await stat(file);
    if (!found.isFile()) return { ok: false, problem: 'it is not a file', isThere: true };
    if (found.size > limitBytes) return { ok: false, problem: `it is larger than ${limitBytes} bytes`, isThere: true };
    const text = await readFile(file, 'utf8');
    const parsed = parseCredentials(text);
    return parsed.ok
      ? { ok: true, text, value: parsed.value }
      : { ok: false, problem: text.trim() === '' ? 'it is empty' : parsed.problem, isThere: true };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT') return { ok: false, problem: 'there is no such file', isThere: false };
    return { ok: false, problem: error instanceof Error ? error.message : String(error), isThere: true };
  }
}

async function keep(copy: string, text: string): Promise<void> {
  const before = await lstat(copy).catch(() => undefined);
  if (before?.isFile() && (await readFile(copy, 'utf8')) === text) return;
  await atomicWrite(path.resolve(copy), text, { mode: 0o600 });
}
