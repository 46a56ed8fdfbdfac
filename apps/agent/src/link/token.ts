import { Code, ConnectError } from '@connectrpc/connect';

/** The token of this machine, shared by all callers. */
export interface TokenCache {
  /** The token, fetched if there is none. A failed fetch rejects the current callers; later ones fetch again. */
  current(): Promise<string>;
  /** Forgets this token: the server no longer accepts it. */
  discard(used: Promise<string>): void;
}

/** @param fetchToken - has no signal of a caller: aborting the first caller must not fail the others. */
export function tokenCache(fetchToken: () => Promise<string>): TokenCache {
  let token: Promise<string> | undefined;
  const discard = (used: Promise<string>): void => {
    if (token === used) token = undefined;
  };
  return {
    current() {
      if (token === undefined) {
        const fetched = fetchToken();
        token = fetched;
        fetched.catch(() => discard(fetched));
      }
      return token;
    },
    discard,
  };
}

/** Makes a call with the token, and once more with a new one if the server no longer accepts it. */
export async function withToken<T>(
  tokens: TokenCache,
  signal: AbortSignal,
  call: (token: string) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const used = tokens.current();
    const token = await unlessAborted(used, signal);
    try {
      return await call(token);
    } catch (error) {
      const isStale = error instanceof ConnectError && error.code === Code.Unauthenticated;
      if (isStale) tokens.discard(used);
      if (!isStale || attempt > 1) throw error;
    }
  }
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
