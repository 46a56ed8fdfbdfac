import { systemClock } from '@platform/kit/node';
import { linuxSystem } from '../os/posix/system.ts';
import { linuxDisk } from '../os/posix/disk.ts';
import { linuxFileSystem } from '../os/posix/file-system.ts';
import { webBy } from '../os/web.ts';
import { RequestTrace } from '../os/request-trace.ts';
import { openProvenTime } from '../clock/proven-time.ts';
import { tolerantFetch, trustedBy } from '../link/tolerant-fetch.ts';
import { deviceFetch } from '../versions/device-fetch.ts';
import { runFetchChild } from '../versions/fetch-child.ts';
import type { Io } from './command.ts';

/** The process in which an agent downloads; see versions/fetch-child.ts. */
export async function fetchOne(_given: object, io: Io): Promise<number> {
  const stop = new AbortController();
  process.once('SIGTERM', () => stop.abort(new Error('the agent does not need the file any more')));
  return runFetchChild(process.stdin, io.out, async ({ root, appAddress, authority, task }, { log, tell, late }) => {
    const of =
      process.platform === 'win32'
        ? (await import('../os/windows/device.ts')).windowsDevice({ root, clock: systemClock })
        : { files: linuxFileSystem(root), disk: linuxDisk(root) };
    const proven = await openProvenTime(of.disk, systemClock);
    const trace = new RequestTrace();
    trace.listen(() => log);
    const trusted = trustedBy({ appAddress, ...(authority !== undefined && { authority }) });
    const send = tolerantFetch({ clock: systemClock, system: linuxSystem, proven, trusted });
    const web = webBy(send, { trace, clock: systemClock });
    const device = { files: of.files, disk: of.disk, web };
    const parts = { device, appAddress, system: linuxSystem, late, clock: systemClock, log };
    return deviceFetch(task, parts, tell, stop.signal);
  });
}
