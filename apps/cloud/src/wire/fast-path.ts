import type { TLSSocket } from 'node:tls';
import { fromBinary } from '@bufbuild/protobuf';
import { durationMs } from '@bufbuild/protobuf/wkt';
import { codeToHttpStatus, errorToJsonBytes } from '@connectrpc/connect/protocol-connect';
import { PlatformError } from '@platform/contract/errors';
import {
  AgentDeviceService,
  type DeviceAgentConfigRequest,
  DeviceAgentConfigRequestSchema,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { type Answer, type Ask, sameBytes, wholeBytes } from '../agent-answers.ts';
import type { Authenticator } from '../auth/authenticate.ts';
import type { Identities } from '../auth/identities.ts';
import type { Tokens } from '../auth/tokens.ts';
import { send } from '../http/exchange.ts';
import { askOf, longestWaitMs } from '../rpc/agent.ts';
import { baseUrlFrom } from '../rpc/base-url.ts';
import type { Deps } from '../rpc/routes.ts';
import { publicError, toConnectError } from './errors.ts';
import type { HeldCheck, HeldChecks } from './held-checks.ts';
import type { Request, Response } from './mux.ts';

type FastDeps = Pick<Deps, 'answers' | 'presence' | 'hosts' | 'publicUrl' | 'listensAt' | 'clock' | 'log'> & {
  authenticator: Pick<Authenticator, 'bearer'>;
  held: HeldChecks;
};

export const hotPath = `/${AgentDeviceService.typeName}/${AgentDeviceService.method.deviceAgentConfig.name}`;
/** A check without a report; what is longer has something to tell. */
const longestBody = 2_048;
/** Looked up at once at most: what takes longer than machines wait for an answer would be asked again before it is there. */
const mostCold = 10_000;
const prefix = 'Bearer ';
/** Cache-Status (RFC 9211) tells what came from memory alone. */
const fromMemory = ['content-type', 'application/proto', 'cache-status', 'platform; hit'];
const fromDatabase = ['content-type', 'application/proto', 'cache-status', 'platform; fwd=miss'];

/**
 * The one call that every machine makes all the time: "has anything changed?". When everything needed is in memory and the answer
 * is no, it is given here at once, at a fifth of the cost of a full RPC and without the database; after a start of the server, when
 * every machine comes anew, what is missing is fetched for many of them together. A check with a report, of another protocol or
 * with anything unusual goes on to the RPC as if nothing had been looked at.
 *
 * @returns does it answer this request? False: the request is untouched.
 */
export function fastPath(
  deps: FastDeps,
  identities: Identities,
  tokens: Tokens,
): (request: Request, response: Response, next: () => void) => boolean {
  const { answers, presence, hosts, clock, held } = deps;
  /** The interval is the same for all, and grows slowly. */
  const same = { fingerprint: '', checkMs: 0, bytes: new Uint8Array() };
  const cold = { count: 0 };

  /** The part that a machine's own token names, from memory. */
  const knownPart = (authorization: string): string | undefined => {
    const claims = tokens.known(authorization.slice(prefix.length));
    if (claims?.credentials !== 'robot-secret') return undefined;
    const identity = identities.known('part', claims.subject);
    return identity?.proofs.has(claims.proof) ? claims.subject : undefined;
  };
  /** Whether the token says, still unproven, that it is of this part. */
  const claimsPart = (authorization: string, partId: string): boolean => {
    const claims = tokens.claimed(authorization.slice(prefix.length));
    return claims?.credentials === 'robot-secret' && claims.subject === partId;
  };
  const checkOf = (request: Request, body: Buffer): { ask: Ask; asked: DeviceAgentConfigRequest } | undefined => {
    let asked: DeviceAgentConfigRequest;
    try {
      asked = fromBinary(DeviceAgentConfigRequestSchema, body);
    } catch {
      return undefined;
    }
    if (asked.id === '' || asked.report) return undefined;
    const isSecure = (request.socket as Partial<TLSSocket>).encrypted === true;
    const baseUrl = deps.publicUrl ?? baseUrlFrom(deps.listensAt(), request.headers.host ?? '', isSecure);
    return { asked, ask: askOf(asked, asked.id, baseUrl) };
  };
  const answerSame = (response: Response, partId: string, fingerprint: string, head = fromMemory): void => {
    presence.touch(partId);
    const checkMs = presence.checkMs();
    // Machines with the same configuration have the same answer.
    if (same.fingerprint !== fingerprint || same.checkMs !== checkMs)
      Object.assign(same, { fingerprint, checkMs, bytes: sameBytes(fingerprint, checkMs) });
    response.writeHead(200, [...head, 'content-length', String(same.bytes.length)]);
    response.end(same.bytes);
  };
  const answerWhole = (response: Response, partId: string, answer: Answer): void => {
    presence.touch(partId);
    const body = wholeBytes(answer, presence.checkMs());
    response.writeHead(200, [...fromDatabase, 'content-length', String(body.length)]);
    response.end(body);
  };
  const fail = (response: Response, error: unknown): void => {
    if (response.destroyed || response.headersSent) return;
    const found = toConnectError(publicError(error, deps.log, hotPath.slice(1)));
    const body = errorToJsonBytes(found, undefined);
    send(
      response,
      codeToHttpStatus(found.code),
      { ...Object.fromEntries(found.metadata), 'content-type': 'application/json', 'content-length': body.length },
      body,
    );
  };
  /** Waits for a change or the end of its time; then the answer may be a whole one. */
  const answerLater = (response: Response, ask: Ask, fingerprint: string, waitMs: number): void => {
    presence.touch(ask.partId);
    const release = (isOver: boolean): void => {
      unwatch();
      held.drop(check);
      if (!response.destroyed) void answerNow(isOver);
    };
    const check: HeldCheck = { due: clock.now() + waitMs, release: () => release(true) };
    const state = { unwatch: answers.watch(ask.partId, () => release(false)) };
    const unwatch = (): void => state.unwatch();
    const answerNow = async (isOver: boolean): Promise<void> => {
      if (isOver && answers.known(ask) === fingerprint) return answerSame(response, ask.partId, fingerprint);
      try {
        const answer = await answers.answer(ask);
        if (response.destroyed) return;
        if (answer.fingerprint !== fingerprint) return answerWhole(response, ask.partId, answer);
        if (isOver) return answerSame(response, ask.partId, fingerprint);
        // Something else of it changed.
        state.unwatch = answers.watch(ask.partId, () => release(false));
        held.hold(check);
      } catch (error) {
        fail(response, error);
      }
    };
    response.once('close', () => {
      unwatch();
      held.drop(check);
    });
    held.hold(check);
  };
  /** What is missing is fetched. */
  const answerCold = async (
    response: Response,
    { ask, asked }: { ask: Ask; asked: DeviceAgentConfigRequest },
    authorization: string,
  ): Promise<void> => {
    cold.count++;
    try {
      if (cold.count > mostCold)
        throw new PlatformError('TOO_MANY_REQUESTS', { limit: `${mostCold} machines are being looked up` });
      const caller = await deps.authenticator.bearer(authorization);
      if (caller.id !== ask.partId) throw new PlatformError('PART_NOT_FOUND', { partId: ask.partId });
      presence.touch(ask.partId);
      await hosts.save(ask.partId, asked);
      const answer = await answers.answer(ask);
      if (response.destroyed) return;
      if (asked.knownFingerprint !== answer.fingerprint) return answerWhole(response, ask.partId, answer);
      const waitMs = waitOf(asked);
      if (waitMs > 0) answerLater(response, ask, answer.fingerprint, waitMs);
      else answerSame(response, ask.partId, answer.fingerprint, fromDatabase);
    } catch (error) {
      fail(response, error);
    } finally {
      cold.count--;
    }
  };

  return (request, response, next) => {
    const { headers } = request;
    if (request.url !== hotPath || request.method !== 'POST' || headers['content-type'] !== 'application/proto')
      return false;
    const length = Number(headers['content-length'] ?? 0);
    const { authorization } = headers;
    if (!(length > 0 && length <= longestBody) || headers['content-encoding'] !== undefined || !authorization)
      return false;
    request.once('readable', () => {
      const body = request.read() as Buffer | null;
      const check = body?.length === length ? checkOf(request, body) : undefined;
      const isProven = check !== undefined && knownPart(authorization) === check.ask.partId;
      if (!check || (!isProven && !claimsPart(authorization, check.ask.partId))) {
        if (body) request.unshift(body);
        return next();
      }
      const { ask, asked } = check;
      const isKnown =
        isProven &&
        hosts.isKnown(ask.partId, asked) &&
        asked.knownFingerprint !== '' &&
        answers.known(ask) === asked.knownFingerprint;
      if (!isKnown) return void answerCold(response, check, authorization);
      const waitMs = waitOf(asked);
      if (waitMs > 0) answerLater(response, ask, asked.knownFingerprint, waitMs);
      else answerSame(response, ask.partId, asked.knownFingerprint);
    });
    return true;
  };
}

const waitOf = ({ wait }: DeviceAgentConfigRequest): number => (wait ? Math.min(durationMs(wait), longestWaitMs) : 0);
