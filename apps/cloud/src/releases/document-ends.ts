import { type RoleName, readRoot, readSnapshot, readTargets, readTimestamp } from '@platform/releases/documents';
import type { Database } from '../database/database.ts';
import { newestDocument } from './store/release-metadata.ts';

const readers = { root: readRoot, targets: readTargets, snapshot: readSnapshot, timestamp: readTimestamp } as const;

/** When the newest documents expire, ms since 1970. Agents accept no release after that. */
export async function documentEnds(db: Database): Promise<{ role: RoleName; endsAt: number }[]> {
  const ends: { role: RoleName; endsAt: number }[] = [];
  for (const role of Object.keys(readers) as RoleName[]) {
    const found = await newestDocument(db, role);
    if (found) ends.push({ role, endsAt: Date.parse(readers[role](found.bytes).signed.expires) });
  }
  return ends;
}
