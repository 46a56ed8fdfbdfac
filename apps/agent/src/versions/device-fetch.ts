import type { Clock, Log } from '@platform/kit';
import { machineBootId } from '../os/boot-id.ts';
import type { Device, Disk, Programs, FileSystem } from '../os/ports.ts';
import type { ExpiredDocument } from './trust/refresh.ts';
import { isClockSynchronized } from '../clock/proven-time.ts';
import { releaseTime, type ReleaseTime } from './trust/release-time.ts';
import { releaseTrust } from './trust/trust.ts';
import { fetchRelease } from './fetch-release.ts';
import type { Fetched, FetchTask, Progress, Patches } from './fetch-ports.ts';
import { programStore } from './program-store.ts';
import { applyPatch } from '@platform/kit/node';

export interface DeviceFetchParts {
  device: Pick<Device, 'files' | 'disk' | 'web'>;
  appAddress: string;
  system: Programs;
  /** Receives a document that looks expired by a clock that is not trusted; undefined: none does. */
  late: (document: ExpiredDocument | undefined) => void;
  clock: Clock;
  log: Log;
}

/** Fetches a release with the release keys, the patches and the best known time of this machine. */
export async function deviceFetch(
  task: FetchTask,
  { device, appAddress, system, late, clock, log }: DeviceFetchParts,
  tell: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<Fetched> {
  const { files, disk, web } = device;
  const now = await timeOf(disk, system, clock);
  const trust = releaseTrust({ disk, web, appAddress, time: () => now, late, clock, log });
  const store = programStore(files, task.program, { clock, log });
  const [patches, boot] = [vcdiffPatches(files), machineBootId()];
  return fetchRelease(task, { files, web, store, trust, patches, boot, clock, log }, tell, signal);
}

/** The time against which documents expire; see releaseTime. */
export async function timeOf(disk: Disk, system: Programs, clock: Clock): Promise<ReleaseTime> {
  return releaseTime(disk, clock, await isClockSynchronized(system));
}

/** VCDIFF patches of files below the root. */
const vcdiffPatches = (files: FileSystem): Patches => ({
  async apply({ source, patch, limitBytes }, write) {
    const file = await files.openRead(source);
    try {
      await applyPatch({ patch, source: (at, length) => file.read(at, length), write, limitBytes });
    } finally {
      await file.close();
    }
  },
});
