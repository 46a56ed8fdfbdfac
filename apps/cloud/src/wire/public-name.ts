import { createContextKey } from '@connectrpc/connect';

/** Calls under the names of the public protocol: unmodified clients of others. */
export const publicNameKey = createContextKey(false, { description: 'called under its public name' });

const prefix = '/viam.';

/** Bodies carry no package names, so the other name is a matter of the path alone. */
export const ownPath = (url: string): string | undefined =>
  url.startsWith(prefix) ? `/platform.${url.slice(prefix.length)}` : undefined;
