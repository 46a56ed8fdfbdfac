import { durationFromMs, durationMs } from '@bufbuild/protobuf/wkt';
import type { ConnectRouter } from '@connectrpc/connect';
import { LRUCache } from 'lru-cache';
import { PlatformError } from '@platform/contract/errors/errors';
import { logLimits } from '@platform/contract/logs/limits';
import { type ConfigRequest, type RobotConfig, RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { longestHoldMs, type Clock } from '@platform/kit';
import type { CallerBudgets } from '../access/caller-budgets.ts';
import { callerOf } from '../access/caller.ts';
import type { Changes } from '../database/changes.ts';
import type { Database } from '../database/database.ts';
import { batchLoader } from '../database/batch-loader.ts';
import { newLogRow } from '../logs/log-entries.ts';
import { charactersOf, type LogWriter } from '../logs/log-writer.ts';
import { ownPart, ownPartId } from '../machines/part-access.ts';
import type { Presence } from '../machines/presence.ts';
import { restartInterval } from '../machines/rules/online.ts';
import { noteRestartsTaken } from '../machines/store/part-orders.ts';
import { type PartRow, takeRestarts } from '../machines/store/machines.ts';
import { longPoll } from '../rpc/long-poll.ts';
import { unsupported } from '../rpc/unsupported.ts';
import { baseUrlOf, type Addresses } from '../wire/base-url.ts';
import type { AgentAnswers } from './agent-answers.ts';
import type { ConfigAsk, MachineConfigs } from './machine-configs.ts';
import { type ConcurrencyLimiter, slotLost } from './concurrency-limiter.ts';
import { type DesiredViews, newViews, viewsField, type ViewRequests } from './view-requests.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

const wokenRestartMs = 120_000;

type RobotDeps = {
  db: Database;
  presence: Presence;
  answers: AgentAnswers;
  configs: MachineConfigs;
  live: ViewRequests;
  logs: LogWriter;
  budgets: CallerBudgets;
  waiting: { agents: ConcurrencyLimiter; servers: ConcurrencyLimiter };
  changes: Changes;
  clock: Clock;
  stop: AbortSignal;
  addresses: Addresses;
};

export const robotRoutes =
  (deps: RobotDeps) =>
  (router: ConnectRouter): void => {
    const { db, presence, answers, configs, live, logs, budgets, waiting, changes, clock } = deps;
    const takeRestart = requestedRestarts(db, changes);

    router.service(RobotService, {
      async config(request, context) {
        const { id, knownRevision, knownViews, wait } = request;
        const part = await ownPart(db, callerOf(context), id);
        presence.touch(part.id);
        live.noteCheck(part.id, knownViews !== undefined);
        const ask = { partId: part.id, baseUrl: baseUrlOf(deps, context) };
        const waitMs = wait && knownRevision !== '' ? Math.min(durationMs(wait), longestHoldMs) : 0;
        const { config, views } = await longPoll({
          // Re-read the part: the long poll may have waited 55 s.
          ...configNews(deps, request, { ask, part: waitMs > 0 ? undefined : part }),
          watch: (wake) => configs.watch(part.id, wake),
          enter: (evict) => waiting.servers.take(part.id, () => evict(slotLost())),
          waitMs,
          clock,
          signal: AbortSignal.any([context.signal, deps.stop]),
        });
        presence.touch(part.id);
        const isKnown = config.revision === knownRevision;
        return { ...(isKnown ? { notModified: true } : { config }), ...viewsField(views) };
      },
      certificate: unsupported('certificates for machines'),
      async needsRestart({ id }, context) {
        const part = await ownPartId(db, callerOf(context), id);
        presence.touch(part);
        const answer = {
          id,
          mustRestart: false,
          // A machine with a held check is notified of a requested restart, so it can poll less often.
          restartCheckInterval: durationFromMs(
            answers.isWatched(part) ? wokenRestartMs : restartInterval(presence.checkMs()),
          ),
        };
        const taken = await takeRestart(part);
        if (taken === undefined) return answer;
        return { ...answer, mustRestart: true, requestedAgo: durationFromMs(Math.round(taken.agoMs)) };
      },
      async log({ id, logs: entries }, context) {
        const caller = callerOf(context);
        // Machines log constantly: the claims of their token suffice.
        const partId = await ownPartId(db, caller, id);
        if (entries.length > logLimits.linesPerCall) {
          logs.refused(entries.length);
          throw tooManyLines(entries.length);
        }
        presence.touch(partId);
        const now = clock.wall();
        const rows = entries.map((entry) => newLogRow(entry, partId, now));
        budgets.chargeLines(caller, rows.length, charactersOf(rows));
        await logs.write(partId, rows);
        return {};
      },
    });
  };

/** What a check of a machine server reads, and whether it ends the long poll. */
const configNews = (
  { configs, live }: RobotDeps,
  { knownRevision, knownViews }: ConfigRequest,
  { ask, part }: { ask: ConfigAsk; part: PartRow | undefined },
) => ({
  probe: async () => ({
    config: await configs.answer(ask, part),
    views: newViews(live.desired(ask.partId), knownViews),
  }),
  isNews: (found: { config: RobotConfig; views: DesiredViews | undefined }): boolean =>
    found.config.revision !== knownRevision || found.views !== undefined,
});

const tooManyLines = (count: number): PlatformError =>
  invalidArgument('logs', `${count} lines`, `at most ${logLimits.linesPerCall} a call`);

/** @returns takes the requested restart of a part; undefined: none is requested, or the request expired. */
function requestedRestarts(db: Database, changes: Changes): (partId: string) => Promise<{ agoMs: number } | undefined> {
  /** Parts without a requested restart: their machines poll every few seconds. */
  const withoutRequest = new LRUCache<string, true>({ max: 200_000 });
  const takeOne = batchLoader((partIds: readonly string[]) =>
    db.transaction().execute(async (trx) => {
      const taken = await takeRestarts(trx, partIds);
      await noteRestartsTaken(
        trx,
        partIds.filter((_, at) => typeof taken[at] === 'object'),
      );
      return taken;
    }),
  );
  const epoch = { count: 0 };
  changes.subscribe((kind, key) => {
    if (kind !== undefined && kind !== 'part' && kind !== 'restart') return;
    epoch.count++;
    if (key === undefined) withoutRequest.clear();
    else withoutRequest.delete(key);
  });
  return async (partId) => {
    if (withoutRequest.has(partId)) return undefined;
    const before = epoch.count;
    const taken = await takeOne(partId);
    if (taken !== undefined) changes.notify('restart', partId);
    else if (epoch.count === before) withoutRequest.set(partId, true);
    return taken === 'expired' ? undefined : taken;
  };
}
