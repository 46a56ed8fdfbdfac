import type { Database } from '../../database/database.ts';
import type { Caller } from '../rules/permissions.ts';
import { findKey, grantsOf } from './keys.ts';

type Key = Extract<Caller, { kind: 'api_key' }>;
type User = Extract<Caller, { signedInOn: number }>;

/** Who made something that others use later, for example a set-up code, without rights. */
export type Maker = Pick<Key, 'kind' | 'id' | 'name'> | Pick<User, 'kind' | 'id' | 'name' | 'byKeyId'>;

/** Undefined: the caller is neither a user nor a key. */
export function makerOf(caller: Caller): Maker | undefined {
  const { id, name } = caller;
  if (caller.kind === 'api_key') return { kind: caller.kind, id, name };
  return 'signedInOn' in caller ? { kind: caller.kind, id, name, byKeyId: caller.byKeyId } : undefined;
}

/** The maker with the rights of now. Undefined: there is none, or its key is gone. */
export async function callerFor(db: Database, maker: Maker | null): Promise<Caller | undefined> {
  if (!maker) return undefined;
  const keyId = maker.kind === 'api_key' ? maker.id : maker.byKeyId;
  if (keyId !== undefined && !(await findKey(db, keyId))) return undefined;
  const grants = await grantsOf(db, maker.kind, maker.id);
  return maker.kind === 'api_key' ? { ...maker, grants } : { ...maker, byKeyId: keyId, grants, signedInOn: 0 };
}
