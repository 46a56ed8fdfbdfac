import { type ContextValues, createContextKey } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import type { Caller } from './rules/permissions.ts';

const callerKey = createContextKey<Caller | undefined>(undefined, { description: 'who is calling' });

export const setCaller = (values: ContextValues, caller: Caller): ContextValues => values.set(callerKey, caller);

/** Undefined: the call is not authenticated yet. */
export const knownCallerOf = (values: ContextValues): Caller | undefined => values.get(callerKey);

/** The caller of an RPC, which the request gate has authenticated. @throws PlatformError NOT_AUTHENTICATED */
export function callerOf(context: { values: ContextValues }): Caller {
  const caller = context.values.get(callerKey);
  if (!caller) throw new PlatformError('NOT_AUTHENTICATED');
  return caller;
}
