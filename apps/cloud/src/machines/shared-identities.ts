import type { Clock } from '@platform/kit';
import type { Database } from '../database/database.ts';
import { type PartSharing, sharingOf } from './rules/shared-identity.ts';
import { readOpenSplits } from './store/machine-splits.ts';
import { readReturnedRuns } from './store/part-runs.ts';

/** The parts whose credentials several computers, or agents of two products, use now. */
export async function sharedIdentities(
  { db, clock }: { db: Database; clock: Pick<Clock, 'wall'> },
  partIds: readonly string[],
): Promise<Map<string, PartSharing>> {
  const returned = await readReturnedRuns(db, partIds);
  if (returned.size === 0) return new Map();
  const splits = await readOpenSplits(db, [...returned.keys()]);
  const found = new Map<string, PartSharing>();
  for (const [partId, runs] of returned) {
    const sharing = sharingOf(runs, splits.get(partId), clock.wall());
    if (sharing) found.set(partId, sharing);
  }
  return found;
}
