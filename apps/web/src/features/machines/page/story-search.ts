// What the URL of OVERVIEW says.
import { eventTitles, type EventKindName } from './timeline-kinds.ts';

const hour = 3_600_000;

/** Times up to now whose use is drawn; the server keeps samples for 7 days unless it is configured otherwise. */
export const sampleRanges = {
  '1h': { ms: hour, title: '1 h', phrase: 'the last hour' },
  '24h': { ms: 24 * hour, title: '24 h', phrase: 'the last 24 hours' },
  '7d': { ms: 7 * 24 * hour, title: '7 d', phrase: 'the last 7 days' },
} as const;
export type SampleRange = keyof typeof sampleRanges;

export interface StorySearch {
  /** Absent: 24 hours. */
  range?: SampleRange;
  /** The kind of events that the time line shows; absent: all. */
  events?: EventKindName;
}

/** What of a URL can be understood; the rest is left out. */
export function readStorySearch({ range, events }: Record<string, unknown>): StorySearch {
  const isRange = typeof range === 'string' && Object.hasOwn(sampleRanges, range) && range !== '24h';
  const isKind = typeof events === 'string' && Object.hasOwn(eventTitles, events);
  return {
    ...(isRange && { range: range as SampleRange }),
    ...(isKind && { events: events as EventKindName }),
  };
}

/** A time up to now. In ms since 1970. */
export interface SampleSpan {
  readonly from: number;
  readonly until: number;
  readonly phrase: string;
}

/** The span moves on with each step. */
export function sampleSpan(range: SampleRange, now: number, stepMs: number): SampleSpan {
  const until = Math.ceil(now / stepMs) * stepMs;
  const { ms, phrase } = sampleRanges[range];
  return { from: until - ms, until, phrase };
}
