import { watch } from 'node:fs';
import type { Clock } from '@platform/kit';
import type { FileWatch } from '../ports.ts';

/** Changes come in groups: one look for all of a moment. */
const gatherMs = 100;
const isLinux = process.platform === 'linux';
/** A file that is not there yet. */
const absentLookMs = isLinux ? 5_000 : 500;
/** File systems that notify of nothing. Each look wakes five threads of the compiled program. */
const watchedLookMs = isLinux ? 30_000 : 500;

/** The system tells of changes, so that a file at rest costs nothing. */
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
        if (event === 'rename') close(); // another file has this name, or none: watched anew at the next look
        tell();
      });
      watcher.on('error', () => (close(), tell()));
    } catch {
      watcher = undefined; // not there
    }
  };
  open();
  return {
    async changed(signal) {
      if (!watcher) {
        open();
        if (watcher) return; // what was written before it was watched
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
