import { toBinary } from '@bufbuild/protobuf';
import { durationMs } from '@bufbuild/protobuf/wkt';
import { LRUCache } from 'lru-cache';
import type { DeviceAgentConfigRequest } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { type AgentReport, AgentReportSchema, ServerState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { batchWriter } from '../database/batch-loader.ts';
import { dayWriter } from '../database/day-partitions.ts';
import { dayOf } from '../database/rules/days.ts';
import { ArrivalClock } from '../logs/arrival-clock.ts';
import { readLatestTime } from '../logs/store/latest-time.ts';
import { productOf } from '../releases/rules/update-info.ts';
import type { Clock } from '@platform/kit';
import type { Database } from '../database/database.ts';
import { storedStateOf } from '../machines/rules/part-orders.ts';
import type { PartRuns } from '../machines/part-runs.ts';
import { runIdOf } from '../machines/store/part-runs.ts';
import type { CameBy } from '../wire/base-url.ts';
import { boundedReport } from './rules/reported-network.ts';
import { reportFacts } from '../machines/rules/report-facts.ts';
import { type NewSamples, saveSamples } from '../machines/store/samples.ts';
import { type NewReport, type PartSource, saveReports } from './store/part-sources.ts';
import type { JsonObject } from '../database/schema.ts';

/** Facts of two computers that share a part are stored at most once in this time. */
const alternatingMs = 60_000;
const mostAddresses = 8;
const mostHostname = 253;

/** `before`: the text that it replaced. `isOther`: of another product's agent. */
type KnownHost = { text: string; before: string | undefined; at: number; isOther: boolean };

/** Facts that machines report about their host with each check. Only changes are stored, and samples. */
export type ReportedHosts = {
  /** Whether the check's facts about its host are known, and it carries no samples. */
  isKnown(partId: string, request: DeviceAgentConfigRequest, cameBy: CameBy): boolean;
  save(partId: string, request: DeviceAgentConfigRequest, cameBy: CameBy): Promise<void>;
  /** Records the revision that the part was sent. Other products' agents report none: their next check confirms it. */
  sent(partId: string, revision: number): void;
};

function sampleStore(
  db: Database,
  clock: Pick<Clock, 'now' | 'wall'>,
): (batches: readonly NewSamples[]) => Promise<void> {
  const arrivals = new ArrivalClock(clock, () => readLatestTime(db));
  const write = dayWriter(db, 'part_sample');
  return async (batches) => {
    const day = dayOf(await arrivals.now());
    await write([day], () => saveSamples(db, batches, day));
  };
}

/** @param sourceOf - reads the stored facts of a part. */
export function reportedHosts(
  db: Database,
  sourceOf: (partId: string) => Promise<PartSource | undefined>,
  {
    runs,
    clock,
  }: { runs: Pick<PartRuns, 'isSecond' | 'isOtherSecond' | 'noteReport'>; clock: Pick<Clock, 'now' | 'wall'> },
): ReportedHosts {
  const known = new LRUCache<string, KnownHost>({ max: 200_000 });
  // Most machines report the same text.
  const interned = interner(2_000);
  const write = batchWriter((reports: readonly NewReport[]) => saveReports(db, reports));
  const writeSamples = batchWriter(sampleStore(db, clock));
  const revisions = new LRUCache<string, number>({ max: 200_000 });
  const hostOf = (partId: string, request: DeviceAgentConfigRequest, { host, isSecure }: CameBy): JsonObject => {
    if (!isOther(request)) return factsOf(request);
    const revision = revisions.get(partId);
    const server_url = `${isSecure ? 'https' : 'http'}://${host}`;
    return { ...factsOf(request), server_url, ...(revision !== undefined && { revision }) };
  };
  const textOf = (partId: string, request: DeviceAgentConfigRequest, cameBy: CameBy): string =>
    interned(JSON.stringify(hostOf(partId, request, cameBy)));
  const isSecond = (partId: string, request: DeviceAgentConfigRequest): boolean =>
    isOther(request) ? runs.isOtherSecond(partId) : runs.isSecond(partId, runIdOf(request.runId));
  const isKnownText = (partId: string, text: string, request: DeviceAgentConfigRequest): boolean => {
    const found = known.get(partId);
    if (found?.text === text) return true;
    // An agent that is put back after a failed move is not a second computer.
    return found?.before === text && found.isOther === isOther(request) && clock.now() - found.at < alternatingMs;
  };
  const noteReport = (partId: string, { runId, report }: DeviceAgentConfigRequest): void => {
    if (report) runs.noteReport({ partId, runId: runIdOf(runId), ...placeOf(boundedReport(report)) });
  };
  return {
    isKnown: (partId, request, cameBy) =>
      !request.samples && (isSecond(partId, request) || isKnownText(partId, textOf(partId, request, cameBy), request)),
    sent: (partId, revision) => void revisions.set(partId, revision),
    async save(partId, request, cameBy) {
      if (request.samples) await writeSamples({ partId, batch: request.samples });
      // The status of a shared part is that of its first computer, and does not alternate.
      if (isSecond(partId, request)) return noteReport(partId, request);
      const host = hostOf(partId, request, cameBy);
      const text = interned(JSON.stringify(host));
      if (isKnownText(partId, text, request) && !request.report) return;
      const before = known.get(partId)?.text;
      // After a restart of the server the cache is empty, but most facts are stored.
      const isNew = before === undefined ? !isSame((await sourceOf(partId))?.host ?? null, host) : before !== text;
      if (isNew || request.report) {
        await write({
          partId,
          host: isNew ? host : undefined,
          report: request.report && storedReport(boundedReport(request.report)),
          run: request.runId.length === 16 ? request.runId : undefined,
        });
        noteReport(partId, request);
      }
      if (before !== text) known.set(partId, { text, before, at: clock.now(), isOther: isOther(request) });
    },
  };
}

/** Returns one copy of equal texts, for the most recently used ones. */
function interner(max: number): (text: string) => string {
  const texts = new LRUCache<string, string>({ max });
  return (text) => {
    const shared = texts.get(text);
    if (shared !== undefined) return shared;
    texts.set(text, text);
    return text;
  };
}

/** Where the computer is that sent a report. */
const placeOf = ({ hostname, network }: AgentReport) => ({
  hostname: hostname.slice(0, mostHostname),
  linkAddresses: (network?.links ?? []).flatMap(({ addresses }) => addresses).slice(0, mostAddresses),
});

const mostOrders = 10;
const longestReason = 600;

const storedReport = (report: AgentReport) => ({
  bytes: toBinary(AgentReportSchema, report),
  facts: reportFacts(report),
  systemUpgradesDone: Math.min(Number(report.systemUpgradesDone ?? 0n), Number.MAX_SAFE_INTEGER),
  orders: report.orders.slice(0, mostOrders).flatMap(({ id, state, reason }) => {
    const stored = storedStateOf(state);
    return stored ? [{ id, state: stored, reason: reason.slice(0, longestReason).toWellFormed() }] : [];
  }),
  serverStartedAgoMs:
    report.serverState === ServerState.RUNNING && report.server?.uptime ? durationMs(report.server.uptime) : undefined,
});

const isOther = ({ hostInfo }: DeviceAgentConfigRequest): boolean => productOf(hostInfo?.tags ?? []) !== 'platform';

/** Uptimes change constantly and are not stored. Our agent's report contains its installed versions. */
const factsOf = ({ hostInfo, versionInfo }: DeviceAgentConfigRequest): JsonObject => ({
  platform: hostInfo?.platform ?? '',
  distro: hostInfo?.distro ?? '',
  tags: hostInfo?.tags ?? [],
  agent_version: versionInfo?.agentRunning ?? '',
  server_version: versionInfo?.serverRunning ?? '',
  ...(productOf(hostInfo?.tags ?? []) !== 'platform' && {
    agent_installed: versionInfo?.agentInstalled ?? '',
    server_installed: versionInfo?.serverInstalled ?? '',
  }),
});

/** jsonb stores the members in its own order. */
const isSame = (stored: JsonObject | null, host: JsonObject): boolean =>
  stored !== null &&
  Object.entries(host).every(([key, value]) => JSON.stringify(stored[key]) === JSON.stringify(value));
