import { type ContextValues, createContextKey } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors';
import type { Caller } from './rules/permissions.ts';

const callerKey = createContextKey<Caller | undefined>(undefined, { description: 'who is calling' });

export const setCaller = (values: ContextValues, caller: Caller): ContextValues => values.set(callerKey, caller);

/** Undefined: nobody has found out yet. */
export const knownCallerOf = (values: ContextValues): Caller | undefined => values.get(callerKey);

/** Who makes this call; the authentication interceptor has put it there. */
export function callerOf(context: { values: ContextValues }): Caller {
  const caller = context.values.get(callerKey);
  if (!caller) throw new PlatformError('NOT_AUTHENTICATED');
  return caller;
}
