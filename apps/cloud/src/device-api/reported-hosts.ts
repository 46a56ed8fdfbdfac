import { toBinary } from '@bufbuild/protobuf';
import { LRUCache } from 'lru-cache';
import type { DeviceAgentConfigRequest } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { type AgentReport, AgentReportSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { batchLoader } from '../database/batch-loader.ts';
import { productOf } from '../releases/rules/update-info.ts';
import type { Database } from '../database/database.ts';
import { boundedReport } from './rules/reported-network.ts';
import { reportFacts } from '../machines/rules/report-facts.ts';
import { type NewSamples, saveSamples } from '../machines/store/samples.ts';
import { type NewReport, type PartSource, saveReports } from './store/part-sources.ts';
import type { JsonObject } from '../database/schema.ts';

/** Facts that machines report about their host with each check. Only changes are stored, and samples. */
export type ReportedHosts = {
  /** Whether the check's facts about its host are known, and it carries no samples. */
  isKnown(partId: string, request: DeviceAgentConfigRequest): boolean;
  save(partId: string, request: DeviceAgentConfigRequest): Promise<void>;
  /** Records the revision that the part was sent. Other products' agents report none: their next check confirms it. */
  sent(partId: string, revision: number): void;
};

/** @param sourceOf - reads the stored facts of a part. */
export function reportedHosts(
  db: Database,
  sourceOf: (partId: string) => Promise<PartSource | undefined>,
): ReportedHosts {
  const known = new LRUCache<string, string>({ max: 200_000 });
  // Interned, because most machines report the same text.
  const texts = new LRUCache<string, string>({ max: 2_000 });
  const write = batchLoader(async (reports: readonly NewReport[]): Promise<readonly void[]> => {
    await saveReports(db, reports);
    return reports.map(() => undefined);
  });
  const writeSamples = batchLoader(async (batches: readonly NewSamples[]): Promise<readonly void[]> => {
    await saveSamples(db, batches);
    return batches.map(() => undefined);
  });
  const revisions = new LRUCache<string, number>({ max: 200_000 });
  const hostOf = (partId: string, request: DeviceAgentConfigRequest): JsonObject => {
    const revision = isOther(request) ? revisions.get(partId) : undefined;
    return { ...factsOf(request), ...(revision !== undefined && { revision }) };
  };
  const textOf = (partId: string, request: DeviceAgentConfigRequest): string => {
    const text = JSON.stringify(hostOf(partId, request));
    const shared = texts.get(text);
    if (shared !== undefined) return shared;
    texts.set(text, text);
    return text;
  };
  return {
    isKnown: (partId, request) => !request.samples && known.get(partId) === textOf(partId, request),
    sent: (partId, revision) => void revisions.set(partId, revision),
    async save(partId, request) {
      const host = hostOf(partId, request);
      const text = textOf(partId, request);
      const before = known.get(partId);
      // After a restart of the server the cache is empty, but most facts are stored.
      const isNew = before === undefined ? !isSame((await sourceOf(partId))?.host ?? null, host) : before !== text;
      if (isNew || request.report) {
        await write({
          partId,
          host: isNew ? host : undefined,
          report: request.report && storedReport(boundedReport(request.report)),
        });
      }
      known.set(partId, text);
      if (request.samples) await writeSamples({ partId, batch: request.samples });
    },
  };
}

const storedReport = (report: AgentReport) => ({
  bytes: toBinary(AgentReportSchema, report),
  facts: reportFacts(report),
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
