import { systemClock } from '@platform/kit/node';
import { system } from '../composition/system.ts';
import { fileDisk } from '../os/file-disk.ts';
import { createWeb } from '../os/web.ts';
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
    const files = system.files(root);
    const disk = fileDisk(files);
    const proven = await openProvenTime(disk, systemClock);
    const trace = new RequestTrace();
    trace.listen(() => log);
    const trusted = trustedBy({ appAddress, ...(authority !== undefined && { authority }) });
    const send = tolerantFetch({ clock: systemClock, system, proven, trusted });
    const web = createWeb(send, { trace, clock: systemClock });
    const device = { files, disk, web };
    const parts = { device, appAddress, system, late, clock: systemClock, log };
    return deviceFetch(task, parts, tell, stop.signal);
  });
}
