import type { Cell, Clock, Log } from '@platform/kit';
import type { Supervisor } from '../os/supervisor.ts';
import type { Pulse } from './pulse.ts';
import type { Actual } from '../state/state.ts';
import { versionOf } from '../state/state.ts';

/** What proves that this version of the agent works; a version on trial is confirmed by it. */
export interface Vitals {
  /** Configuration read, folder locked, machine server looked after: systemd was told that the agent is ready. */
  isReady: boolean;
  /** Times that nothing was found to hang, since it was ready. Counted up to `provenTicks`. */
  ticks: number;
}

export const newborn: Vitals = { isReady: false, ticks: 0 };
const provenTicks = 3;

export interface WatchdogParts {
  supervisor: Supervisor;
  pulse: Pulse;
  vitals: Cell<Vitals>;
  actual: Cell<Actual>;
  /** The machine server is looked after: one that ran was adopted, or there was none. */
  isSupervising: Cell<boolean>;
  /** Bytes of memory that are this process's own; undefined: unknown. */
  ownMemory: () => number | undefined;
  memoryLimitBytes: number;
  clock: Clock;
  log: Log;
}

const standardPeriodMs = 20_000;
/** Of the built program, and of the same program from source: Node keeps a larger heap, and was measured to pass 80 MiB in health. */
export const memoryLimits = { built: 80 * 2 ** 20, fromSource: 320 * 2 ** 20 } as const;
const memoryPatienceMs = 10 * 60_000;
const mebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20);

/**
 * Tells systemd that the agent is ready, and from then on that it lives: only while nothing hangs.
 *
 * @throws Error when the agent has used far too much memory for ten minutes: started anew, it is small again.
 */
export async function watchdog(parts: WatchdogParts, signal: AbortSignal): Promise<void> {
  const { supervisor, pulse, vitals, isSupervising, clock, log } = parts;
  while (!isSupervising.get() && !signal.aborted) await isSupervising.changed(signal);
  if (signal.aborted) return;
  supervisor.tell('READY=1');
  vitals.set({ isReady: true, ticks: 0 });

  const period = Math.min(standardPeriodMs, (supervisor.watchdogMs ?? Infinity) / 3);
  let isHanging = false;
  let largeSince = Infinity;
  for (;;) {
    await clock.sleep(period, signal);
    if (signal.aborted) return;
    const late = pulse.late();
    if (late.length === 0) {
      supervisor.tell('WATCHDOG=1');
      const { ticks } = vitals.get();
      if (ticks < provenTicks) vitals.set({ isReady: true, ticks: ticks + 1 });
    } else if (!isHanging) {
      log.error('a part of the agent hangs', { parts: late });
    }
    log.debug('pass', { by: 'watchdog', observed: { late }, did: late.length === 0 ? ['WATCHDOG=1'] : [] });
    isHanging = late.length > 0;
    const bytes = parts.ownMemory() ?? 0;
    largeSince = bytes > parts.memoryLimitBytes ? Math.min(largeSince, clock.now()) : Infinity;
    if (clock.now() - largeSince >= memoryPatienceMs) {
      throw new Error(
        `the agent uses ${mebibytes(bytes)} MiB of memory and had more than ${mebibytes(parts.memoryLimitBytes)} MiB for 10 minutes: it ends to be started again, the machine server goes on`,
      );
    }
  }
}

/** Tells systemd what people see in `systemctl status`. */
export async function tellStatus(
  { supervisor, actual }: { supervisor: Supervisor; actual: Cell<Actual> },
  signal: AbortSignal,
): Promise<void> {
  for (let last = ''; !signal.aborted; await actual.changed(signal)) {
    const now = statusOf(actual.get());
    if (now !== last) supervisor.tell(`STATUS=${now}`);
    last = now;
  }
}

/** One line. */
function statusOf({ server }: Actual): string {
  const version = server.running === null ? '' : ` ${versionOf(server.running)}`;
  return `machine server ${server.at}${version}`.replaceAll(/[\r\n]/g, ' ');
}
