import { existsSync, readFileSync } from 'node:fs';
import type { Clock } from '@platform/kit';
import { isAlive } from '@platform/kit/node';
import type { ProcessId } from '../ports.ts';
import { watchFile } from './file-watch.ts';

/** What ends soon after its start is waited for; what has run for a while ends rarely. */
const youngMs = 60_000;
const youngLookMs = 500;
const lookMs = 2_000;
/** What it started may outlive it: then its control group does not change. */
const groupLookMs = 10_000;
const never = new AbortController().signal;

/**
 * File of the kernel that changes when the last process of a control group ends; undefined: this process has none. A process that is no
 * child has no other event that a program without foreign functions could wait for.
 */
export function groupEventsOf(pid: number): string | undefined {
  try {
    const group = /^0::(\/.+)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))?.[1];
    if (group === undefined) return undefined;
    return ['/sys/fs/cgroup', '/sys/fs/cgroup/unified']
      .map((mount) => `${mount}${group}/cgroup.events`)
      .find((file) => existsSync(file));
  } catch {
    return undefined; // it has ended
  }
}

/**
 * Resolves when a process that is no child of this one has ended.
 *
 * @param events - of a control group that holds it and what it started alone; undefined: there is none, so it is looked for it.
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
