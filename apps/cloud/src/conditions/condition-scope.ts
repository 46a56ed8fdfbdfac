import { createHash } from 'node:crypto';
import type { Clock } from '@platform/kit';
import { organizationFor } from '../access/places.ts';
import { type Caller, mayReadMetrics, reachOf } from '../access/rules/permissions.ts';
import type { OrganizationUsage } from '../blobs/organization-usage.ts';
import type { Changes } from '../database/changes.ts';
import type { Database } from '../database/database.ts';
import type { Presence } from '../machines/presence.ts';
import type { ConditionScope } from './store/condition-lists.ts';
import type { ConditionWatch } from './watch.ts';

/** What the calls on conditions need. */
export type ConditionDeps = {
  db: Database;
  changes: Changes;
  presence: Presence;
  usage: OrganizationUsage;
  conditions: Pick<ConditionWatch, 'last' | 'isLate'>;
  clock: Clock;
};

/** @throws PlatformError ORGANIZATION_NOT_FOUND */
export async function scopeOf(
  { db, clock }: ConditionDeps,
  caller: Caller,
  organizationId: string,
): Promise<ConditionScope> {
  const { id: orgId } = await organizationFor(db, caller, organizationId);
  return { orgId, reach: reachOf(caller), hasServer: mayReadMetrics(caller), now: clock.wall() };
}

/** Fingerprint of an answer: a caller who has it need not get it again. */
export const fingerprintOf = (bytes: Uint8Array): string =>
  createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
