import { changedOr, setIfDifferent, type Cell } from '@platform/kit';
import type { Actual, StartWait } from '../state/state.ts';
import type { Context } from '../health/context.ts';

const longestUnreachedMs = 60_000;
const field = 'agent.advanced_settings.wait_for_update_check is true';

interface FirstStartParts extends Pick<Context, 'wanted' | 'actual' | 'clock' | 'log'> {
  mayStart: Cell<boolean>;
}

/**
 * Delays the first start of the server while wait_for_update_check is set: until the first check has ended, or until
 * the management server was unreachable for a minute. Meanwhile the observed state says so.
 */
export async function holdFirstStart(parts: FirstStartParts, signal: AbortSignal): Promise<void> {
  const { wanted, actual, mayStart, clock, log } = parts;
  const end = clock.now() + longestUnreachedMs;
  const endWall = clock.wall() + longestUnreachedMs;
  while (!signal.aborted && wanted.get().settings.isUpdateCheckFirst && !actual.get().install.isChecked) {
    const left = end - clock.now();
    const { isFresh } = wanted.get();
    if (left <= 0 && !isFresh) {
      log.warn('starting without an update check: the cloud is out of reach');
      break;
    }
    setWait(
      actual,
      isFresh
        ? { reason: `it waits until the first update check has ended, because ${field}`, untilWall: undefined }
        : { reason: `it waits for the management server and an update check, because ${field}`, untilWall: endWall },
    );
    await changedOr([wanted, actual], left > 0 ? left : Infinity, clock, signal);
  }
  setWait(actual, undefined);
  mayStart.set(true);
}

function setWait(actual: Cell<Actual>, wait: StartWait | undefined): void {
  const { startWait: _, ...rest } = actual.get();
  setIfDifferent(actual, wait ? { ...rest, startWait: wait } : rest);
}
