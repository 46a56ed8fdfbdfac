/** Sends one JSON request to an engine over HTTP, HTTPS with a custom CA, or a Unix socket. */
import http from 'node:http';
import https from 'node:https';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText, isAbort, TimeoutError, within, type Clock } from '@platform/kit';
import type { Engine } from './engine.ts';

export interface HttpEndpoint {
  readonly engine: Engine['name'];
  /** `http://host:port`, `https://…`, or `unix:/path`. */
  readonly url: string;
  /** CA certificates in PEM that verify the engine's certificate. */
  readonly ca?: string | undefined;
  readonly clock: Clock;
}
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE' | 'PATCH';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly contentType?: string;
}
export interface HttpResponse {
  readonly status: number;
  readonly text: string;
  /** The body as JSON; undefined if it is not JSON. */
  readonly json: unknown;
}

const deadlineMs = 15_000;
/** Large clusters return long lists. */
const maxResponseBytes = 256 * 2 ** 20;

/** @throws PlatformError ENGINE_UNREACHABLE when no response arrives. */
export async function sendRequest(
  place: HttpEndpoint,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const { engine, url, clock } = place;
  try {
    return await within(deadlineMs, { what: request.path, clock, signal }, (inner) => send(place, request, inner));
  } catch (error) {
    if (signal.aborted || (isAbort(error) && !(error instanceof TimeoutError))) throw error;
    throw new PlatformError('ENGINE_UNREACHABLE', { engine, url, problem: errorText(error) }, error);
  }
}

function send({ url, ca }: HttpEndpoint, request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
  const body = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body));
  const socketPath = url.startsWith('unix:') ? url.slice('unix:'.length) : undefined;
  const target = new URL(request.path, socketPath === undefined ? url : 'http://localhost');
  const options: https.RequestOptions = {
    method: request.method,
    signal,
    agent: false,
    headers: {
      accept: 'application/json',
      // With `Connection: close`, slurmrestd 22.05 writes a header after the body. This client closes the socket
      // anyway.
      connection: 'keep-alive',
      ...(body === undefined
        ? {}
        : { 'content-type': request.contentType ?? 'application/json', 'content-length': body.length }),
      ...request.headers,
    },
    ...(socketPath === undefined ? {} : { socketPath }),
    ...(ca === undefined ? {} : { ca }),
  };
  return new Promise((resolve, reject) => {
    const sent = (target.protocol === 'https:' ? https : http).request(target, options, (response) => {
      const parts: Buffer[] = [];
      let size = 0;
      response.on('data', (part: Buffer) => {
        size += part.length;
        if (size > maxResponseBytes) response.destroy(new Error(`the answer is larger than ${maxResponseBytes} bytes`));
        else parts.push(part);
      });
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(parts).toString('utf8');
        resolve({ status: response.statusCode ?? 0, text, json: jsonOf(text) });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
