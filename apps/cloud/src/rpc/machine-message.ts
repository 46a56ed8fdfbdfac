import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { type MachineSchema, OnlineState, Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { machineFacts, reportOf } from '../rules/machine-facts.ts';
import type { PartRow } from '../store/machines.ts';
import type { JsonObject } from '../store/schema.ts';
import { versionProblems } from '../version-problems.ts';
import type { Deps } from './routes.ts';

const onlineStates = {
  online: OnlineState.ONLINE,
  offline: OnlineState.OFFLINE,
  'awaiting setup': OnlineState.AWAITING_SETUP,
} as const;

/** @param config - the newest one, for what the server itself finds wrong with it; undefined: it is not looked at. */
export async function machineMessage(
  { presence, releases }: Pick<Deps, 'presence' | 'releases'>,
  part: PartRow,
  config?: JsonObject,
): Promise<MessageInitShape<typeof MachineSchema>> {
  const lastSeen = presence.lastSeen(part.id, part.lastSeen);
  const problems = config ? await versionProblems(releases, config, machineFacts(part).platform) : [];
  const report = reportOf(part);
  const isClearing =
    part.quarantineClearedOn !== null && (part.reportedOn === null || part.reportedOn < part.quarantineClearedOn);
  return {
    id: part.machineId,
    name: part.machineName,
    organizationId: part.orgId,
    locationId: part.locationId,
    locationName: part.locationName,
    partId: part.id,
    createdOn: timestampFromMs(part.machineCreatedOn),
    onlineState: onlineStates[presence.online(part.id, part.lastSeen)],
    wantedRevision: BigInt(part.revision),
    ...(lastSeen !== undefined && { lastSeen: timestampFromMs(lastSeen) }),
    ...(report && { report }),
    ...(part.reportedOn !== null && { reportedOn: timestampFromMs(part.reportedOn) }),
    ...(part.restartRequestedOn !== null && { restartRequestedOn: timestampFromMs(part.restartRequestedOn) }),
    conditions: problems
      .filter(({ severity }) => severity !== 'note')
      .map(({ path, message, remedy, severity }) => ({
        code: severity === 'error' ? 'VERSION_NOT_ALLOWED' : 'VERSION_NOT_PUBLISHED',
        severity: severity === 'error' ? Severity.ERROR : Severity.WARNING,
        message: `${path} ${message}`,
        remedy,
      })),
    ...(isClearing && { quarantineClearedOn: timestampFromMs(part.quarantineClearedOn ?? 0) }),
  };
}

/** Versions that the machine has given up, for the audit. */
export function quarantinedOf(part: PartRow): string[] {
  const report = reportOf(part);
  return [report?.agent, report?.server].flatMap((program) =>
    (program?.quarantined ?? []).map(({ version }) => version),
  );
}
