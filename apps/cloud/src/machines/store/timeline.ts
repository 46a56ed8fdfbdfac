import { EventKind } from '@platform/contract/gen/platform/timeline/v1/timeline_pb';
import { at, type Database } from '../../database/database.ts';
import { absentAfterMs } from '../rules/online.ts';
import { timedSamples } from '../rules/samples.ts';
import type { AbsenceRows } from '../rules/absence-events.ts';
import { hiddenActions, orderActions, type TimelineRows } from '../rules/timeline.ts';
import { readAbsences, readWatched } from './absences.ts';
import { readOrders } from './part-orders.ts';
import { readSamples } from './samples.ts';

/** Gaps between samples are looked for in this time before the end of a page, and after it for those that begin before it. */
const sampledMs = 7 * 24 * 3_600_000;

type Wanted = {
  partId: string;
  machineId: string;
  /** The server misses a machine by its main part. */
  isMain: boolean;
  /** Times in ms since 1970. */
  until: number;
  now: number;
  /** Empty: all. */
  kinds: readonly EventKind[];
  limit: number;
};

/** The rows of each source up to a time that can become events of these kinds; at most `limit` of each, the newest. */
export async function readTimelineRows(db: Database, of: Wanted): Promise<TimelineRows> {
  const { partId, until, limit } = of;
  const isAsked = (kind: EventKind): boolean => of.kinds.length === 0 || of.kinds.includes(kind);
  const [revisions, actions, runs, orders, absent] = await Promise.all([
    isAsked(EventKind.REVISION)
      ? db
          .selectFrom('configRevision')
          .select(['revision', 'savedBy', 'savedOn', 'comment'])
          .where('partId', '=', partId)
          .where('savedOn', '<=', at(until))
          .orderBy('revision', 'desc')
          .limit(limit)
          .execute()
      : [],
    readActions(db, of, { orders: isAsked(EventKind.ORDER), changes: isAsked(EventKind.CHANGE) }),
    isAsked(EventKind.RESTART)
      ? db
          .selectFrom('partRun')
          .select(['firstSeen', 'hostname'])
          .where('partId', '=', partId)
          .where('firstSeen', '<=', at(until))
          .orderBy('firstSeen', 'desc')
          .limit(limit)
          .execute()
      : [],
    readOrders(db, partId),
    isAsked(EventKind.ABSENCE) ? readAbsenceRows(db, of) : { sampled: [], absences: [], watched: [] },
  ]);
  return { revisions, actions, runs, orders, ...absent };
}

async function readAbsenceRows(
  db: Database,
  { partId, machineId, isMain, until, now, limit }: Wanted,
): Promise<AbsenceRows> {
  const [batches, watched, absences] = await Promise.all([
    readSamples(db, partId, { from: until - sampledMs, until: Math.min(now, until + sampledMs) }),
    readWatched(db),
    // A gap between samples may begin a little before the absence that explains it; one absence at most is as close.
    isMain ? readAbsences(db, machineId, { until: until + absentAfterMs, limit: limit + 1 }) : [],
  ]);
  const sampled = batches.flatMap((batch) => timedSamples(batch).map(({ time }) => time));
  return { sampled: sampled.toSorted((a, b) => a - b), absences, watched };
}

async function readActions(
  db: Database,
  { partId, machineId, until, limit }: Wanted,
  { orders, changes }: { orders: boolean; changes: boolean },
): Promise<TimelineRows['actions']> {
  if (!orders && !changes) return [];
  const all = db
    .selectFrom('audit')
    .select(['at', 'actor', 'action'])
    .where('subject', 'in', [partId, machineId])
    .where('action', 'not in', [...hiddenActions, ...(orders ? [] : orderActions)])
    .where('at', '<=', at(until))
    .orderBy('at', 'desc')
    .limit(limit);
  return (changes ? all : all.where('action', 'in', orderActions)).execute();
}
