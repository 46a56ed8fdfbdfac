import { lstatSync, watch, type FSWatcher } from 'node:fs';
import path from 'node:path';
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
  const watchers: FSWatcher[] = [];
  const close = (): void => {
    for (const watcher of watchers.splice(0)) watcher.close();
  };
  const add = (what: string, heard: (event: string, name: string | null) => void): void => {
    const watcher = watch(what, { persistent: false }, heard);
    watchers.push(watcher);
    watcher.on('error', () => (close(), tell()));
  };
  const open = (): void => {
    try {
      // A link that is replaced, as on a full disk, changes nothing on the file that it pointed to.
      if (lstatSync(file).isSymbolicLink())
        add(path.dirname(file), (event, name) => {
          if (event !== 'rename' || name !== path.basename(file)) return;
          close();
          tell();
        });
      add(file, (event) => {
        if (event === 'rename') close(); // the name has another file or none: watch it again at the next poll
        tell();
      });
    } catch {
      close(); // it does not exist
    }
  };
  open();
  return {
    async changed(signal) {
      if (watchers.length === 0) {
        open();
        if (watchers.length > 0) return; // report what was written before the watch began
      }
      const turn = new AbortController();
      const end = (): void => turn.abort();
      signal.addEventListener('abort', end, { once: true });
      if (signal.aborted || state.hasChanged) end();
      state.wake = end;
      await clock.sleep(watchers.length > 0 ? lookMs : absentLookMs, turn.signal);
      signal.removeEventListener('abort', end);
      if (state.hasChanged && !signal.aborted) await clock.sleep(gatherMs, signal);
      state.hasChanged = false;
    },
    close,
  };
}
