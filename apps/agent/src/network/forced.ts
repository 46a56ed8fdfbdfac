import type { Clock, Log } from '@platform/kit';
import type { FileSystem } from '../os/ports.ts';

/** A user or a script creates it to start provisioning. */
const forceFile = 'etc/force_provisioning_mode';
const lookMs = 5_000;

/** Calls `forced` for each touch of the file, and removes it. One that cannot be removed counts once. */
export async function watchForceFile(
  { files, forced, clock, log }: { files: FileSystem; forced: () => void; clock: Clock; log: Log },
  signal: AbortSignal,
): Promise<void> {
  let ignored = '';
  for (; !signal.aborted; await clock.sleep(lookMs, signal)) {
    const found = await files.stat(forceFile).catch(() => undefined);
    if (!found) ignored = '';
    if (!found || found.mark === ignored) continue;
    try {
      await files.unlink(forceFile);
      log.info('provisioning is forced by the file', { file: forceFile });
    } catch (error) {
      ignored = found.mark;
      log.warn('provisioning is forced by a file that cannot be removed; it is ignored until it changes', {
        file: forceFile,
        error,
      });
    }
    forced();
  }
}
