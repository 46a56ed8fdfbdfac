import { serverName } from '@platform/contract/machine-server/machine-server';
import type { Log } from '@platform/kit';
import type { Device, ProcessInfo } from '../os/ports.ts';
import type { ServerStatus } from '../state/state.ts';

const who = ({ pid, command }: ProcessInfo): string => `process ${pid} (${command})`;

/** A foreign machine server is reported and left running: a user may need it. */
export async function reportForeignServers(
  { device, log }: { device: Device; log: Log },
  publish: (change: Partial<ServerStatus>) => void,
): Promise<void> {
  const foreign = await device.processes.foreignProcesses(serverName);
  if (foreign.length === 0) return;
  const conflict = `Another machine server runs that this agent has not started: ${foreign.map(who).join(', ')}.`;
  log.warn('a foreign machine server is running', { processes: foreign });
  publish({ conflict });
}

/** How programs report that a port is in use: Node, Go, libc, each with the address before or after it. */
const taken = /EADDRINUSE|address already in use/i;
const port = /:(\d{2,5})\b/g;

/** Which process uses the port that the last lines of a server report as in use. */
export async function findPortConflict(device: Device, lines: readonly string[]): Promise<string | undefined> {
  const line = lines.findLast((l) => taken.test(l));
  for (const [, digits] of (line ?? '').matchAll(port)) {
    const listener = await device.processes.listener(Number(digits));
    if (listener) return `Port ${digits} is used by ${who(listener)}.`;
  }
  return undefined;
}
