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
import { askOf, longestWaitMs } from '../rpc/agent.ts';
import { baseUrlFrom } from '../rpc/base-url.ts';
import type { Deps } from '../rpc/routes.ts';
import { publicError, toConnectError } from './errors.ts';
import type { HeldCheck, HeldChecks } from './held-checks.ts';

type CheckDeps = Pick<Deps, 'answers' | 'presence' | 'hosts' | 'publicUrl' | 'listensAt' | 'clock' | 'log'> & {
  authenticator: Pick<Authenticator, 'bearer'>;
  identities: Pick<Identities, 'known'>;
  tokens: Pick<Tokens, 'known' | 'claimed'>;
  held: HeldChecks;
};

export const hotPath = `/${AgentDeviceService.typeName}/${AgentDeviceService.method.deviceAgentConfig.name}`;
/** A check without a report; what is longer has something to tell. */
export const longestCheck = 2_048;

/** A POST of hotPath with one protobuf message. */
export type CheckRequest = { authorization: string; host: string; isSecure: boolean; body: Uint8Array };
/** Where its answer goes. */
export type Reply = {
  readonly isGone: boolean;
  /** @param headers - names and values in turn. */
  send(status: number, headers: readonly string[], body: Uint8Array): void;
  /** Who asked is gone, or has its answer. */
  onEnd(then: () => void): void;
};

/** Looked up at once at most: what takes longer than machines wait for an answer would be asked again before it is there. */
const mostCold = 10_000;
const prefix = 'Bearer ';
/** Cache-Status (RFC 9211) tells what came from memory alone. */
const fromMemory = ['content-type', 'application/proto', 'cache-status', 'platform; hit'];
const fromDatabase = ['content-type', 'application/proto', 'cache-status', 'platform; fwd=miss'];

/**
 * The one call that every machine makes all the time: "has anything changed?". When everything needed is in memory and the answer
 * is no, it is given here at once, at a fifth of the cost of a full RPC and without the database; after a start of the server, when
 * every machine comes anew, what is missing is fetched for many of them together.
 *
 * @returns does it answer? False: nothing was done, the full RPC has to; so for a report and for anything unusual.
 */
export function configChecks(deps: CheckDeps): (request: CheckRequest, reply: Reply) => boolean {
  const { answers, presence, hosts, clock, held, tokens, identities } = deps;
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
  const checkOf = ({ body, host, isSecure }: CheckRequest): Check | undefined => {
    let asked: DeviceAgentConfigRequest;
    try {
      asked = fromBinary(DeviceAgentConfigRequestSchema, body);
    } catch {
      return undefined;
    }
    if (asked.id === '' || asked.report) return undefined;
    const baseUrl = deps.publicUrl ?? baseUrlFrom(deps.listensAt(), host, isSecure);
    return { asked, ask: askOf(asked, asked.id, baseUrl) };
  };
  const answerSame = (reply: Reply, partId: string, fingerprint: string, head = fromMemory): void => {
    presence.touch(partId);
    const checkMs = presence.checkMs();
    // Machines with the same configuration have the same answer.
    if (same.fingerprint !== fingerprint || same.checkMs !== checkMs)
      Object.assign(same, { fingerprint, checkMs, bytes: sameBytes(fingerprint, checkMs) });
    reply.send(200, head, same.bytes);
  };
  const answerWhole = (reply: Reply, partId: string, answer: Answer): void => {
    presence.touch(partId);
    reply.send(200, fromDatabase, wholeBytes(answer, presence.checkMs()));
  };
  const fail = (reply: Reply, error: unknown): void => {
    if (reply.isGone) return;
    const found = toConnectError(publicError(error, deps.log, hotPath.slice(1)));
    const headers = ['content-type', 'application/json', ...[...found.metadata].flat()];
    reply.send(codeToHttpStatus(found.code), headers, errorToJsonBytes(found, undefined));
  };
  /** Waits for a change or the end of its time; then the answer may be a whole one. */
  const answerLater = (reply: Reply, ask: Ask, fingerprint: string, waitMs: number): void => {
    presence.touch(ask.partId);
    /** @param isOver - the answer goes out now, changed or not; before its time it says that a restart is wanted. */
    const release = (isOver: boolean): void => {
      unwatch();
      held.drop(check);
      if (!reply.isGone) void answerNow(isOver);
    };
    const check: HeldCheck = { due: clock.now() + waitMs, release: () => release(true) };
    const state = { unwatch: answers.watch(ask.partId, release) };
    const unwatch = (): void => state.unwatch();
    const answerNow = async (isOver: boolean): Promise<void> => {
      if (isOver && answers.known(ask) === fingerprint) return answerSame(reply, ask.partId, fingerprint);
      try {
        const answer = await answers.answer(ask);
        if (reply.isGone) return;
        if (answer.fingerprint !== fingerprint) return answerWhole(reply, ask.partId, answer);
        if (isOver) return answerSame(reply, ask.partId, fingerprint);
        // Something changed that is nothing to it.
        state.unwatch = answers.watch(ask.partId, release);
        held.hold(check);
      } catch (error) {
        fail(reply, error);
      }
    };
    reply.onEnd(() => {
      presence.touch(ask.partId); // it was there until now
      unwatch();
      held.drop(check);
    });
    held.hold(check);
  };
  /** What is missing is fetched. */
  const answerCold = async (reply: Reply, { ask, asked }: Check, authorization: string): Promise<void> => {
    cold.count++;
    try {
      if (cold.count > mostCold)
        throw new PlatformError('TOO_MANY_REQUESTS', { limit: `${mostCold} machines are being looked up` });
      const caller = await deps.authenticator.bearer(authorization);
      if (caller.id !== ask.partId) throw new PlatformError('PART_NOT_FOUND', { partId: ask.partId });
      presence.touch(ask.partId);
      await hosts.save(ask.partId, asked);
      const answer = await answers.answer(ask);
      if (reply.isGone) return;
      if (asked.knownFingerprint !== answer.fingerprint) return answerWhole(reply, ask.partId, answer);
      const waitMs = waitOf(asked);
      if (waitMs > 0) answerLater(reply, ask, answer.fingerprint, waitMs);
      else answerSame(reply, ask.partId, answer.fingerprint, fromDatabase);
    } catch (error) {
      fail(reply, error);
    } finally {
      cold.count--;
    }
  };

  return (request, reply) => {
    const check = checkOf(request);
    if (!check) return false;
    const { ask, asked } = check;
    const { authorization } = request;
    const isProven = knownPart(authorization) === ask.partId;
    if (!isProven && !claimsPart(authorization, ask.partId)) return false;
    const isKnown =
      isProven &&
      hosts.isKnown(ask.partId, asked) &&
      asked.knownFingerprint !== '' &&
      answers.known(ask) === asked.knownFingerprint;
    const waitMs = waitOf(asked);
    if (!isKnown) void answerCold(reply, check, authorization);
    else if (waitMs > 0) answerLater(reply, ask, asked.knownFingerprint, waitMs);
    else answerSame(reply, ask.partId, asked.knownFingerprint);
    return true;
  };
}

type Check = { ask: Ask; asked: DeviceAgentConfigRequest };

const waitOf = ({ wait }: DeviceAgentConfigRequest): number => (wait ? Math.min(durationMs(wait), longestWaitMs) : 0);
