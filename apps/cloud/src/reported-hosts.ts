import { toBinary } from '@bufbuild/protobuf';
import { LRUCache } from 'lru-cache';
import type { DeviceAgentConfigRequest } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { AgentReportSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Database } from './store/database.ts';
import { saveReport } from './store/machines.ts';
import type { JsonObject } from './store/schema.ts';

/** What machines say of themselves with each check; stored when it is new. */
export type ReportedHosts = {
  /** Does the check tell nothing new about its host? */
  isKnown(partId: string, request: DeviceAgentConfigRequest): boolean;
  save(partId: string, request: DeviceAgentConfigRequest): Promise<void>;
};

export function reportedHosts(db: Database): ReportedHosts {
  const known = new LRUCache<string, string>({ max: 200_000 });
  return {
    isKnown: (partId, request) => known.get(partId) === hostText(request),
    async save(partId, request) {
      const text = hostText(request);
      const isNew = known.get(partId) !== text;
      if (!isNew && !request.report) return;
      await saveReport(db, partId, {
        ...(isNew && { host: hostOf(request) }),
        ...(request.report && { report: toBinary(AgentReportSchema, request.report) }),
      });
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

const hostText = ({ hostInfo, versionInfo }: DeviceAgentConfigRequest): string =>
  `${hostInfo?.platform}\n${hostInfo?.distro}\n${hostInfo?.tags.join()}\n${versionInfo?.agentRunning}\n${versionInfo?.serverRunning}`;
