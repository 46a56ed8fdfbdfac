import type { DescService } from '@bufbuild/protobuf';
import { type Client, Code, ConnectError, type Interceptor, type Transport, createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { parseServerUrl } from '@platform/contract/provisioning/server-url';
import { apiError, httpError, localError } from './errors.ts';
import { environment } from './runtime.ts';

/** An API key: its ID and the key itself. */
export interface ApiKeyCredentials {
  readonly type: 'api-key';
  /** ID of the key. */
  readonly authEntity: string;
  /** The key. */
  readonly payload: string;
}

/** A machine part: its ID and its secret. */
export interface PartCredentials {
  readonly type: 'robot-secret';
  readonly authEntity: string;
  readonly payload: string;
}

export type Credentials = ApiKeyCredentials | PartCredentials;

export interface PlatformClientOptions {
  /** For example http://127.0.0.1:8080. Default: PLATFORM_URL of the environment. */
  readonly baseUrl?: string;
  /** Default: PLATFORM_API_KEY_ID and PLATFORM_API_KEY of the environment. null: a browser session with its cookie. */
  readonly credentials?: Credentials | null;
  /** Time limit of one call in ms. Default: 60 000. */
  readonly timeoutMs?: number;
  /** A transport to use instead of Connect over fetch; it must use the interceptors. */
  readonly transport?: (interceptors: Interceptor[]) => Transport;
  /** Default: the global fetch. */
  readonly fetch?: typeof globalThis.fetch;
}

/** Calls and HTTP requests to one server as one caller. Authenticates on demand, and again when a token expired. */
export class Connection {
  readonly url: string;
  readonly #credentials: Credentials | null;
  readonly #transport: Transport;
  readonly #fetch: typeof globalThis.fetch;
  #token: Promise<string> | undefined;

  constructor(options: PlatformClientOptions) {
    const url = options.baseUrl ?? environment('PLATFORM_URL');
    if (!url)
      throw localError(
        'INVALID_ARGUMENT',
        'The address of the server is not known: give baseUrl or set PLATFORM_URL.',
        { field: 'baseUrl' },
      );
    const server = parseServerUrl(url);
    if (!server.ok)
      throw localError('INVALID_ARGUMENT', `${server.shown} is not the URL of a server: ${server.problem}.`, {
        field: 'baseUrl',
      });
    this.url = server.value;
    this.#credentials = options.credentials === undefined ? credentialsOfEnvironment() : options.credentials;
    this.#fetch = options.fetch ?? ((...args) => globalThis.fetch(...args));
    const interceptors: Interceptor[] = [
      (next) => (request) => this.#authorized(request.service.typeName, request.header, () => next(request)),
    ];
    this.#transport =
      options.transport?.(interceptors) ??
      createConnectTransport({
        baseUrl: this.url,
        useBinaryFormat: true,
        interceptors,
        fetch: this.#fetch,
        defaultTimeoutMs: options.timeoutMs ?? 60_000,
      });
  }

  /** Creates a client of one service whose calls reject with PlatformApiError. */
  client<S extends DescService>(service: S): Client<S> {
    const plain = createClient(service, this.#transport) as Record<string, (...args: never[]) => unknown>;
    const calls: Record<string, unknown> = {};
    for (const method of service.methods) {
      const call = plain[method.localName];
      if (!call) continue;
      const isStream = method.methodKind === 'server_streaming' || method.methodKind === 'bidi_streaming';
      calls[method.localName] = isStream
        ? (...args: never[]) => this.#stream(call, args)
        : (...args: never[]) => this.#once(call, args);
    }
    return calls as Client<S>;
  }

  /** Sends a plain HTTP request with the token; rejects with PlatformApiError unless the status is 2xx. */
  async request(path: string, init: RequestInit = {}): Promise<Response> {
    const url = `${this.url}${path}`;
    const send = async (): Promise<Response> => {
      try {
        const headers = new Headers(init.headers);
        if (this.#credentials) headers.set('authorization', `Bearer ${await this.#authenticate()}`);
        return await this.#fetch(url, { ...init, headers });
      } catch (error) {
        throw apiError(error, this.url, init.signal ?? undefined);
      }
    };
    let response = await send();
    if (response.status === 401 && this.#credentials) {
      this.#token = undefined;
      response = await send();
    }
    if (!response.ok) throw await httpError(response, url);
    return response;
  }

  async #once(call: (...args: never[]) => unknown, args: never[]): Promise<unknown> {
    try {
      return await call(...args);
    } catch (error) {
      throw apiError(error, this.url, signalOf(args));
    }
  }

  async *#stream(call: (...args: never[]) => unknown, args: never[]): AsyncGenerator {
    try {
      yield* call(...args) as AsyncIterable<unknown>;
    } catch (error) {
      throw apiError(error, this.url, signalOf(args));
    }
  }

  async #authorized<T>(service: string, header: Headers, call: () => Promise<T>): Promise<T> {
    if (!this.#credentials || service === AuthService.typeName) return call();
    const token = this.#authenticate();
    header.set('authorization', `Bearer ${await token}`);
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof ConnectError) || error.code !== Code.Unauthenticated) throw error;
      if (this.#token === token) this.#token = undefined;
      header.set('authorization', `Bearer ${await this.#authenticate()}`);
      return call();
    }
  }

  /** Fetches the token once for all calls that wait for it. */
  #authenticate(): Promise<string> {
    const credentials = this.#credentials;
    if (!credentials) return Promise.resolve('');
    if (this.#token) return this.#token;
    const { authEntity: entity, type, payload } = credentials;
    const token = createClient(AuthService, this.#transport)
      .authenticate({ entity, credentials: { type, payload } })
      .then((answer) => answer.accessToken);
    this.#token = token;
    // Only the current waiters see a failure; the next call authenticates again.
    token.catch(() => {
      if (this.#token === token) this.#token = undefined;
    });
    return token;
  }
}

function signalOf(args: readonly unknown[]): AbortSignal | undefined {
  const options = args[1];
  return typeof options === 'object' && options !== null && 'signal' in options && options.signal instanceof AbortSignal
    ? options.signal
    : undefined;
}

function credentialsOfEnvironment(): ApiKeyCredentials {
  const authEntity = environment('PLATFORM_API_KEY_ID');
  const payload = environment('PLATFORM_API_KEY');
  if (!authEntity || !payload) {
    throw localError(
      'INVALID_ARGUMENT',
      'There is no API key: give credentials or set PLATFORM_API_KEY_ID and PLATFORM_API_KEY.',
      { field: 'credentials' },
    );
  }
  return { type: 'api-key', authEntity, payload };
}
