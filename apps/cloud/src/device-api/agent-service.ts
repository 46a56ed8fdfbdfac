import { fromBinary } from '@bufbuild/protobuf';
import { durationMs } from '@bufbuild/protobuf/wkt';
import type { ConnectRouter } from '@connectrpc/connect';
import {
  AgentDeviceService,
  type DeviceAgentConfigRequest,
  DeviceAgentConfigResponseSchema,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { longestHoldMs, type Clock } from '@platform/kit';
import { callerOf } from '../access/caller.ts';
import type { Database } from '../database/database.ts';
import { askingPart } from '../machines/part-access.ts';
import type { PartRuns } from '../machines/part-runs.ts';
import type { RunCheck } from '../machines/rules/run-memory.ts';
import type { Presence } from '../machines/presence.ts';
import { runIdOf } from '../machines/store/part-runs.ts';
import { saveUninstalled } from '../machines/store/machines.ts';
import { productOf } from '../releases/rules/update-info.ts';
import { longPoll } from '../rpc/long-poll.ts';
import { baseUrlOf, cameByOf, clientAddressKey, type Addresses } from '../wire/base-url.ts';
import { type Ask, sameBytes, wholeBytes, type AgentAnswers } from './agent-answers.ts';
import type { PersonalAnswers } from './personal-answers.ts';
import type { ReportedHosts } from './reported-hosts.ts';
import { readPartSources } from './store/part-sources.ts';
import { type ConcurrencyLimiter, slotLost } from './concurrency-limiter.ts';

/** @param from - the URL of this server that the machine uses, and whether it may have the secrets. */
export function askOf(
  request: DeviceAgentConfigRequest,
  partId: string,
  from: { baseUrl: string; readsSecrets: boolean },
): Ask {
  const product = productOf(request.hostInfo?.tags ?? []);
  return {
    partId,
    product,
    platform: request.hostInfo?.platform ?? '',
    ...from,
    installed: product === 'platform' ? '' : (request.versionInfo?.agentInstalled ?? ''),
  };
}

/** What a check says of the run of its agent. */
export const runCheckOf = (request: DeviceAgentConfigRequest, partId: string, address: string): RunCheck => ({
  partId,
  runId: runIdOf(request.runId),
  uptimeMs: request.agentUptime && durationMs(request.agentUptime),
  isOther: productOf(request.hostInfo?.tags ?? []) !== 'platform',
  address,
});

async function isMigrating(db: Database, partId: string): Promise<boolean> {
  const [source] = await readPartSources(db, [partId]);
  return source?.isMigrating === true;
}

type AgentDeps = {
  db: Database;
  answers: AgentAnswers;
  presence: Presence;
  hosts: ReportedHosts;
  runs: PartRuns;
  personal: PersonalAnswers;
  waiting: { agents: ConcurrencyLimiter; servers: ConcurrencyLimiter };
  clock: Clock;
  stop: AbortSignal;
  addresses: Addresses;
};

export const agentRoutes =
  (deps: AgentDeps) =>
  (router: ConnectRouter): void => {
    const { db, answers, presence, hosts, runs, personal, waiting, clock } = deps;

    router.service(AgentDeviceService, {
      async deviceAgentConfig(request, context) {
        const { partId, readsSecrets } = await askingPart(db, callerOf(context), request.id);
        if (request.uninstalled) {
          await saveUninstalled(db, partId, clock.wall());
          return {};
        }
        if (request.asksMigration) return { migrationRequested: await isMigrating(db, partId) };
        const ask = askOf(request, partId, { baseUrl: baseUrlOf(deps, context), readsSecrets });
        // Refuses before the call changes anything.
        if (!readsSecrets) await answers.answer(ask);
        presence.touch(partId);
        const run = runCheckOf(request, partId, context.values.get(clientAddressKey));
        runs.noteCheck(run);
        await hosts.save(partId, request, cameByOf(context));
        // The status is that of the first computer of a shared part.
        const isSecond = run.isOther ? runs.isOtherSecond(partId) : runs.isSecond(partId, run.runId);
        if (request.report && !isSecond) presence.reported(partId);
        const { knownFingerprint, wait } = request;
        const isSame = (fingerprint: string): boolean => knownFingerprint !== '' && fingerprint === knownFingerprint;
        const answer = await longPoll({
          probe: () => answers.answer(ask),
          isNews: (found) => !isSame(found.fingerprint) || found.isRestartWanted || personal.isUrgent(found, run.runId),
          watch: (wake) => answers.watch(partId, wake),
          enter: (evict) => waiting.agents.take(partId, () => evict(slotLost())),
          waitMs: wait ? Math.min(durationMs(wait), longestHoldMs) : 0,
          clock,
          signal: AbortSignal.any([context.signal, deps.stop]),
        });
        presence.touch(partId);
        if (ask.product !== 'platform') hosts.sent(partId, answer.revision);
        const checkMs = presence.checkMs();
        if (!isSame(answer.fingerprint) && !isSecond) presence.sent(partId);
        const bytes = isSame(answer.fingerprint) ? sameBytes(answer, checkMs) : wholeBytes(answer, checkMs);
        const more = await personal.bytes(run, answer);
        return fromBinary(DeviceAgentConfigResponseSchema, Buffer.concat([bytes, more]));
      },
    });
  };
