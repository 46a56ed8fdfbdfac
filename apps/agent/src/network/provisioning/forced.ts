import type { Log } from '@platform/kit';
import type { FileSystem, FileWatch } from '../../os/ports.ts';

/** A user or a script creates a file here to start provisioning. */
export const forceFolder = 'etc';
const forceFile = `${forceFolder}/force_provisioning_mode`;

/**
 * Calls `forced` for each touch of the file, and removes it. One that cannot be removed counts once.
 * @param watch - watches `forceFolder`: a look at the file every few seconds would wake an idle machine
 */
export async function watchForceFile(
  { files, watch, forced, log }: { files: FileSystem; watch: FileWatch; forced: () => void; log: Log },
  signal: AbortSignal,
): Promise<void> {
  let ignored = '';
  await files.mkdir(forceFolder).catch(() => {}); // a full disk: the watch looks for it from time to time
  for (; !signal.aborted; await watch.changed(signal)) {
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
