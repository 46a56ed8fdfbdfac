/** The runner's credentials: an access token, fetched on first use and replaced when the server rejects it. */
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { within, type Clock, type Secret } from '@platform/kit';

const deadlineMs = 15_000;

export interface Session {
  /** Calls `f` with a bearer token; retries once with a new token when `f` throws Unauthenticated. */
  call<T>(signal: AbortSignal, f: (headers: { authorization: string }) => Promise<T>): Promise<T>;
}

export interface Key {
  id: string;
  key: Secret;
}

export function openSession(transport: Transport, { id, key }: Key, clock: Clock): Session {
  const auth = createClient(AuthService, transport);
  let token: Promise<string> | undefined;
  const fetchToken = async (signal: AbortSignal): Promise<string> => {
    const request = { entity: id, credentials: { type: 'api-key', payload: key.reveal() } };
    const what = 'Authenticate';
    const answer = await within(deadlineMs, { what, clock, signal }, (inner) =>
      auth.authenticate(request, { signal: inner }),
    );
    return answer.accessToken;
  };
  const current = (signal: AbortSignal): Promise<string> => {
    if (token) return token;
    const fetched = fetchToken(signal);
    token = fetched;
    fetched.catch(() => {
      if (token === fetched) token = undefined;
    });
    return fetched;
  };
  return {
    call: async (signal, f) => {
      for (let attempt = 1; ; attempt++) {
        const used = current(signal);
        const authorization = `Bearer ${await used}`;
        try {
          return await f({ authorization });
        } catch (error) {
          const isStale = error instanceof ConnectError && error.code === Code.Unauthenticated;
          if (!isStale || attempt > 1) throw error;
          if (token === used) token = undefined;
        }
      }
    },
  };
}
