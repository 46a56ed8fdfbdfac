// The events of a machine as rows by day, and as marks on charts.
import { Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { EventKind, type MachineEvent } from '@platform/contract/gen/platform/timeline/v1/timeline_pb';
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

const rowOf = (event: MachineEvent, place: number): EventRow => {
  const at = msOf(event.time) ?? 0;
  const until = msOf(event.until);
  return {
    key: `${at} ${event.text} ${place}`,
    at,
    clock: localClock(at).slice(0, 5),
    kind: nameOf(event.kind) ?? 'other',
    tone: tones[event.severity] ?? 'quiet',
    text: until === undefined ? event.text : `${event.text} for ${span(until - at)}`,
    detail: event.detail,
    actor: actorName(event.actor),
    revision: event.revision,
  };
};

export interface EventDay {
  /** "Today", "Yesterday" or the date. */
  readonly title: string;
  readonly rows: readonly EventRow[];
}

/** @param events - the newest first. */
export function eventDays(events: readonly MachineEvent[], now: number): EventDay[] {
  const rows = events.map(rowOf);
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

export interface EventMarks {
  readonly marks: readonly Mark[];
  /** Times in which nothing was measured. */
  readonly absences: readonly (readonly [from: number, until: number])[];
}

const marked: readonly EventKindName[] = ['revision', 'update', 'restart', 'condition'];

/** What explains a bend in a chart, and the times without measurements; the order is that of the events. */
export function eventMarks(events: readonly MachineEvent[]): EventMarks {
  const rows = events.map(rowOf);
  const marks = rows.flatMap(({ at, kind, tone }) =>
    kind !== 'other' && marked.includes(kind) ? [{ at, kind, tone }] : [],
  );
  const absences = events.flatMap(({ time, until }) => {
    const [from, end] = [msOf(time), msOf(until)];
    return from === undefined || end === undefined ? [] : [[from, end] as const];
  });
  return { marks, absences };
}

/** The marks of a chart in words: "2 restarts, 1 update". */
export function marksText(marks: readonly Mark[], { from, until }: { from: number; until: number }): string {
  const seen = marks.filter(({ at }) => at >= from && at <= until);
  const counts = [...Map.groupBy(seen, ({ kind }) => kind)].map(
    ([kind, of]) => `${of.length} ${kind}${of.length === 1 ? '' : 's'}`,
  );
  return counts.join(', ');
}
