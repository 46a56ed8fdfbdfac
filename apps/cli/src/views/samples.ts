import type { MachineSample } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { formatBytes } from '@platform/kit';
import { ago, isoTime } from '../output.ts';

/** What a machine used at a time, with the names of the wire; null: not reported. */
export function sampleJson(sample: MachineSample | undefined): Record<string, unknown> | null {
  if (!sample) return null;
  return {
    time: isoTime(sample.time),
    processor_percent: sample.processorPercent ?? null,
    memory_percent: sample.memoryPercent ?? null,
    disk_percent: sample.diskPercent ?? null,
    temperature_celsius: sample.temperatureCelsius ?? null,
    received_bytes_per_second: sample.receivedBytesPerSecond ?? null,
    sent_bytes_per_second: sample.sentBytesPerSecond ?? null,
    is_time_estimated: sample.timeEstimated,
  };
}

/** One line; empty: not reported. */
export function sampleText(sample: MachineSample | undefined, nowMs: number): string {
  if (!sample) return '';
  const share = (what: string, percent: number | undefined) =>
    percent !== undefined && `${what} ${percent.toFixed(1)} %`;
  const rate = (what: string, bytes: number | undefined) =>
    bytes !== undefined && `${what} ${formatBytes(Math.round(bytes))}/s`;
  const { temperatureCelsius: celsius } = sample;
  const values = [
    share('processor', sample.processorPercent),
    share('memory', sample.memoryPercent),
    share('disk', sample.diskPercent),
    celsius !== undefined && `${celsius.toFixed(1)} °C`,
    rate('received', sample.receivedBytesPerSecond),
    rate('sent', sample.sentBytesPerSecond),
  ].filter(Boolean);
  const when = sample.timeEstimated ? 'at a time that its clock did not know' : ago(sample.time, nowMs);
  return `${values.join(', ')}; ${when}`;
}
