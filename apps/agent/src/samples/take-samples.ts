import { within, type Clock } from '@platform/kit';
import type { DeviceTime } from '../clock/device-time.ts';
import type { Device, UsageReading } from '../os/ports.ts';
import { hasValues, sampleOf } from './sample.ts';
import type { SampleSpool } from './sample-spool.ts';

export const samplePeriodMs = 60_000;
const readMs = 1_000;

interface SampleParts {
  usage: NonNullable<Device['usage']>;
  spool: SampleSpool;
  time: Pick<DeviceTime, 'wall' | 'unsure'>;
  clock: Clock;
}

/** Takes a sample each minute. A reading that hangs, such as of a file system, leaves its sample out. */
export async function takeSamples({ usage, spool, time, clock }: SampleParts, signal: AbortSignal): Promise<void> {
  const read = (): Promise<UsageReading | undefined> =>
    within(readMs, { what: 'reading what this machine uses', clock }, usage).catch(() => undefined);
  let before = await read();
  let beforeAt = clock.now();
  while (!signal.aborted) {
    await clock.sleep(samplePeriodMs, signal);
    if (signal.aborted) break;
    const reading = await read();
    const now = clock.now();
    if (before && reading) {
      const sample = sampleOf(before, reading, { time: Math.round(time.wall()), ms: now - beforeAt });
      if (hasValues(sample)) await spool.add(sample, time.unsure());
    }
    if (reading) [before, beforeAt] = [reading, now];
  }
  await spool.close();
}
