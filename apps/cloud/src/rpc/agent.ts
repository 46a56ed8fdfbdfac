import { fromBinary } from '@bufbuild/protobuf';
import { durationMs } from '@bufbuild/protobuf/wkt';
import type { ConnectRouter } from '@connectrpc/connect';
import {
  AgentDeviceService,
  type DeviceAgentConfigRequest,
  DeviceAgentConfigResponseSchema,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { type Ask, sameBytes, wholeBytes } from '../agent-answers.ts';
import { callerOf } from '../auth/caller.ts';
import { productOf } from '../rules/update-info.ts';
import { baseUrlOf } from './base-url.ts';
import { ownPartId } from './part-access.ts';
import type { Deps } from './routes.ts';

/** A held check: short enough that a machine that went away is noticed. */
export const longestWaitMs = 50_000;

export const askOf = (request: DeviceAgentConfigRequest, partId: string, baseUrl: string): Ask => ({
  partId,
  product: productOf(request.hostInfo?.tags ?? []),
  platform: request.hostInfo?.platform ?? '',
  baseUrl,
});

export const agentRoutes =
  (deps: Deps) =>
  (router: ConnectRouter): void => {
    const { db, answers, presence, hosts, clock } = deps;

    router.service(AgentDeviceService, {
      async deviceAgentConfig(request, context) {
        const partId = await ownPartId(db, callerOf(context), request.id);
        presence.touch(partId);
        await hosts.save(partId, request);
        const ask = askOf(request, partId, baseUrlOf(deps, context));
        const waitMs = request.wait ? Math.min(durationMs(request.wait), longestWaitMs) : 0;
        const until = { ms: clock.now() + waitMs };
        for (;;) {
          const woken = Promise.withResolvers<boolean>();
          const unwatch = answers.watch(partId, woken.resolve);
          const done = new AbortController();
          try {
            const answer = await answers.answer(ask);
            const isSame = request.knownFingerprint !== '' && request.knownFingerprint === answer.fingerprint;
            const leftMs = until.ms - clock.now();
            if (!isSame) return fromBinary(DeviceAgentConfigResponseSchema, wholeBytes(answer, presence.checkMs()));
            if (leftMs <= 0 || context.signal.aborted || deps.stop.aborted) {
              presence.touch(partId);
              return fromBinary(DeviceAgentConfigResponseSchema, sameBytes(answer.fingerprint, presence.checkMs()));
            }
            const isRestart = await Promise.race([
              woken.promise,
              clock.sleep(leftMs, AbortSignal.any([done.signal, context.signal, deps.stop])).then(() => false),
            ]);
            // Answered before its time and without news: the agent asks whether a restart is wanted.
            if (isRestart) until.ms = clock.now();
          } finally {
            done.abort();
            unwatch();
          }
        }
      },
    });
  };
