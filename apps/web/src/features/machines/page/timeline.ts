// The events of a machine as rows by day, and as marks on charts.
import { Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Absence, EventKind, type MachineEvent } from '@platform/contract/gen/platform/timeline/v1/timeline_pb';
import { without } from '@platform/kit';
import { actorName } from '../../../entities/machine/actors.ts';
import type { Tone } from '../../../ui/status-label.ts';
import { earlierTime, localClock, msOf, span } from '../../../ui/times.ts';
import type { EventKindName } from './timeline-kinds.ts';

export const wireKinds: Readonly<Record<EventKindName, EventKind>> = {
  revision: EventKind.REVISION,
  update: EventKind.UPDATE,
  restart: EventKind.RESTART,
  absence: EventKind.ABSENCE,
  condition: EventKind.CONDITION,
  order: EventKind.ORDER,
  change: EventKind.CHANGE,
};
const nameOf = (kind: EventKind): EventKindName | undefined =>
  (Object.keys(wireKinds) as EventKindName[]).find((name) => wireKinds[name] === kind);

export interface EventRow {
  readonly key: string;
  readonly at: number;
  readonly clock: string;
  readonly kind: EventKindName | 'other';
  readonly tone: Tone;
  readonly text: string;
  /** The comment or the reason, and who did it; empty: neither is known. */
  readonly detail: string;
  readonly actor: string;
  readonly revision: bigint;
}

const tones: Readonly<Record<number, Tone>> = {
  [Severity.ERROR]: 'bad',
  [Severity.WARNING]: 'warn',
  [Severity.NOTE]: 'busy',
};

const rowOf = (event: MachineEvent, place: number, now: number): EventRow => {
  const at = msOf(event.time) ?? 0;
  const until = msOf(event.until);
  return {
    key: `${at} ${event.text} ${place}`,
    at,
    clock: clockOf(at),
    kind: nameOf(event.kind) ?? 'other',
    tone: tones[event.severity] ?? 'quiet',
    text: until === undefined ? event.text : `${event.text} ${lasting(event, { at, until, now })}`,
    detail: event.detail,
    actor: actorName(event.actor),
    revision: event.revision,
  };
};

/** "for 14 min"; an absence that the server noticed has its times: "14:02 – 14:31 (29 min)". */
function lasting({ absence }: MachineEvent, { at, until, now }: { at: number; until: number; now: number }): string {
  if (absence !== Absence.OFFLINE && absence !== Absence.NOT_KNOWN) return `for ${span(until - at)}`;
  const isSameDay = dayTitle(at, now) === dayTitle(until, now);
  const end = isSameDay ? clockOf(until) : `${dayTitle(until, now).toLowerCase()} ${clockOf(until)}`;
  return `${clockOf(at)} – ${end} (${span(until - at)})`;
}

const clockOf = (at: number): string => localClock(at).slice(0, 5);

export interface EventDay {
  /** "Today", "Yesterday" or the date. */
  readonly title: string;
  readonly rows: readonly EventRow[];
}

/** @param events - the newest first. */
export function eventDays(events: readonly MachineEvent[], now: number): EventDay[] {
  const rows = events.map((event, place) => rowOf(event, place, now));
  return [...Map.groupBy(rows, ({ at }) => dayTitle(at, now))].map(([title, ofDay]) => ({ title, rows: ofDay }));
}

function dayTitle(at: number, now: number): string {
  const [first = '', second] = earlierTime(at, now).split(' ');
  return second === undefined ? 'Today' : first.replace(/^y/, 'Y');
}

export interface Mark {
  readonly at: number;
  readonly kind: EventKindName;
  readonly tone: Tone;
}

/** What a time is in which something is missing. */
export type BandKind = 'offline' | 'unknown' | 'unmeasured';

export interface Band {
  readonly from: number;
  readonly until: number;
  readonly kind: BandKind;
}

export interface EventMarks {
  readonly marks: readonly Mark[];
  readonly bands: readonly Band[];
}

const marked: readonly EventKindName[] = ['revision', 'update', 'restart', 'condition'];
const bandKinds: Readonly<Partial<Record<Absence, BandKind>>> = {
  [Absence.OFFLINE]: 'offline',
  [Absence.NOT_KNOWN]: 'unknown',
  [Absence.NOT_MEASURED]: 'unmeasured',
};

/** What explains a bend in a chart, and the times in which something is missing; the order is that of the events. */
export function eventMarks(events: readonly MachineEvent[], now: number): EventMarks {
  const marks = events.flatMap((event, place): Mark[] => {
    const { at, kind, tone } = rowOf(event, place, now);
    return kind !== 'other' && marked.includes(kind) ? [{ at, kind, tone }] : [];
  });
  const all = events.flatMap(({ time, until, absence }): Band[] => {
    const [from, kind] = [msOf(time), bandKinds[absence]];
    return from === undefined || kind === undefined ? [] : [{ from, until: msOf(until) ?? now, kind }];
  });
  const unknown = all.filter(({ kind }) => kind === 'unknown');
  return { marks, bands: all.flatMap((band) => (band.kind === 'offline' ? knownPart(band, unknown) : [band])) };
}

/** An absence that lasts begins with the last contact, also where the server did not listen since. */
const knownPart = (offline: Band, unknown: readonly Band[]): Band[] =>
  without(offline, unknown).map(({ from, until }) => ({ ...offline, from, until }));

/** The marks of a chart in words: "2 restarts, 1 update, offline 29 min". */
export function marksText({ marks, bands }: EventMarks, { from, until }: { from: number; until: number }): string {
  const seen = marks.filter(({ at }) => at >= from && at <= until);
  const counts = [...Map.groupBy(seen, ({ kind }) => kind)].map(
    ([kind, of]) => `${of.length} ${kind}${of.length === 1 ? '' : 's'}`,
  );
  const totalMs = (kind: BandKind): number =>
    bands
      .filter((band) => band.kind === kind)
      .reduce((sum, band) => sum + Math.max(0, Math.min(until, band.until) - Math.max(from, band.from)), 0);
  const [offlineMs, unknownMs] = [totalMs('offline'), totalMs('unknown')];
  return [
    ...counts,
    ...(offlineMs > 0 ? [`offline ${span(offlineMs)}`] : []),
    ...(unknownMs > 0 ? [`not known ${span(unknownMs)}`] : []),
  ].join(', ');
}
