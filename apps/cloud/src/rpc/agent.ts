import { create } from '@bufbuild/protobuf';
import { durationFromMs, durationMs } from '@bufbuild/protobuf/wkt';
import type { ConnectRouter } from '@connectrpc/connect';
import {
  AgentDeviceService,
  type DeviceAgentConfigRequest,
  DeviceAgentConfigResponseSchema,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import type { Ask } from '../agent-answers.ts';
import { callerOf } from '../auth/caller.ts';
import { productOf } from '../rules/update-info.ts';
import { baseUrlOf } from './base-url.ts';
import { ownPartId } from './part-access.ts';
import type { Deps } from './routes.ts';

/** A held check: short enough that a machine that went away is noticed. */
export const longestWaitMs = 25_000;

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
        const isSame = (fingerprint: string): boolean =>
          request.knownFingerprint !== '' && request.knownFingerprint === fingerprint;
        const waitMs = request.wait ? Math.min(durationMs(request.wait), longestWaitMs) : 0;
        const until = clock.now() + waitMs;
        for (;;) {
          const watched = answers.watch(partId);
          const done = new AbortController();
          try {
            const answer = await answers.answer(ask);
            const checkInterval = durationFromMs(presence.checkMs());
            const leftMs = until - clock.now();
            if (!isSame(answer.fingerprint)) return { ...answer, checkInterval };
            if (leftMs <= 0 || context.signal.aborted || deps.stop.aborted) {
              presence.touch(partId);
              return create(DeviceAgentConfigResponseSchema, {
                fingerprint: answer.fingerprint,
                notModified: true,
                checkInterval,
              });
            }
            await Promise.race([
              watched.changed,
              clock.sleep(leftMs, AbortSignal.any([done.signal, context.signal, deps.stop])),
            ]);
          } finally {
            done.abort();
            watched.close();
          }
        }
      },
    });
  };
