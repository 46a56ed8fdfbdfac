import { changedOr, type Cell, type Clock, type Log } from '@platform/kit';
import type { Actual, Wanted } from '../state/state.ts';

/**
 * Delays the first start of the server while wait_for_update_check is set: until the first check has ended, or until
 * the management server was unreachable for a minute.
 */
export async function holdFirstStart(
  {
    wanted,
    actual,
    mayStart,
    clock,
    log,
  }: {
    wanted: Cell<Wanted>;
    actual: Cell<Actual>;
    mayStart: Cell<boolean>;
    clock: Clock;
    log: Log;
  },
  signal: AbortSignal,
): Promise<void> {
  const end = clock.now() + 60_000;
  while (!signal.aborted && wanted.get().settings.isUpdateCheckFirst && !actual.get().install.isChecked) {
    const left = end - clock.now();
    if (left <= 0 && !wanted.get().isFresh) {
      log.warn('starting without an update check: the cloud is out of reach');
      break;
    }
    const turn = new AbortController();
    const over = AbortSignal.any([turn.signal, signal]);
    await Promise.race([changedOr(wanted, left > 0 ? left : Infinity, clock, over), actual.changed(over)]);
    turn.abort();
  }
  mayStart.set(true);
}
