import { watch } from 'node:fs';
import type { Clock } from '@platform/kit';
import type { FileWatch } from '../ports.ts';

/** Changes come in bursts: one wake-up for all changes within this time. */
const gatherMs = 100;
const isLinux = process.platform === 'linux';
/** Poll interval for a file that does not exist yet. */
const absentLookMs = isLinux ? 5_000 : 500;
/** Poll interval for file systems that send no notifications. Each poll wakes five threads of the compiled program. */
const watchedLookMs = isLinux ? 30_000 : 500;

/** Uses the system's notifications, so that an idle file costs nothing. */
export function watchFile(file: string, clock: Clock, lookMs = watchedLookMs): FileWatch {
  const state = { hasChanged: false, wake: () => {} };
  const tell = (): void => {
    state.hasChanged = true;
    state.wake();
  };
  let watcher: ReturnType<typeof watch> | undefined;
  const close = (): void => {
    watcher?.close();
    watcher = undefined;
  };
  const open = (): void => {
    try {
      watcher = watch(file, { persistent: false }, (event) => {
        if (event === 'rename') close(); // the name has another file or none: watch it again at the next poll
        tell();
      });
      watcher.on('error', () => (close(), tell()));
    } catch {
      watcher = undefined; // it does not exist
    }
  };
  open();
  return {
    async changed(signal) {
      if (!watcher) {
        open();
        if (watcher) return; // report what was written before the watch began
      }
      const turn = new AbortController();
      const end = (): void => turn.abort();
      signal.addEventListener('abort', end, { once: true });
      if (signal.aborted || state.hasChanged) end();
      state.wake = end;
      await clock.sleep(watcher ? lookMs : absentLookMs, turn.signal);
      signal.removeEventListener('abort', end);
      if (state.hasChanged && !signal.aborted) await clock.sleep(gatherMs, signal);
      state.hasChanged = false;
    },
    close,
  };
}
