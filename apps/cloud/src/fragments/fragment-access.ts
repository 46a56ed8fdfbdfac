import { PlatformError } from '@platform/contract/errors/errors';
import { belongsTo, type Caller, isMember, reachOf, requireOwner } from '../access/rules/permissions.ts';
import { findFragment, type FragmentRow, usedWithin } from '../configs/store/fragments.ts';
import type { Database } from '../database/database.ts';

const noFragment = (fragmentId: string) => new PlatformError('FRAGMENT_NOT_FOUND', { fragmentId });

/**
 * The fragment, for members of its organization, and for those who may operate a machine that uses it.
 *
 * @param version - the number of a revision; empty: the newest.
 * @throws PlatformError FRAGMENT_NOT_FOUND, FRAGMENT_VERSION_NOT_FOUND
 */
export async function readableFragment(
  db: Database,
  caller: Caller,
  id: string,
  version: string = '',
): Promise<FragmentRow> {
  const newest = await findFragment(db, id);
  if (!newest || !(await mayRead(db, caller, newest))) throw noFragment(id);
  if (version === '' || version === 'latest') return newest;
  const found = /^[1-9]\d{0,8}$/.test(version) ? await findFragment(db, id, Number(version)) : undefined;
  if (found) return found;
  throw new PlatformError('FRAGMENT_VERSION_NOT_FOUND', { name: newest.name, version, newest: newest.newest });
}

async function mayRead(db: Database, caller: Caller, { id, orgId }: FragmentRow): Promise<boolean> {
  if (isMember(caller, orgId)) return true;
  return belongsTo(caller, orgId) && (await usedWithin(db, [id], reachOf(caller))).has(id);
}

/** The fragment, for owners of its organization. @throws PlatformError FRAGMENT_NOT_FOUND, NOT_OWNER */
export async function ownedFragment(db: Database, caller: Caller, id: string): Promise<FragmentRow> {
  const found = await readableFragment(db, caller, id);
  requireOwner(caller, found.orgId, () => noFragment(id));
  return found;
}
