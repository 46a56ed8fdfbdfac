import { fromBinary } from '@bufbuild/protobuf';
import { durationMs } from '@bufbuild/protobuf/wkt';
import type { ConnectRouter } from '@connectrpc/connect';
import {
  AgentDeviceService,
  type DeviceAgentConfigRequest,
  DeviceAgentConfigResponseSchema,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { longestHoldMs } from '@platform/kit';
import type { Clock } from '@platform/kit';
import { callerOf } from '../access/caller.ts';
import type { Database } from '../database/database.ts';
import { ownPartId } from '../machines/part-access.ts';
import type { Presence } from '../machines/presence.ts';
import { saveUninstalled } from '../machines/store/machines.ts';
import { productOf } from '../releases/rules/update-info.ts';
import { longPoll } from '../rpc/long-poll.ts';
import { baseUrlOf } from '../wire/base-url.ts';
import type { Addresses } from '../wire/base-url.ts';
import { type Ask, sameBytes, wholeBytes } from './agent-answers.ts';
import type { AgentAnswers } from './agent-answers.ts';
import type { ReportedHosts } from './reported-hosts.ts';
import { type ConcurrencyLimiter, slotLost } from './concurrency-limiter.ts';

export function askOf(request: DeviceAgentConfigRequest, partId: string, baseUrl: string): Ask {
  const product = productOf(request.hostInfo?.tags ?? []);
  return {
    partId,
    product,
    platform: request.hostInfo?.platform ?? '',
    baseUrl,
    installed: product === 'platform' ? '' : (request.versionInfo?.agentInstalled ?? ''),
  };
}

type AgentDeps = {
  db: Database;
  answers: AgentAnswers;
  presence: Presence;
  hosts: ReportedHosts;
  waiting: { agents: ConcurrencyLimiter; servers: ConcurrencyLimiter };
  clock: Clock;
  stop: AbortSignal;
  addresses: Addresses;
};

export const agentRoutes =
  (deps: AgentDeps) =>
  (router: ConnectRouter): void => {
    const { db, answers, presence, hosts, waiting, clock } = deps;

    router.service(AgentDeviceService, {
      async deviceAgentConfig(request, context) {
        const partId = await ownPartId(db, callerOf(context), request.id);
        if (request.uninstalled) {
          await saveUninstalled(db, partId, clock.wall());
          return {};
        }
        presence.touch(partId);
        await hosts.save(partId, request);
        const ask = askOf(request, partId, baseUrlOf(deps, context));
        const { knownFingerprint, wait } = request;
        const isSame = (fingerprint: string): boolean => knownFingerprint !== '' && fingerprint === knownFingerprint;
        const answer = await longPoll({
          probe: () => answers.answer(ask),
          isNews: ({ fingerprint, isRestartWanted }) => !isSame(fingerprint) || isRestartWanted,
          watch: (wake) => answers.watch(partId, wake),
          enter: (evict) => waiting.agents.take(partId, () => evict(slotLost())),
          waitMs: wait ? Math.min(durationMs(wait), longestHoldMs) : 0,
          clock,
          signal: AbortSignal.any([context.signal, deps.stop]),
        });
        presence.touch(partId);
        if (ask.product !== 'platform') hosts.sent(partId, answer.revision);
        const checkMs = presence.checkMs();
        const bytes = isSame(answer.fingerprint) ? sameBytes(answer, checkMs) : wholeBytes(answer, checkMs);
        return fromBinary(DeviceAgentConfigResponseSchema, bytes);
      },
    });
  };
