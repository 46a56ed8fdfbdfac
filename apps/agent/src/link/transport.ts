import { Code, ConnectError, type Transport } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText, type Clock } from '@platform/kit';
import type { RequestTrace } from '../os/request-trace.ts';
import { isCertificateProblem, linkProblem, type Validity } from './link.ts';

/** Far more than any answer to a machine; a larger body is not read to its end. */
export const answerLimitBytes = 4 * 2 ** 20;

export interface LinkParts {
  clock: Clock;
  /** Called with the `Date` of every answer, ms since 1970. */
  onDate?: (heard: number) => void;
  /** Validity of the certificate that this URL presents; for error messages. */
  validityOf?: (url: string) => Promise<Validity | undefined>;
  fetch?: typeof fetch;
  trace?: RequestTrace;
}

/**
 * The connection to the management server. Its errors are ConnectErrors; a network problem is a PlatformError in
 * `cause`.
 */
export function connectTransport(appAddress: string, parts: LinkParts): Transport {
  return createConnectTransport({ baseUrl: appAddress, useBinaryFormat: true, fetch: guardedFetch(parts) });
}

/**
 * A fetch for calls over an untrusted network. It follows no redirect because the token is for one host only. It reads
 * at most `answerLimitBytes` and accepts only answers of a management server. Its errors are rows of the error table.
 */
export function guardedFetch({ clock, onDate, validityOf, fetch: send = fetch, trace }: LinkParts): typeof fetch {
  const guarded = async (
    input: Parameters<typeof fetch>[0],
    init: RequestInit | undefined,
    seen: { status?: number; receivedBytes: number },
  ): Promise<Response> => {
    const url = input instanceof Request ? input.url : String(input);
    const address = new URL(url).origin;
    const failed = (problem: PlatformError, headers?: Headers): ConnectError =>
      new ConnectError(problem.message, Code.Unavailable, headers, undefined, problem);
    const isGivenUp = () => init?.signal?.aborted === true;

    let answer: Response;
    try {
      answer = await send(input, { ...init, redirect: 'manual' });
    } catch (error) {
      if (isGivenUp()) throw error;
      const validity = isCertificateProblem(error) ? await validityOf?.(url).catch(() => undefined) : undefined;
      throw failed(linkProblem(error, { url, now: clock.wall(), validity }));
    }
    const { status, headers } = answer;
    seen.status = status;
    try {
      if (status >= 300 && status < 400) {
        const location = (headers.get('location') ?? 'another place').slice(0, 200);
        throw failed(new PlatformError('CLOUD_REDIRECTS', { address, location }));
      }
      const bytes = await limited(answer, () => failed(tooLarge(address)));
      seen.receivedBytes = bytes.byteLength;
      const problem = notFromServer(address, status, headers, bytes);
      if (problem) throw failed(problem, headers);
      const heard = Date.parse(headers.get('date') ?? '');
      if (!Number.isNaN(heard)) onDate?.(heard);
      return new Response(bytes, { status, headers });
    } catch (error) {
      await answer.body?.cancel().catch(() => {});
      if (error instanceof ConnectError || isGivenUp()) throw error;
      throw failed(new PlatformError('CLOUD_ANSWER_CUT', { address }, error));
    }
  };
  return async (input, init) => {
    const began = clock.now();
    const seen: { status?: number; receivedBytes: number; problem?: string } = { receivedBytes: 0 };
    try {
      return await guarded(input, init, seen);
    } catch (error) {
      seen.problem = errorText(error).slice(0, 200);
      throw error;
    } finally {
      const url = input instanceof Request ? input.url : String(input);
      const sentBytes = ArrayBuffer.isView(init?.body) ? init.body.byteLength : 0;
      const method = init?.method ?? 'GET';
      trace?.report({ status: undefined, ...seen, method, url, sentBytes, ms: clock.now() - began });
    }
  };
}

const tooLarge = (address: string): PlatformError =>
  new PlatformError('CLOUD_ANSWER_TOO_LARGE', { address, limitBytes: answerLimitBytes });

async function limited(answer: Response, refuse: () => Error): Promise<Uint8Array<ArrayBuffer>> {
  if (Number(answer.headers.get('content-length') ?? 0) > answerLimitBytes) throw refuse();
  const parts: Uint8Array[] = [];
  let bytes = 0;
  const reader = answer.body?.getReader();
  try {
    for (let turn = await reader?.read(); turn && !turn.done; turn = await reader?.read()) {
      bytes += turn.value.byteLength;
      if (bytes > answerLimitBytes) throw refuse();
      parts.push(turn.value);
    }
  } catch (error) {
    await reader?.cancel().catch(() => {});
    throw error;
  }
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}

/** Explains an answer that does not come from a management server; undefined: it may come from one. */
function notFromServer(
  address: string,
  status: number,
  headers: Headers,
  bytes: Uint8Array,
): PlatformError | undefined {
  const type = (headers.get('content-type') ?? '').split(';')[0]?.trim() ?? '';
  if (status === 200 && type === 'application/proto') {
    // Without a length, a truncated answer could still parse as a message.
    const isWhole = headers.has('content-length') || headers.has('transfer-encoding');
    return isWhole ? undefined : new PlatformError('CLOUD_ANSWER_CUT', { address });
  }
  if (status !== 200 && type === 'application/json' && isRpcError(bytes)) return undefined;
  if (status === 429 || (status === 503 && headers.has('retry-after'))) {
    return new PlatformError('CLOUD_BUSY', { address, status });
  }
  if (status >= 500) return new PlatformError('CLOUD_FAILS', { address, status });
  const problem = `it answers HTTP ${status} with ${type === '' ? 'content of no type' : `content of the type ${type.slice(0, 60)}`}`;
  return new PlatformError('CLOUD_NOT_RECOGNIZED', { address, problem });
}

function isRpcError(bytes: Uint8Array): boolean {
  try {
    const json: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof json === 'object' && json !== null && 'code' in json && typeof json.code === 'string';
  } catch {
    return false;
  }
}
