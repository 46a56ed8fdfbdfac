import { Session } from 'node:inspector/promises';
import { type Clock, errorText, type Log } from '@platform/kit';

/** Memory and CPU time of a process. */
export type Memory = {
  /** Resident memory in bytes; 0 if it cannot be read, as without a free file descriptor. */
  held(): number;
  /** CPU time since its start, ms. */
  cpuMs(): number;
  /** Runs a garbage collection, which pauses the process for some tenths of a second. */
  collect(): Promise<void>;
};

const lookMs = 5_000;
/** Share of a CPU below which the pause disturbs no caller. */
const restShare = 0.1;
const worthBytes = 64 * 2 ** 20;
const pauseMs = 120_000;

/**
 * Runs one garbage collection when the server becomes idle after many reconnects at once. V8 keeps that memory otherwise: it
 * collects little while little is allocated. (V8's flags for less memory make log lines four times as expensive.)
 */
export async function collectWhenIdle(
  of: { memory: Memory; clock: Clock; log: Log },
  stop: AbortSignal,
): Promise<void> {
  const { memory, clock, log } = of;
  const last = { held: memory.held(), at: Number.NEGATIVE_INFINITY };
  for (let cpuMs = memory.cpuMs(); !stop.aborted; cpuMs = memory.cpuMs()) {
    await clock.sleep(lookMs, stop);
    const isAtRest = memory.cpuMs() - cpuMs < restShare * lookMs;
    const before = memory.held();
    // Memory that V8 released by itself must not hide later growth.
    last.held = Math.min(last.held, before);
    if (stop.aborted || !isAtRest || before - last.held < worthBytes || clock.now() - last.at < pauseMs) continue;
    try {
      await memory.collect();
    } catch (error) {
      return log.warn('memory cannot be given back', { error: errorText(error) });
    }
    Object.assign(last, { held: memory.held(), at: clock.now() });
    log.debug('memory was given back', { beforeBytes: before, afterBytes: last.held });
  }
}

/** The memory of this process. The inspector session is private and lasts for one call. */
export const ownMemory: Memory = {
  held() {
    try {
      return process.memoryUsage.rss();
    } catch {
      return 0;
    }
  },
  cpuMs() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
  async collect() {
    const session = new Session();
    session.connect();
    try {
      await session.post('HeapProfiler.collectGarbage');
    } finally {
      session.disconnect();
    }
  },
};
