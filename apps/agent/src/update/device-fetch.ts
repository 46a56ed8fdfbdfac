import { estimateTime, type Clock, type Log, type TrustedTime } from '@platform/kit';
import type { System } from '../install/system.ts';
import type { Device, Disk } from '../os/ports.ts';
import { readChecked } from '../sync/checked-file.ts';
import { releaseTrust } from '../trust/trust.ts';
import { fetchRelease } from './fetch.ts';
import { vcdiffPatches } from './patches.ts';
import type { Fetched, FetchTask, Progress } from './ports.ts';
import { programStore } from './store.ts';

export interface DeviceFetchParts {
  device: Pick<Device, 'files' | 'disk' | 'web'>;
  appAddress: string;
  system: System;
  clock: Clock;
  log: Log;
}

/** Fetches a release with all that this machine has for it: the release keys it trusts, patches, what it knows of the time. */
export async function deviceFetch(
  task: FetchTask,
  { device, appAddress, system, clock, log }: DeviceFetchParts,
  tell: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<Fetched> {
  const { files, disk, web } = device;
  const now = await timeOf(disk, system, clock);
  const trust = releaseTrust({ disk, web, appAddress, time: () => now, clock, log });
  const store = programStore(files, task.program, { clock, log });
  return fetchRelease(task, { files, web, store, trust, patches: vcdiffPatches(files), clock, log }, tell, signal);
}

const unknownTime = { last_seen: 0 };

/** Whether documents may be called expired: only by a clock that a time server sets. */
export async function timeOf(disk: Disk, system: System, clock: Clock): Promise<TrustedTime> {
  const { value = unknownTime } = await readChecked(disk, 'state/time.json', (v) => v as typeof unknownTime);
  const said = await system.run('timedatectl', 'show', '--property=NTPSynchronized', '--value');
  const floor = Number.isFinite(value.last_seen) ? value.last_seen : 0;
  return estimateTime({ floor, system: clock.wall(), isSynchronized: said.text === 'yes' });
}
