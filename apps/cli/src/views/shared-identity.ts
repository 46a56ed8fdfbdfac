import type { SharedIdentity, SharingRun } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { isoTime, printable } from '../output.ts';

/** One of the computers that use the credentials of a machine. */
export const sharingRunJson = (run: SharingRun | undefined): Record<string, unknown> | null =>
  run
    ? {
        hostname: run.hostname,
        address: run.address,
        link_addresses: run.linkAddresses,
        first_seen: isoTime(run.firstSeen),
        last_seen: isoTime(run.lastSeen),
      }
    : null;

export const sharedIdentityJson = (shared: SharedIdentity | undefined): Record<string, unknown> | null =>
  shared
    ? {
        runs: shared.runs.map(sharingRunJson),
        since: isoTime(shared.since),
        split_machine_id: shared.splitMachineId,
        split_machine_name: shared.splitMachineName,
      }
    : null;

/** "twin-b (192.0.2.7)". */
export const sharingRunText = (run: SharingRun | undefined): string => {
  const name = run?.hostname || 'A computer that has not reported its host name';
  return printable(run?.address ? `${name} (${run.address})` : name);
};
