import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Problem } from '@platform/contract/config/config';
import { type ActingAgent, ineffectiveFields, ineffectiveTexts } from '@platform/contract/config/effect';
import {
  type AgentReport,
  type AgentReportSchema,
  type ConfigStatus,
  type MachineSchema,
  type PartOrderSchema,
  OnlineState,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { versionProblems } from '../configs/version-problems.ts';
import type { JsonObject } from '../database/schema.ts';
import { type ConfigFacts, deriveConfigStatus } from '../machines/rules/config-status.ts';
import { hasOtherAgent, machineFacts, reportOf } from '../machines/rules/machine-facts.ts';
import { isUninstalled } from '../machines/rules/online.ts';
import {
  migrationCondition,
  noReleaseCondition,
  type Offers,
  otherAgentReport,
} from '../machines/rules/other-agent.ts';
import { noticedCondition } from '../machines/rules/noticed-condition.ts';
import { repeatedLinesCondition } from '../machines/rules/repeated-lines.ts';
import { isRestartWaiting } from '../machines/rules/restart-request.ts';
import {
  bothAgentsCondition,
  type PartSharing,
  sharedIdentityMessage,
  sharingCondition,
} from '../machines/rules/shared-identity.ts';
import type { PartRow } from '../machines/store/machines.ts';
import type { FleetDeps } from './fleet-deps.ts';
import type { ReleaseCache } from '../releases/release-cache.ts';
import { desiredProgramsOf } from '../releases/rules/desired-programs.ts';
import { parseDesiredVersion, releaseName } from '../releases/rules/update-info.ts';

type ReportInit = MessageInitShape<typeof AgentReportSchema>;

const onlineStates = {
  online: OnlineState.ONLINE,
  offline: OnlineState.OFFLINE,
  'awaiting setup': OnlineState.AWAITING_SETUP,
} as const;

/** @param of - `config`: the newest one, which the server checks for problems; `sharing`: who shares it. */
export async function machineMessage(
  deps: Pick<FleetDeps, 'presence' | 'releases' | 'clock' | 'revisionOfContent'>,
  part: PartRow,
  {
    config,
    sharing,
    orders = [],
  }: {
    config?: JsonObject | undefined;
    sharing?: PartSharing | undefined;
    orders?: MessageInitShape<typeof PartOrderSchema>[];
  } = {},
): Promise<MessageInitShape<typeof MachineSchema>> {
  const { presence, releases, clock } = deps;
  const lastSeen = presence.lastSeen(part.id, part.lastSeen);
  const isGone = isUninstalled(part.uninstalledOn, lastSeen);
  const hasOther = hasOtherAgent(part);
  const { platform } = machineFacts(part);
  const problems = config ? await versionProblems(releases, config, platform, hasOther ? 'reference' : 'platform') : [];
  const left = reportOf(part);
  const offers = hasOther ? await offersOf(releases, config, platform) : undefined;
  const report = hasOther && part.host ? otherAgentReport(part.host, left, offers) : left;
  const moving = await movingCondition(releases, part, platform);
  return {
    id: part.machineId,
    name: part.machineName,
    organizationId: part.orgId,
    locationId: part.locationId,
    locationName: part.locationName,
    tags: part.tags,
    partId: part.id,
    createdOn: timestampFromMs(part.machineCreatedOn),
    onlineState: onlineStates[isGone ? 'offline' : presence.online(part.id, part.lastSeen)],
    ...(isGone && { uninstalledOn: timestampFromMs(part.uninstalledOn ?? 0) }),
    wantedRevision: BigInt(part.revision),
    configStatus: await configStatusOf(deps, part, left),
    ...(lastSeen !== undefined && { lastSeen: timestampFromMs(lastSeen) }),
    ...(report && { report }),
    ...(part.reportedOn !== null && { reportedOn: timestampFromMs(part.reportedOn) }),
    ...openRequests(part, clock.wall()),
    hasOtherAgent: hasOther,
    orders,
    ...(sharing?.computers && { sharedIdentity: sharedIdentityMessage(sharing.computers) }),
    conditions: [
      ...(sharing?.computers ? [sharingCondition(sharing.computers, part.machineName)] : []),
      ...(sharing?.bothAgents ? [bothAgentsCondition(sharing.bothAgents)] : []),
      ...(offers?.agent === '' && offers.server === '' ? [noReleaseCondition()] : []),
      ...versionConditions(problems),
      ...(config && report ? ineffectiveConditions(config, report, machineFacts(part).agent) : []),
      ...(moving ? [moving] : []),
      ...repeatedLinesCondition(part, clock.wall()),
    ],
  };
}

/** When owners requested what the machine has not done yet, as far as it has reported. @param now - ms since 1970. */
function openRequests(part: PartRow, now: number) {
  const isUnreported = (time: number | null): time is number =>
    time !== null && (part.reportedOn === null || part.reportedOn < time);
  return {
    ...(isRestartWaiting(part.restartRequestedOn, now) && {
      restartRequestedOn: timestampFromMs(part.restartRequestedOn),
    }),
    ...(part.migrationRequestedOn !== null && { migrationRequestedOn: timestampFromMs(part.migrationRequestedOn) }),
    ...(isUnreported(part.quarantineClearedOn) && {
      quarantineClearedOn: timestampFromMs(part.quarantineClearedOn),
    }),
    ...(isUnreported(part.systemUpgradeRequestedOn) && {
      systemUpgradeRequestedOn: timestampFromMs(part.systemUpgradeRequestedOn),
    }),
  };
}

/** The problems of the versions that the configuration names; notes are for its editor only. */
const versionConditions = (problems: readonly Problem[]) =>
  problems
    .filter(({ severity }) => severity !== 'note')
    .map(({ path, message: problem, remedy, severity }) =>
      noticedCondition(severity === 'error' ? 'VERSION_NOT_ALLOWED' : 'VERSION_NOT_PUBLISHED', {
        path,
        problem,
        remedy,
      }),
    );

/** What the other agent is offered: versions or pinned URLs; undefined: no configuration was read, as in lists. */
async function offersOf(
  releases: ReleaseCache,
  config: JsonObject | undefined,
  platform: string | undefined,
): Promise<Offers | undefined> {
  if (!config) return undefined;
  const [agent, server] = await Promise.all(
    desiredProgramsOf(config).map(async ({ program, desired, text }) => {
      const found = await releases.resolve(releaseName(program, 'reference'), desired, platform);
      return found.is === 'release' ? found.release.version : found.is === 'file' && !found.pin.problem ? text : '';
    }),
  );
  return { agent: agent ?? '', server: server ?? '' };
}

const movingCondition = async (releases: ReleaseCache, { migrationRequestedOn, host }: PartRow, platform?: string) =>
  migrationRequestedOn !== null && host
    ? migrationCondition(host, (await offeredRelease(releases, platform))?.version)
    : undefined;

async function configStatusOf(
  { presence, clock, revisionOfContent }: Pick<FleetDeps, 'presence' | 'clock' | 'revisionOfContent'>,
  part: PartRow,
  report: AgentReport | undefined,
): Promise<ConfigStatus> {
  const received = part.host?.['revision'];
  const facts: ConfigFacts = {
    saved:
      part.configSha256 && part.configSavedOn !== null
        ? { revision: part.revision, sha256: part.configSha256, savedOn: part.configSavedOn }
        : undefined,
    online: presence.online(part.id, part.lastSeen),
    isUninstalled: isUninstalled(part.uninstalledOn, presence.lastSeen(part.id, part.lastSeen)),
    isAwaitingReport: presence.isAwaitingReport(part.id),
    report,
    reportedOn: part.reportedOn ?? undefined,
    receivedByOther: hasOtherAgent(part) ? (typeof received === 'number' ? received : 0) : undefined,
    now: clock.wall(),
  };
  const { status, actingSha256 } = deriveConfigStatus(facts);
  if (!actingSha256) return status;
  // If two revisions have the same content, the newest is named.
  status.actingRevision = BigInt(await revisionOfContent({ partId: part.id, sha256: actingSha256 }));
  return status;
}

/**
 * Fields that have no effect on the machine and that its agent does not report. An older agent does not know newer
 * fields.
 */
function ineffectiveConditions(config: JsonObject, report: ReportInit, agent: ActingAgent | undefined) {
  if (!agent) return [];
  const named = new Set((report.slices ?? []).flatMap(({ ineffectivePaths = [] }) => ineffectivePaths));
  return ineffectiveTexts(ineffectiveFields(config, agent).filter(({ path }) => !named.has(path))).map(
    ({ path, message: problem, remedy }) => ({ ...noticedCondition('NO_EFFECT_HERE', { problem, remedy }), path }),
  );
}

/** The platform-agent to which a machine would migrate; undefined: none is published for its platform. */
export async function offeredRelease(releases: ReleaseCache, platform: string | undefined) {
  if (platform === undefined) return undefined;
  const found = await releases.resolve('platform-agent', parseDesiredVersion('stable'), platform);
  return found.is === 'release' ? found.release : undefined;
}

/** Versions that the machine has quarantined, for the audit log. */
export function quarantinedOf(part: PartRow): string[] {
  const report = reportOf(part);
  return [report?.agent, report?.server].flatMap((program) =>
    (program?.quarantined ?? []).map(({ version }) => version),
  );
}
