// What a machine used between two readings of its counters. What it does not report is left out, never 0.
import type { UsageReading } from '../os/ports.ts';

export interface Sample {
  /** ms since 1970. */
  time: number;
  processorPermille?: number;
  memoryPermille?: number;
  diskPermille?: number;
  temperatureTenths?: number;
  receivedBytesPerSecond?: number;
  sentBytesPerSecond?: number;
}

type Share = { used: number; of: number };

function permille(share: Share | undefined): number | undefined {
  if (!share || !(share.of > 0)) return undefined;
  return Math.min(1000, Math.max(0, Math.round((share.used / share.of) * 1000)));
}

/** Growth of a counter; undefined: it began anew, for example when a network device was added again. */
const growth = (before: number | undefined, now: number | undefined): number | undefined =>
  before === undefined || now === undefined || now < before ? undefined : now - before;

/** @param ms - time between the readings. */
export function sampleOf(before: UsageReading, now: UsageReading, { time, ms }: { time: number; ms: number }): Sample {
  const perSecond = (bytes: number | undefined): number | undefined =>
    bytes === undefined || !(ms > 0) ? undefined : Math.round((bytes * 1000) / ms);
  const busy = growth(before.processor?.busy, now.processor?.busy);
  const total = growth(before.processor?.total, now.processor?.total);
  const sample = {
    processorPermille: permille(busy === undefined || total === undefined ? undefined : { used: busy, of: total }),
    memoryPermille: permille(now.memory && { used: now.memory.usedBytes, of: now.memory.sizeBytes }),
    diskPermille: permille(now.disk && { used: now.disk.usedBytes, of: now.disk.sizeBytes }),
    temperatureTenths: now.temperatureCelsius === undefined ? undefined : Math.round(now.temperatureCelsius * 10),
    receivedBytesPerSecond: perSecond(growth(before.network?.receivedBytes, now.network?.receivedBytes)),
    sentBytesPerSecond: perSecond(growth(before.network?.sentBytes, now.network?.sentBytes)),
  };
  return { time, ...Object.fromEntries(Object.entries(sample).filter(([, value]) => value !== undefined)) };
}

export const hasValues = (sample: Sample): boolean => Object.keys(sample).length > 1;
