import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { type ActingAgent, ineffectiveFields, ineffectiveTexts } from '@platform/contract/config-effect';
import {
  type AgentReportSchema,
  type MachineSchema,
  OnlineState,
  Severity,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Clock } from '@platform/kit';
import { versionProblems } from '../configs/version-problems.ts';
import type { JsonObject } from '../database/schema.ts';
import type { Presence } from '../machines/presence.ts';
import { hasOtherAgent, machineFacts, reportOf } from '../machines/rules/machine-facts.ts';
import { isUninstalled } from '../machines/rules/online.ts';
import { migrationCondition, otherAgentReport } from '../machines/rules/other-agent.ts';
import { isRestartWaiting } from '../machines/rules/restart-request.ts';
import type { PartRow } from '../machines/store/machines.ts';
import type { ReleaseCache } from '../releases/release-cache.ts';
import { parseDesiredVersion } from '../releases/rules/update-info.ts';

type ReportInit = MessageInitShape<typeof AgentReportSchema>;

const onlineStates = {
  online: OnlineState.ONLINE,
  offline: OnlineState.OFFLINE,
  'awaiting setup': OnlineState.AWAITING_SETUP,
} as const;

/** @param config - the newest one, which the server checks for problems; undefined: no check. */
export async function machineMessage(
  { presence, releases, clock }: { presence: Presence; releases: ReleaseCache; clock: Clock },
  part: PartRow,
  config?: JsonObject,
): Promise<MessageInitShape<typeof MachineSchema>> {
  const lastSeen = presence.lastSeen(part.id, part.lastSeen);
  const isGone = isUninstalled(part.uninstalledOn, lastSeen);
  const hasOther = hasOtherAgent(part);
  const { platform } = machineFacts(part);
  const problems = config ? await versionProblems(releases, config, platform, hasOther ? 'reference' : 'platform') : [];
  const left = reportOf(part);
  const report = hasOther && part.host ? otherAgentReport(part.host, left) : left;
  const moving =
    part.migrationRequestedOn !== null && part.host
      ? migrationCondition(part.host, await offeredVersion(releases, platform))
      : undefined;
  const isUnreported = (time: number | null): time is number =>
    time !== null && (part.reportedOn === null || part.reportedOn < time);
  return {
    id: part.machineId,
    name: part.machineName,
    organizationId: part.orgId,
    locationId: part.locationId,
    locationName: part.locationName,
    partId: part.id,
    createdOn: timestampFromMs(part.machineCreatedOn),
    onlineState: onlineStates[isGone ? 'offline' : presence.online(part.id, part.lastSeen)],
    ...(isGone && { uninstalledOn: timestampFromMs(part.uninstalledOn ?? 0) }),
    wantedRevision: BigInt(part.revision),
    ...(lastSeen !== undefined && { lastSeen: timestampFromMs(lastSeen) }),
    ...(report && { report }),
    ...(part.reportedOn !== null && { reportedOn: timestampFromMs(part.reportedOn) }),
    ...(isRestartWaiting(part.restartRequestedOn, clock.wall()) && {
      restartRequestedOn: timestampFromMs(part.restartRequestedOn),
    }),
    ...(part.migrationRequestedOn !== null && { migrationRequestedOn: timestampFromMs(part.migrationRequestedOn) }),
    hasOtherAgent: hasOther,
    conditions: [
      ...problems
        .filter(({ severity }) => severity !== 'note')
        .map(({ path, message, remedy, severity }) => ({
          code: severity === 'error' ? 'VERSION_NOT_ALLOWED' : 'VERSION_NOT_PUBLISHED',
          severity: severity === 'error' ? Severity.ERROR : Severity.WARNING,
          message: `${path} ${message}`,
          remedy,
        })),
      ...(config && report ? ineffectiveConditions(config, report, machineFacts(part).agent) : []),
      ...(moving ? [moving] : []),
    ],
    ...(isUnreported(part.quarantineClearedOn) && {
      quarantineClearedOn: timestampFromMs(part.quarantineClearedOn),
    }),
    ...(isUnreported(part.systemUpgradeRequestedOn) && {
      systemUpgradeRequestedOn: timestampFromMs(part.systemUpgradeRequestedOn),
    }),
  };
}

/**
 * Fields that have no effect on the machine and that its agent does not report. An older agent does not know newer
 * fields.
 */
function ineffectiveConditions(config: JsonObject, report: ReportInit, agent: ActingAgent | undefined) {
  if (!agent) return [];
  const named = new Set((report.slices ?? []).flatMap(({ ineffectivePaths = [] }) => ineffectivePaths));
  return ineffectiveTexts(ineffectiveFields(config, agent).filter(({ path }) => !named.has(path))).map((text) => ({
    code: 'NO_EFFECT_HERE',
    severity: Severity.WARNING,
    ...text,
  }));
}

/** Version of platform-agent to which a machine would migrate; undefined: none is published for its platform. */
export async function offeredVersion(
  releases: ReleaseCache,
  platform: string | undefined,
): Promise<string | undefined> {
  if (platform === undefined) return undefined;
  const found = await releases.resolve('platform-agent', parseDesiredVersion('stable'), platform);
  return found.is === 'release' ? found.release.version : undefined;
}

/** Versions that the machine has quarantined, for the audit log. */
export function quarantinedOf(part: PartRow): string[] {
  const report = reportOf(part);
  return [report?.agent, report?.server].flatMap((program) =>
    (program?.quarantined ?? []).map(({ version }) => version),
  );
}
