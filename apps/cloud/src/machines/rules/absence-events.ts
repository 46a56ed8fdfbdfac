// When a machine was away, when nothing was measured on it, and when neither is known.
import { Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Absence, EventKind } from '@platform/contract/gen/platform/timeline/v1/timeline_pb';
import { type Interval, without } from '@platform/kit';
import { knownAbsences, unwatchedTimes } from './absences.ts';
import type { TimelineEvent } from './timeline-event.ts';

/** In ms since 1970. */
export interface AbsenceRows {
  /** Times of samples, ascending. */
  readonly sampled: readonly number[];
  /** From the last contact until the server heard the machine again. */
  readonly absences: readonly Interval[];
  /** When the server listened; empty: these events are not asked for. */
  readonly watched: readonly Interval[];
}

interface AbsenceFacts {
  readonly createdOn: number;
  /** Since when it is not heard; undefined: it is. */
  readonly lostSince: number | undefined;
  readonly uninstalledOn: number | undefined;
  readonly now: number;
}

export function absenceEvents({ sampled, absences, watched: all }: AbsenceRows, facts: AbsenceFacts): TimelineEvent[] {
  // A clock that was ahead for a moment has written a time that is still to come.
  const watched = all.filter(({ from }) => from <= facts.now);
  const unwatched = unwatchedTimes(watched);
  const watchedSince = watched.length === 0 ? undefined : Math.min(...watched.map(({ from }) => from));
  const known = knownAbsences(absences, { unwatched, watchedSince });
  const { lostSince, now } = facts;
  const away = (lostSince === undefined ? known : [...known, { from: lostSince, until: now }]).map(widened);
  return [
    ...known.map((one) => offlineEvent(one, sampled)),
    ...unwatched.filter(({ until }) => until > facts.createdOn).map(notKnownEvent),
    ...gapsOf(sampled)
      .filter((gap) => without(gap, away).length > 0)
      .map(gapEvent),
    ...presentEvents(facts),
  ];
}

const kind = EventKind.ABSENCE;

const offlineEvent = ({ from, until }: Interval, sampled: readonly number[]): TimelineEvent => ({
  time: from,
  until,
  kind,
  absence: Absence.OFFLINE,
  severity: Severity.WARNING,
  text: 'Offline',
  // At its ends, a sample may be of a moment before or after.
  ...(sampled.some((time) => time > from + gapMs && time < until - gapMs) && {
    detail: 'It ran without contact: its samples of this time came later.',
  }),
});

const notKnownEvent = ({ from, until }: Interval): TimelineEvent => ({
  time: from,
  until,
  kind,
  absence: Absence.NOT_KNOWN,
  text: 'Not known whether it was online',
  detail: 'The management server did not run, or had no database.',
});

/** Agents take one sample a minute. */
const gapMs = 2.5 * 60_000;

const gapsOf = (sampled: readonly number[]): Interval[] =>
  sampled.flatMap((until, place) => {
    const from = sampled[place - 1];
    return from === undefined || until - from <= gapMs ? [] : [{ from, until }];
  });

/** The last sample before an absence is older than the last check, and the first one after it comes later than a check. */
const widened = ({ from, until }: Interval): Interval => ({ from: from - gapMs, until: until + gapMs });

const gapEvent = ({ from, until }: Interval): TimelineEvent => ({
  time: from,
  until,
  kind,
  absence: Absence.NOT_MEASURED,
  severity: Severity.WARNING,
  text: 'Nothing was measured',
});

function presentEvents({ lostSince, uninstalledOn }: AbsenceFacts): TimelineEvent[] {
  if (uninstalledOn !== undefined)
    return [{ time: uninstalledOn, kind, absence: Absence.REMOVED, text: 'The agent reported its removal' }];
  if (lostSince === undefined) return [];
  const text = 'Not heard since then: offline';
  return [{ time: lostSince, kind, absence: Absence.OFFLINE, severity: Severity.ERROR, text }];
}
