import type { Cell } from '@platform/kit';
import type { Supervisor } from '../os/supervisor.ts';
import type { HangDetector } from './hang-detector.ts';
import type { Actual } from '../state/state.ts';
import { versionOf } from '../state/state.ts';
import type { Context } from './context.ts';

/** Evidence that this version of the agent works. A version on trial needs it to pass the health check. */
export interface AgentHealth {
  /** READY=1 was sent: configuration read, folder locked, machine server supervised. */
  isReady: boolean;
  /** Periods without a hang since the agent was ready, counted up to `provenTicks`. */
  ticks: number;
}

export const initialHealth: AgentHealth = { isReady: false, ticks: 0 };
const provenTicks = 3;

export interface WatchdogParts extends Pick<Context, 'actual' | 'clock' | 'log'> {
  supervisor: Supervisor;
  hangDetector: HangDetector;
  health: Cell<AgentHealth>;
  /** The agent supervises the machine server: it adopted a running one, or none was running. */
  isSupervising: Cell<boolean>;
  /** Private memory of this process in bytes; undefined: unknown. */
  ownMemory: () => number | undefined;
  memoryLimitBytes: number;
}

const standardPeriodMs = 20_000;
/**
 * For the built program and for the same program from source. Node keeps a larger heap: a healthy agent was measured
 * above 80 MiB.
 */
export const memoryLimits = { built: 80 * 2 ** 20, fromSource: 320 * 2 ** 20 } as const;
const memoryPatienceMs = 10 * 60_000;
const mebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20);

/**
 * Sends READY=1 to the supervisor, then WATCHDOG=1 after each period in which nothing hangs.
 *
 * @throws Error if the agent exceeds its memory limit for ten minutes: a restart frees the memory.
 */
export async function watchdog(parts: WatchdogParts, signal: AbortSignal): Promise<void> {
  const { supervisor, hangDetector, health, isSupervising, clock, log } = parts;
  while (!isSupervising.get() && !signal.aborted) await isSupervising.changed(signal);
  if (signal.aborted) return;
  supervisor.notify('READY=1');
  health.set({ isReady: true, ticks: 0 });

  const period = Math.min(standardPeriodMs, (supervisor.watchdogMs ?? Infinity) / 3);
  let isHanging = false;
  let largeSince = Infinity;
  for (;;) {
    await clock.sleep(period, signal);
    if (signal.aborted) return;
    const late = hangDetector.overdue();
    if (late.length === 0) {
      supervisor.notify('WATCHDOG=1');
      const { ticks } = health.get();
      if (ticks < provenTicks) health.set({ isReady: true, ticks: ticks + 1 });
    } else if (!isHanging) {
      log.error('a task of the agent hangs', { tasks: late });
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

/** Sends the status text that `systemctl status` shows. */
export async function notifyStatus(
  { supervisor, actual }: { supervisor: Supervisor; actual: Cell<Actual> },
  signal: AbortSignal,
): Promise<void> {
  for (let last = ''; !signal.aborted; await actual.changed(signal)) {
    const now = statusOf(actual.get());
    if (now !== last) supervisor.notify(`STATUS=${now}`);
    last = now;
  }
}

/** A single line, as STATUS= requires. */
function statusOf({ server }: Actual): string {
  const version = server.running === null ? '' : ` ${versionOf(server.running)}`;
  return `machine server ${server.at}${version}`.replaceAll(/[\r\n]/g, ' ');
}
