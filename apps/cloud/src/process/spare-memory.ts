import { Session } from 'node:inspector/promises';
import { type Clock, errorText, type Log } from '@platform/kit';

/** A process and its garbage. */
export type Memory = {
  /** What it has from the system, bytes. */
  held(): number;
  /** Processor time since its start, ms. */
  cpuMs(): number;
  /** Gives back what nothing refers to. Everything else stands still meanwhile, for some tenths of a second. */
  collect(): Promise<void>;
};

const lookMs = 5_000;
/** Of a processor: below that nobody notices the pause. */
const restShare = 0.1;
const worthBytes = 64 * 2 ** 20;
const pauseMs = 120_000;

/**
 * After thousands of machines have signed in at once, V8 keeps what that took as long as it is not short of memory, and collects nothing
 * while little happens. So a process that has come to rest collects once. (Flags that make V8 thrifty cost log lines four times the time.)
 */
export async function giveBackMemory(of: { memory: Memory; clock: Clock; log: Log }, stop: AbortSignal): Promise<void> {
  const { memory, clock, log } = of;
  const last = { held: memory.held(), at: Number.NEGATIVE_INFINITY };
  for (let cpuMs = memory.cpuMs(); !stop.aborted; cpuMs = memory.cpuMs()) {
    await clock.sleep(lookMs, stop);
    const isAtRest = memory.cpuMs() - cpuMs < restShare * lookMs;
    const before = memory.held();
    // What went back by itself is to be told from what comes again.
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

/** Of this process. Nobody else can reach the session, which lives for one call. */
export const ownMemory: Memory = {
  held: () => process.memoryUsage.rss(),
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
