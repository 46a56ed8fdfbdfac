import { readlinkSync } from 'node:fs';
import { errorText } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { isHopeless } from './give-up.ts';
import { places, units } from './places.ts';
import { readServerOptions } from './server-options.ts';
import { attempt } from './system.ts';

const againMs = 500;
const answerMs = 3_000;

/** The server on this host, without TLS. */
export const localUrl = async (): Promise<string> => `http://127.0.0.1:${(await readServerOptions()).port ?? 8080}`;

/** A version that crashes soon after its start is ready for a moment: it counts once one process stays ready this long. */
const staysReadyMs = 15_000;

interface Seen {
  /** Why the server is not ready; undefined: it is. */
  readonly problem?: string;
  readonly pid: string;
  /** How the process before ended; undefined: it runs, or a signal ended it. */
  readonly status?: number | undefined;
}

async function look(version: string): Promise<Seen> {
  const pid = attempt('systemctl', 'show', '-P', 'MainPID', units.server).text;
  if (pid === '0' || pid === '') return { pid, problem: 'the server does not run', status: exitStatus() };
  try {
    // The kernel's word for which version runs: the link may have changed since the start.
    const program = readlinkSync(`/proc/${pid}/exe`);
    if (!program.startsWith(`${places.programs}/${version}/`)) return { pid, problem: `${program} runs` };
    const response = await fetch(`${await localUrl()}/readyz`, { signal: AbortSignal.timeout(answerMs) });
    if (response.ok) return { pid };
    return { pid, problem: `/readyz answers ${response.status}: ${(await response.text()).trim()}` };
  } catch (error) {
    return { pid, problem: errorText(error) };
  }
}

/** Not what systemd logs about the unit: the cause would not be among the last lines. */
const ofProcesses = [`_SYSTEMD_UNIT=${units.server}`];

/** As wait(2) says it: CLD_EXITED. */
const exited = '1';

function exitStatus(): number | undefined {
  const text = attempt('systemctl', 'show', '-p', 'ExecMainCode', '-p', 'ExecMainStatus', units.server).text;
  const [code, status] = ['ExecMainCode', 'ExecMainStatus'].map(
    (name) => new RegExp(`^${name}=(\\d+)$`, 'm').exec(text)?.[1],
  );
  return code === exited && status !== undefined ? Number(status) : undefined;
}

/** How often systemd started the server again since it was started by a command. */
const ends = (): number => Number(attempt('systemctl', 'show', '-P', 'NRestarts', units.server).text) || 0;

/**
 * Waits until one process of the version has been ready for 15 s.
 *
 * @param withinS - for the beginning of these 15 s. Each process that ends begins them again.
 * @returns why that did not happen, with the last lines of its log; undefined: it did. A version that ended
 * several times and was never ready is not waited for.
 */
export async function untilReady(version: string, withinS: number): Promise<string | undefined> {
  const end = systemClock.now() + withinS * 1000;
  let since: { pid: string; at: number } | undefined;
  let ended = '';
  let status: number | undefined;
  const endsBefore = ends();
  for (;;) {
    const { pid, problem, status: found } = await look(version);
    if (pid === '0') status = found;
    const now = systemClock.now();
    const wasNeverReady = ended === '' && !since && problem !== undefined;
    const count = wasNeverReady ? ends() - endsBefore : 0;
    const givesUp = isHopeless({ count, status });
    if (since && (since.pid !== pid || problem !== undefined)) {
      ended = `it was ready for ${Math.round((now - since.at) / 1000)} s, and not longer; `;
      since = undefined;
    }
    if (problem === undefined) {
      since ??= { pid, at: now };
      if (now - since.at >= staysReadyMs) return undefined;
    }
    if (givesUp || (!since && now > end)) {
      const after = givesUp ? `; it ended ${count} times` : ` after ${withinS} s`;
      const lines = attempt('journalctl', ...ofProcesses, '-n', '20', '-o', 'cat', '--no-pager').text;
      return `${ended}${problem ?? `process ${pid} has just started`}${after}. Its last lines:\n${lines}`;
    }
    await systemClock.sleep(againMs);
  }
}
