// When a machine was away, of what the server itself noticed. Where it did not listen, nothing is known (decision 0166).
import { type Interval, without } from '@platform/kit';
import { absentAfterMs } from './online.ts';

/**
 * The times between those in which the server listened.
 *
 * @param watched - they may overlap: several servers listen, and clocks are set.
 */
export function unwatchedTimes(watched: readonly Interval[]): Interval[] {
  const gaps: Interval[] = [];
  let last: number | undefined;
  for (const { from, until } of watched.toSorted((a, b) => a.from - b.from)) {
    if (last !== undefined && isLong({ from: last, until: from })) gaps.push({ from: last, until: from });
    last = Math.max(last ?? until, until);
  }
  return gaps;
}

/** A shorter time does not count: not of a machine, and not of the server. */
const isLong = ({ from, until }: Interval): boolean => until - from > absentAfterMs;

/**
 * The absences without what is not known of them: those that are left are long enough to be absences themselves.
 *
 * @param watchedSince - before this, it is not known when the server listened; undefined: it never did.
 */
export function knownAbsences(
  absences: readonly Interval[],
  { unwatched, watchedSince }: { unwatched: readonly Interval[]; watchedSince: number | undefined },
): Interval[] {
  if (watchedSince === undefined) return [];
  return absences
    .map(({ from, until }) => ({ from: Math.max(from, watchedSince), until }))
    .flatMap((one) => without(one, unwatched))
    .filter(isLong);
}
