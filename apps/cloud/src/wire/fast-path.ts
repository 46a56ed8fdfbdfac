import type { TLSSocket } from 'node:tls';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { durationFromMs, durationMs } from '@bufbuild/protobuf/wkt';
import {
  AgentDeviceService,
  type DeviceAgentConfigRequest,
  DeviceAgentConfigRequestSchema,
  DeviceAgentConfigResponseSchema,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { errorText } from '@platform/kit';
import type { Ask } from '../agent-answers.ts';
import type { Identities } from '../auth/identities.ts';
import type { Tokens } from '../auth/tokens.ts';
import { askOf, longestWaitMs } from '../rpc/agent.ts';
import { baseUrlFrom } from '../rpc/base-url.ts';
import type { Deps } from '../rpc/routes.ts';
import { send } from '../http/exchange.ts';
import type { Request, Response } from './mux.ts';

type FastDeps = Pick<Deps, 'answers' | 'presence' | 'hosts' | 'publicUrl' | 'listensAt' | 'clock' | 'stop' | 'log'>;

export const hotPath = `/${AgentDeviceService.typeName}/${AgentDeviceService.method.deviceAgentConfig.name}`;
/** A check without a report; what is longer has something to tell. */
const longestBody = 2_048;
const prefix = 'Bearer ';
/** Cache-Status (RFC 9211) tells the two paths apart. */
const fromMemory = ['content-type', 'application/proto', 'cache-status', 'platform; hit'] as const;

/**
 * The one call that every machine makes all the time: "has anything changed?". When everything needed is in memory and the answer
 * is no, it is given here, at a fifth of the cost of a full RPC and without the database. Everything else (another protocol, a
 * report, an unknown token, a change) goes on to the RPC as if nothing had been looked at.
 *
 * @returns does it answer this request? False: the request is untouched.
 */
export function fastPath(
  deps: FastDeps,
  identities: Identities,
  tokens: Tokens,
): (request: Request, response: Response, next: () => void) => boolean {
  const { answers, presence, hosts, clock, stop } = deps;

  /** The part that a machine's own token names, from memory. */
  const partOf = (authorization: string): string | undefined => {
    const claims = tokens.known(authorization.slice(prefix.length));
    if (claims?.credentials !== 'robot-secret') return undefined;
    const identity = identities.known('part', claims.subject);
    return identity?.proofs.has(claims.proof) ? claims.subject : undefined;
  };
  const checkOf = (
    request: Request,
    partId: string,
    body: Buffer,
  ): { ask: Ask; asked: DeviceAgentConfigRequest } | undefined => {
    let asked: DeviceAgentConfigRequest;
    try {
      asked = fromBinary(DeviceAgentConfigRequestSchema, body);
    } catch {
      return undefined;
    }
    if (asked.id !== partId || asked.report || asked.knownFingerprint === '' || !hosts.isKnown(partId, asked))
      return undefined;
    const isSecure = (request.socket as Partial<TLSSocket>).encrypted === true;
    const ask = askOf(
      asked,
      partId,
      deps.publicUrl ?? baseUrlFrom(deps.listensAt(), request.headers.host ?? '', isSecure),
    );
    return answers.known(ask) === asked.knownFingerprint ? { ask, asked } : undefined;
  };
  const answerSame = (response: Response, ask: Ask): void => {
    presence.touch(ask.partId);
    const body = answers.notModified(ask, presence.checkMs());
    response.writeHead(200, [...fromMemory, 'content-length', String(body.length)]);
    response.end(body);
  };
  /** Held until something changes; then the answer may be a whole one. */
  const answerLater = async (request: Request, response: Response, ask: Ask, waitMs: number): Promise<void> => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const watched = answers.watch(ask.partId);
    try {
      presence.touch(ask.partId);
      const fingerprint = answers.known(ask);
      await Promise.race([watched.changed, clock.sleep(waitMs, AbortSignal.any([gone.signal, stop]))]);
      if (response.destroyed) return;
      const answer = await answers.answer(ask);
      if (answer.fingerprint === fingerprint) return answerSame(response, ask);
      presence.touch(ask.partId);
      const body = toBinary(DeviceAgentConfigResponseSchema, {
        ...answer,
        checkInterval: durationFromMs(presence.checkMs()),
      });
      send(response, 200, { 'content-type': 'application/proto', 'content-length': body.length }, body);
    } catch (error) {
      deps.log.warn('a held check failed', { url: request.url, error: errorText(error) });
      send(
        response,
        503,
        { 'content-type': 'application/json' },
        JSON.stringify({ code: 'unavailable', message: 'try again' }),
      );
    } finally {
      gone.abort();
      watched.close();
    }
  };

  return (request, response, next) => {
    const { headers } = request;
    if (request.url !== hotPath || request.method !== 'POST' || headers['content-type'] !== 'application/proto')
      return false;
    const length = Number(headers['content-length'] ?? 0);
    if (
      !(length > 0 && length <= longestBody) ||
      headers['content-encoding'] !== undefined ||
      headers.authorization === undefined
    )
      return false;
    const partId = partOf(headers.authorization);
    if (partId === undefined) return false;
    request.once('readable', () => {
      const body = request.read() as Buffer | null;
      const check = body?.length === length ? checkOf(request, partId, body) : undefined;
      if (!check) {
        if (body) request.unshift(body);
        return next();
      }
      const waitMs = check.asked.wait ? Math.min(durationMs(check.asked.wait), longestWaitMs) : 0;
      if (waitMs > 0 && !stop.aborted) void answerLater(request, response, check.ask, waitMs);
      else answerSame(response, check.ask);
    });
    return true;
  };
}
