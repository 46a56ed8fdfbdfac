import type { ConditionHour, FleetSample } from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { msOf } from '../../ui/times.ts';
import type { ChartData } from './fleet-chart.tsx';

/** Both ends of the axis, in seconds since 1970. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

const hour = 3_600;
const day = 24 * hour;
/** The server stores a sample each 5 minutes; more than this without one is a gap. */
const gap = 12 * 60;

/** The last day until the end of this minute of the clock, so that the axis does not move each second. */
export function lastDay(nowMs: number): Span {
  const to = Math.ceil(nowMs / 300_000) * 300;
  return { from: to - day, to };
}

const secondsOf = (at: Parameters<typeof msOf>[0]): number => (msOf(at) ?? 0) / 1_000;

/** The line ends where the server did not measure. */
export function onlineOverTime(samples: readonly FleetSample[], { from, to }: Span): ChartData {
  const times: number[] = [];
  const online: (number | null)[] = [];
  for (const sample of samples) {
    const at = secondsOf(sample.time);
    if (at < from || at > to) continue;
    const before = times.at(-1);
    if (before !== undefined && at - before > gap) {
      times.push(before + gap / 2);
      online.push(null);
    }
    times.push(at);
    online.push(sample.online);
  }
  return { times, series: [{ name: 'online', color: '--accent', values: online }] };
}

/** The hours that a span touches, whole. */
export const wholeHours = ({ from, to }: Span): Span => ({
  from: Math.floor(from / hour) * hour,
  to: Math.ceil(to / hour) * hour,
});

/** One value for each hour; errors in front of all that began. */
export function beganPerHour(hours: readonly ConditionHour[], span: Span): ChartData {
  const found = new Map(hours.map((one) => [secondsOf(one.start), one]));
  const { from, to } = wholeHours(span);
  const times = Array.from({ length: (to - from) / hour }, (_, n) => from + n * hour);
  const errors = times.map((at) => found.get(at)?.errors ?? 0);
  const warnings = times.map((at) => found.get(at)?.warnings ?? 0);
  return {
    times,
    series: [
      {
        name: 'warnings',
        color: '--warn',
        values: times.map((_, n) => (warnings[n] ?? 0) + (errors[n] ?? 0)),
        own: warnings,
      },
      { name: 'errors', color: '--bad', values: errors },
    ],
  };
}
