import type { DescService } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import type { Client, Interceptor, Transport } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import type { MachineCredentials } from '@platform/contract/machine-server/machine-server';

/** Connection to the management server: HTTP/1.1 with an access token that is fetched on demand. */
export interface CloudLink {
  client<S extends DescService>(service: S): Client<S>;
  /** Headers for plain downloads from the management server. */
  readonly downloadHeaders: Readonly<Record<string, string>>;
  /** Reaches servers with valid certificates even if the clock of this machine is wrong. */
  readonly fetch: typeof fetch;
}

/** No call may hang forever; a call that carries an image sets its own limit. */
export const callTimeoutMs = 15_000;

export function createCloudLink(credentials: MachineCredentials, send: typeof fetch = fetch): CloudLink {
  const { appAddress: baseUrl, entity, type, payload, partId } = credentials;
  const options = { baseUrl, useBinaryFormat: true, defaultTimeoutMs: callTimeoutMs, fetch: send };
  const auth = createClient(AuthService, createConnectTransport(options));
  const token = new SharedToken(async () => {
    const { accessToken } = await auth.authenticate({ entity, credentials: { type, payload } });
    return accessToken;
  });
  const transport: Transport = createConnectTransport({ ...options, interceptors: [withToken(token)] });
  return {
    fetch: send,
    client: (service) => createClient(service, transport),
    downloadHeaders: type === 'api-key' ? { key_id: entity, key: payload } : { part_id: partId, secret: payload },
  };
}

/** Concurrent calls share one token request. */
class SharedToken {
  readonly #fetchToken: () => Promise<string>;
  #token: Promise<string> | undefined;

  constructor(fetchToken: () => Promise<string>) {
    this.#fetchToken = fetchToken;
  }

  get(): Promise<string> {
    if (this.#token !== undefined) return this.#token;
    const token = this.#fetchToken();
    this.#token = token;
    token.catch(() => this.drop(token)); // the next call retries
    return token;
  }

  drop(token: Promise<string>): void {
    if (this.#token === token) this.#token = undefined;
  }
}

/** Replaces an expired token once, within the call that the server rejected. */
function withToken(token: SharedToken): Interceptor {
  return (next) => async (request) => {
    for (let isFirst = true; ; isFirst = false) {
      const held = token.get();
      request.header.set('authorization', `Bearer ${await held}`);
      request.header.set('accept-encoding', 'gzip'); // the runtime's own list is longer, but the server only sends gzip
      try {
        return await next(request);
      } catch (error) {
        if (!isFirst || ConnectError.from(error).code !== Code.Unauthenticated) throw error;
        token.drop(held);
      }
    }
  };
}
