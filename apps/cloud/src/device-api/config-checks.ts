import { codeToHttpStatus, errorToJsonBytes } from '@connectrpc/connect/protocol-connect';
import { PlatformError } from '@platform/contract/errors/errors';
import type { Clock, Log } from '@platform/kit';
import type { Authenticator } from '../access/authenticate.ts';
import type { CallerBudgets } from '../access/caller-budgets.ts';
import type { Identities } from '../access/identities.ts';
import type { Claims, Tokens } from '../access/tokens.ts';
import type { PartRuns } from '../machines/part-runs.ts';
import type { Presence } from '../machines/presence.ts';
import { baseUrl, type Addresses } from '../wire/base-url.ts';
import { type CheckRequest, type Reply, agentCheckPath, serverCheckPath } from '../wire/check.ts';
import { publicError, toConnectError } from '../wire/errors.ts';
import type { AgentAnswers } from './agent-answers.ts';
import { agentChecks } from './agent-check.ts';
import type { Check, NewCheck, Present, ReadCheck } from './check.ts';
import type { HeldCheck, HeldChecks } from './held-checks.ts';
import type { MachineConfigs } from './machine-configs.ts';
import type { PersonalAnswers } from './personal-answers.ts';
import type { ReportedHosts } from './reported-hosts.ts';
import { type ConcurrencyLimiter, slotLost } from './concurrency-limiter.ts';
import { serverChecks } from './server-check.ts';
import type { ViewRequests } from './view-requests.ts';

type CheckDeps = {
  answers: AgentAnswers;
  budgets: CallerBudgets;
  configs: MachineConfigs;
  live: ViewRequests;
  presence: Presence;
  hosts: ReportedHosts;
  runs: PartRuns;
  personal: PersonalAnswers;
  waiting: { agents: ConcurrencyLimiter; servers: ConcurrencyLimiter };
  addresses: Addresses;
  clock: Clock;
  log: Log;
} & {
  authenticator: Pick<Authenticator, 'bearer'>;
  identities: Pick<Identities, 'known'>;
  tokens: Pick<Tokens, 'known' | 'signed'>;
  held: HeldChecks;
};

/** Limit of concurrent lookups: beyond this, lookups outlast the client's timeout and are retried in vain. */
const mostLookups = 10_000;
/** Delay of a rejection. Without it, a rejection costs as much as a response, and the machine retries immediately. */
const refusalMs = 1_000;
const prefix = 'Bearer ';
/** Cache-Status (RFC 9211) shows which responses came from memory. */
const fromMemory = ['content-type', 'application/proto', 'cache-status', 'platform; hit'];
const fromDatabase = ['content-type', 'application/proto', 'cache-status', 'platform; fwd=miss'];

type CheckReplies = {
  /** Sends that nothing changed. */
  unchanged(reply: Reply, check: Check, present: Present, head?: readonly string[]): void;
  /** Sends the whole configuration. */
  whole(reply: Reply, check: Check, present: Present): void;
  fail(reply: Reply, error: unknown, path: string): void;
  /** @returns false: the machine is over its budget, and the rejection follows after a delay. */
  isWithinBudget(reply: Reply, partId: string, path: string): boolean;
};

function checkReplies({ presence, budgets, clock, log }: CheckDeps): CheckReplies {
  const fail = (reply: Reply, error: unknown, path: string): void => {
    if (reply.isGone) return;
    const found = toConnectError(publicError(error, log, path.slice(1)));
    const headers = ['content-type', 'application/json', ...[...found.metadata].flat()];
    reply.send(codeToHttpStatus(found.code), headers, errorToJsonBytes(found, undefined));
  };
  return {
    unchanged(reply, check, present, head = fromMemory) {
      presence.touch(check.partId);
      reply.send(200, head, check.same(present));
    },
    whole(reply, check, present) {
      presence.touch(check.partId);
      reply.send(200, fromDatabase, check.whole(present));
    },
    fail,
    isWithinBudget(reply, partId, path) {
      const refusal = budgets.admitCheck(partId);
      if (!refusal) return true;
      void clock.sleep(refusalMs).then(() => fail(reply, refusal, path));
      return false;
    },
  };
}

/** Passes the current state to `use`. Looks it up again if something changed during the lookup. */
async function lookUp(check: Check, use: (found: Present) => void): Promise<void> {
  for (const seen = { isOld: true }; seen.isOld;) {
    seen.isOld = false;
    const unwatch = check.watch(() => (seen.isOld = true));
    try {
      const found = await check.look();
      if (!seen.isOld) use(found);
    } finally {
      unwatch();
    }
  }
}

type AnswerLater = (reply: Reply, check: Check, path: string) => void;

/** @returns waits for a change or the end of the long poll, then sends the state, whole if it changed. */
function heldReplies({ presence, clock, held, waiting: limiters }: CheckDeps, replies: CheckReplies): AnswerLater {
  const limiterOf = new Map<string, ConcurrencyLimiter>([
    [agentCheckPath, limiters.agents],
    [serverCheckPath, limiters.servers],
  ]);
  return (reply, check, path) => {
    presence.touch(check.partId);
    /** @param isOver - respond now, changed or not. */
    const release = (isOver: boolean): void => {
      end();
      if (reply.isGone) return;
      const present = isOver ? check.now() : undefined;
      if (present?.fingerprint === check.known) replies.unchanged(reply, check, present);
      else lookUp(check, (found) => settle(found, isOver)).catch((error: unknown) => replies.fail(reply, error, path));
    };
    const wake = (): void => release(false);
    const waiting: HeldCheck = { due: clock.now() + check.waitMs, release: () => release(true) };
    const state = { unwatch: check.watch(wake) };
    const end = (): void => {
      state.unwatch();
      held.drop(waiting);
    };
    const settle = (found: Present, isOver: boolean): void => {
      if (reply.isGone) return;
      if (found.fingerprint !== check.known) return replies.whole(reply, check, found);
      if (isOver || found.isUrgent) return replies.unchanged(reply, check, found);
      // The change does not affect this response.
      state.unwatch = check.watch(wake);
      held.hold(waiting);
    };
    const leave = limiterOf.get(path)?.take(check.partId, () => replies.fail(reply, slotLost(), path));
    reply.onEnd(() => {
      presence.touch(check.partId); // the machine was connected until now
      end();
      leave?.();
    });
    held.hold(waiting);
  };
}

/** @returns loads what is not cached, then answers. `isCharged`: the machine's budget paid for this check already. */
function uncachedReplies(
  { authenticator, presence }: CheckDeps,
  replies: CheckReplies,
  answerLater: AnswerLater,
): (reply: Reply, found: NewCheck, request: CheckRequest, isCharged: boolean) => Promise<void> {
  const lookups = { count: 0 };
  return async (reply, { check, note, save }, { authorization, path }, isCharged) => {
    const { partId } = check;
    lookups.count++;
    try {
      if (lookups.count > mostLookups)
        throw new PlatformError('TOO_MANY_REQUESTS', { limit: `${mostLookups} machines are being looked up` });
      const caller = await authenticator.bearer(authorization);
      reply.proven?.(caller.id);
      if (caller.id !== partId) throw new PlatformError('PART_NOT_FOUND', { partId });
      if (!isCharged && !replies.isWithinBudget(reply, partId, path)) return;
      if (!isCharged) note();
      presence.touch(partId);
      await save();
      await lookUp(check, (found) => {
        if (reply.isGone) return;
        if (check.known !== found.fingerprint) replies.whole(reply, check, found);
        else if (check.waitMs > 0 && !found.isUrgent) answerLater(reply, check, path);
        else replies.unchanged(reply, check, found, fromDatabase);
      });
    } catch (error) {
      replies.fail(reply, error, path);
    } finally {
      lookups.count--;
    }
  };
}

/** The claims of a machine's own token. Tokens that this server did not sign cost no lookup. */
function machineClaims(tokens: CheckDeps['tokens'], authorization: string): Claims | undefined {
  const claims = tokens.signed(authorization.slice(prefix.length));
  return claims?.credentials === 'robot-secret' ? claims : undefined;
}

/** Whether the cache confirms that the token and its secret are valid. */
function isProven({ tokens, identities }: CheckDeps, authorization: string): boolean {
  const claims = tokens.known(authorization.slice(prefix.length));
  return claims !== undefined && identities.known('part', claims.subject)?.proofs.has(claims.proof) === true;
}

/**
 * Fast path of the machines' long polls for configuration changes. If everything is cached and unchanged, it answers
 * without the database. That costs a fifth of a full RPC. After a restart of the server, when every machine reconnects,
 * it batches the lookups of many machines.
 *
 * @returns false: it did nothing, and the full RPC must answer; this includes reports and unusual requests.
 */
export function configChecks(deps: CheckDeps): (request: CheckRequest, reply: Reply) => boolean {
  const readers = new Map<string, ReadCheck>([
    [agentCheckPath, agentChecks(deps)],
    [serverCheckPath, serverChecks(deps)],
  ]);
  const read = ({ path, body, host, isSecure, address }: CheckRequest): NewCheck | undefined => {
    try {
      const cameBy = { host, isSecure };
      return readers.get(path)?.(body, { baseUrl: baseUrl(deps.addresses, cameBy), address, cameBy });
    } catch {
      return undefined;
    }
  };
  const replies = checkReplies(deps);
  const answerLater = heldReplies(deps, replies);
  const answerUncached = uncachedReplies(deps, replies, answerLater);
  return (request, reply) => {
    const claims = machineClaims(deps.tokens, request.authorization);
    const found = claims && read(request);
    if (!found || found.check.partId !== claims.subject) return false;
    const { check, isKnown } = found;
    const isTrusted = isProven(deps, request.authorization);
    if (isTrusted) {
      reply.proven?.(claims.subject);
      if (!replies.isWithinBudget(reply, claims.subject, request.path)) return true;
      found.note();
    }
    const present = isTrusted && isKnown && check.known !== '' ? check.now() : undefined;
    if (!present || present.fingerprint !== check.known) void answerUncached(reply, found, request, isTrusted);
    else if (check.waitMs > 0 && !present.isUrgent) answerLater(reply, check, request.path);
    else replies.unchanged(reply, check, present);
    return true;
  };
}
