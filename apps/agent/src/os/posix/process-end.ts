import { existsSync, readFileSync } from 'node:fs';
import type { Clock } from '@platform/kit';
import { isAlive } from '@platform/kit/node';
import type { ProcessId } from '../ports.ts';
import { watchFile } from './file-watch.ts';

/** A process often exits soon after its start and rarely later: poll a young one faster. */
const youngMs = 60_000;
const youngLookMs = 500;
const lookMs = 2_000;
/** Its children may outlive it: then its control group sends no event. */
const groupLookMs = 10_000;
const never = new AbortController().signal;

/**
 * Path of the kernel's file that changes when the last process of a control group exits; undefined: there is none. For
 * a process that is not a child, no other event is available without foreign functions.
 */
export function groupEventsOf(pid: number): string | undefined {
  try {
    const group = /^0::(\/.+)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))?.[1];
    if (group === undefined) return undefined;
    return ['/sys/fs/cgroup', '/sys/fs/cgroup/unified']
      .map((mount) => `${mount}${group}/cgroup.events`)
      .find((file) => existsSync(file));
  } catch {
    return undefined; // it has exited
  }
}

/**
 * Resolves when a process that is not a child of this one has exited.
 *
 * @param events - of a control group with only this process and its children; undefined: poll instead.
 */
export async function untilEnded(id: ProcessId, clock: Clock, events?: string): Promise<void> {
  const old = clock.now() + youngMs;
  while (isAlive(id) && clock.now() < old) await clock.sleep(youngLookMs);
  if (events === undefined) {
    while (isAlive(id)) await clock.sleep(lookMs);
    return;
  }
  const watch = watchFile(events, clock, groupLookMs);
  while (isAlive(id)) await watch.changed(never);
  watch.close();
}
