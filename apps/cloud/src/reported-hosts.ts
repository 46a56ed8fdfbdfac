import { toBinary } from '@bufbuild/protobuf';
import { LRUCache } from 'lru-cache';
import type { DeviceAgentConfigRequest } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { AgentReportSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { gathered } from './gathered.ts';
import type { Database } from './store/database.ts';
import { type NewReport, type PartSource, saveReports } from './store/part-sources.ts';
import type { JsonObject } from './store/schema.ts';

/** What machines say of themselves with each check; stored when it is new. */
export type ReportedHosts = {
  /** Does the check tell nothing new about its host? */
  isKnown(partId: string, request: DeviceAgentConfigRequest): boolean;
  save(partId: string, request: DeviceAgentConfigRequest): Promise<void>;
};

/** @param sourceOf - what is stored of a part. */
export function reportedHosts(
  db: Database,
  sourceOf: (partId: string) => Promise<PartSource | undefined>,
): ReportedHosts {
  const known = new LRUCache<string, string>({ max: 200_000 });
  // Most machines say the same of themselves: each text is kept once.
  const texts = new LRUCache<string, string>({ max: 2_000 });
  const write = gathered(async (reports: readonly NewReport[]): Promise<readonly void[]> => {
    await saveReports(db, reports);
    return reports.map(() => undefined);
  });
  const textOf = (request: DeviceAgentConfigRequest): string => {
    const text = JSON.stringify(hostOf(request));
    const shared = texts.get(text);
    if (shared !== undefined) return shared;
    texts.set(text, text);
    return text;
  };
  return {
    isKnown: (partId, request) => known.get(partId) === textOf(request),
    async save(partId, request) {
      const text = textOf(request);
      const before = known.get(partId);
      // After a start nothing is known, but most of it is stored.
      const isNew =
        before === undefined ? !isSame((await sourceOf(partId))?.host ?? null, hostOf(request)) : before !== text;
      if (isNew || request.report) {
        await write({
          partId,
          host: isNew ? hostOf(request) : undefined,
          report: request.report && toBinary(AgentReportSchema, request.report),
        });
      }
      known.set(partId, text);
    },
  };
}

/** Uptimes change all the time and are not kept. */
const hostOf = ({ hostInfo, versionInfo }: DeviceAgentConfigRequest): JsonObject => ({
  platform: hostInfo?.platform ?? '',
  distro: hostInfo?.distro ?? '',
  tags: hostInfo?.tags ?? [],
  agent_version: versionInfo?.agentRunning ?? '',
  server_version: versionInfo?.serverRunning ?? '',
});

/** The database keeps the members in an order of its own. */
const isSame = (stored: JsonObject | null, host: JsonObject): boolean =>
  stored !== null &&
  Object.entries(host).every(([key, value]) => JSON.stringify(stored[key]) === JSON.stringify(value));
