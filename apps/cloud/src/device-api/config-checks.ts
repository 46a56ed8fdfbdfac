import { codeToHttpStatus, errorToJsonBytes } from '@connectrpc/connect/protocol-connect';
import { PlatformError } from '@platform/contract/errors';
import type { Clock } from '@platform/kit';
import type { Log } from '@platform/kit';
import type { Authenticator } from '../access/authenticate.ts';
import type { CallerBudgets } from '../access/caller-budgets.ts';
import type { Identities } from '../access/identities.ts';
import type { Claims, Tokens } from '../access/tokens.ts';
import type { Presence } from '../machines/presence.ts';
import { baseUrl } from '../wire/base-url.ts';
import type { Addresses } from '../wire/base-url.ts';
import { type CheckRequest, type Reply, agentCheckPath, serverCheckPath } from '../wire/check.ts';
import { publicError, toConnectError } from '../wire/errors.ts';
import type { AgentAnswers } from './agent-answers.ts';
import { agentChecks } from './agent-check.ts';
import type { Check, NewCheck, Present, ReadCheck } from './check.ts';
import type { HeldCheck, HeldChecks } from './held-checks.ts';
import type { MachineConfigs } from './machine-configs.ts';
import type { ReportedHosts } from './reported-hosts.ts';
import { type Seats, tooManyWait } from './seats.ts';
import { serverChecks } from './server-check.ts';

type CheckDeps = {
  answers: AgentAnswers;
  budgets: CallerBudgets;
  configs: MachineConfigs;
  presence: Presence;
  hosts: ReportedHosts;
  waiting: { agents: Seats; servers: Seats };
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
const mostCold = 10_000;
/** Delay of a rejection. Without it, a rejection costs as much as a response, and the machine retries immediately. */
const refusalMs = 1_000;
const prefix = 'Bearer ';
/** Cache-Status (RFC 9211) shows which responses came from memory. */
const fromMemory = ['content-type', 'application/proto', 'cache-status', 'platform; hit'];
const fromDatabase = ['content-type', 'application/proto', 'cache-status', 'platform; fwd=miss'];

/**
 * Fast path of the machines' long polls for configuration changes. If everything is cached and unchanged, it answers
 * without the database. That costs a fifth of a full RPC. After a restart of the server, when every machine reconnects,
 * it batches the lookups of many machines.
 *
 * @returns false: it did nothing, and the full RPC must answer; this includes reports and unusual requests.
 */
export function configChecks(deps: CheckDeps): (request: CheckRequest, reply: Reply) => boolean {
  const { presence, clock, held, tokens, identities, budgets } = deps;
  const readers = new Map<string, ReadCheck>([
    [agentCheckPath, agentChecks(deps)],
    [serverCheckPath, serverChecks(deps.configs)],
  ]);
  const waitingFor = new Map<string, Seats>([
    [agentCheckPath, deps.waiting.agents],
    [serverCheckPath, deps.waiting.servers],
  ]);
  const cold = { count: 0 };

  /** The claims of a machine's own token. Tokens that this server did not sign cost no lookup. */
  const signedBy = (authorization: string): Claims | undefined => {
    const claims = tokens.signed(authorization.slice(prefix.length));
    return claims?.credentials === 'robot-secret' ? claims : undefined;
  };
  /** Whether the cache confirms that the token and its secret are valid. */
  const isProven = (authorization: string): boolean => {
    const claims = tokens.known(authorization.slice(prefix.length));
    return claims !== undefined && identities.known('part', claims.subject)?.proofs.has(claims.proof) === true;
  };
  const read = ({ path, body, host, isSecure }: CheckRequest): NewCheck | undefined => {
    try {
      return readers.get(path)?.(body, baseUrl(deps.addresses, { host, isSecure }));
    } catch {
      return undefined;
    }
  };
  const answerSame = (reply: Reply, check: Check, present: Present, head = fromMemory): void => {
    presence.touch(check.partId);
    reply.send(200, head, check.same(present));
  };
  const answerWhole = (reply: Reply, check: Check, present: Present): void => {
    presence.touch(check.partId);
    reply.send(200, fromDatabase, check.whole(present));
  };
  const fail = (reply: Reply, error: unknown, path: string): void => {
    if (reply.isGone) return;
    const found = toConnectError(publicError(error, deps.log, path.slice(1)));
    const headers = ['content-type', 'application/json', ...[...found.metadata].flat()];
    reply.send(codeToHttpStatus(found.code), headers, errorToJsonBytes(found, undefined));
  };
  /** @returns false: the machine is over its budget, and the rejection follows after a delay. */
  const isWithinBudget = (reply: Reply, partId: string, path: string): boolean => {
    const refusal = budgets.admitCheck(partId);
    if (!refusal) return true;
    void clock.sleep(refusalMs).then(() => fail(reply, refusal, path));
    return false;
  };
  /** Passes the current state to `use`. Looks again if something changed during the lookup. */
  const look = async (check: Check, use: (found: Present) => void): Promise<void> => {
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
  };
  /** Waits for a change or the end of the long poll, then sends the state, whole if it changed. */
  const answerLater = (reply: Reply, check: Check, path: string): void => {
    presence.touch(check.partId);
    /** @param isOver - respond now, changed or not. */
    const release = (isOver: boolean): void => {
      end();
      if (reply.isGone) return;
      const present = isOver ? check.now() : undefined;
      if (present?.fingerprint === check.known) answerSame(reply, check, present);
      else look(check, (found) => settle(found, isOver)).catch((error: unknown) => fail(reply, error, path));
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
      if (found.fingerprint !== check.known) return answerWhole(reply, check, found);
      if (isOver || found.isUrgent) return answerSame(reply, check, found);
      // The change does not affect this response.
      state.unwatch = check.watch(wake);
      held.hold(waiting);
    };
    const leave = waitingFor.get(path)?.take(check.partId, () => fail(reply, tooManyWait(), path));
    reply.onEnd(() => {
      presence.touch(check.partId); // the machine was connected until now
      end();
      leave?.();
    });
    held.hold(waiting);
  };
  /** Loads what is not cached, then answers. */
  const answerCold = async (
    reply: Reply,
    { check, save }: NewCheck,
    request: CheckRequest,
    isCharged: boolean,
  ): Promise<void> => {
    const { partId } = check;
    cold.count++;
    try {
      if (cold.count > mostCold)
        throw new PlatformError('TOO_MANY_REQUESTS', { limit: `${mostCold} machines are being looked up` });
      const caller = await deps.authenticator.bearer(request.authorization);
      reply.proven?.(caller.id);
      if (caller.id !== partId) throw new PlatformError('PART_NOT_FOUND', { partId });
      if (!isCharged && !isWithinBudget(reply, partId, request.path)) return;
      presence.touch(partId);
      await save();
      await look(check, (found) => {
        if (reply.isGone) return;
        if (check.known !== found.fingerprint) answerWhole(reply, check, found);
        else if (check.waitMs > 0 && !found.isUrgent) answerLater(reply, check, request.path);
        else answerSame(reply, check, found, fromDatabase);
      });
    } catch (error) {
      fail(reply, error, request.path);
    } finally {
      cold.count--;
    }
  };

  return (request, reply) => {
    const claims = signedBy(request.authorization);
    const found = claims && read(request);
    if (!found || found.check.partId !== claims.subject) return false;
    const { check, isKnown } = found;
    const isTrusted = isProven(request.authorization);
    if (isTrusted) {
      reply.proven?.(claims.subject);
      if (!isWithinBudget(reply, claims.subject, request.path)) return true;
    }
    const present = isTrusted && isKnown && check.known !== '' ? check.now() : undefined;
    if (!present || present.fingerprint !== check.known) void answerCold(reply, found, request, isTrusted);
    else if (check.waitMs > 0 && !present.isUrgent) answerLater(reply, check, request.path);
    else answerSame(reply, check, present);
    return true;
  };
}
