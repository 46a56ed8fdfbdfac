import { createContextKey } from '@connectrpc/connect';

/** Whether a call used the names of the public protocol, as unmodified third-party clients do. */
export const publicNameKey = createContextKey(false, { description: 'called under its public name' });

const prefix = '/viam.';

/** Message bodies contain no package names, so the path is all that differs. */
export const ownPath = (url: string): string | undefined =>
  url.startsWith(prefix) ? `/platform.${url.slice(prefix.length)}` : undefined;
