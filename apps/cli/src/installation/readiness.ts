import { readlinkSync } from 'node:fs';
import { errorText } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { places, units } from './places.ts';
import { readServerOptions } from './server-options.ts';
import { attempt } from './system.ts';

const againMs = 500;
const answerMs = 3_000;

/** The server on this host, without TLS. */
export const localUrl = async (): Promise<string> => `http://127.0.0.1:${(await readServerOptions()).port ?? 8080}`;

/** Why the server of this version is not ready; undefined: it is. */
async function missing(version: string): Promise<string | undefined> {
  const pid = attempt('systemctl', 'show', '-P', 'MainPID', units.server).text;
  if (pid === '0' || pid === '') return 'the server does not run';
  try {
    // The kernel's word for which version runs: the link may have changed since the start.
    const program = readlinkSync(`/proc/${pid}/exe`);
    if (!program.startsWith(`${places.programs}/${version}/`)) return `${program} runs`;
    const response = await fetch(`${await localUrl()}/readyz`, { signal: AbortSignal.timeout(answerMs) });
    return response.ok ? undefined : `/readyz answers ${response.status}: ${(await response.text()).trim()}`;
  } catch (error) {
    return errorText(error);
  }
}

/** @returns why the version is not ready in time, with the last lines of its log; undefined: it is. */
export async function untilReady(version: string, withinS: number): Promise<string | undefined> {
  const end = systemClock.now() + withinS * 1000;
  for (;;) {
    const problem = await missing(version);
    if (problem === undefined) return undefined;
    if (systemClock.now() > end) {
      const lines = attempt('journalctl', '-u', units.server, '-n', '8', '-o', 'cat', '--no-pager').text;
      return `${problem} after ${withinS} s. Its last lines:\n${lines}`;
    }
    await systemClock.sleep(againMs);
  }
}
