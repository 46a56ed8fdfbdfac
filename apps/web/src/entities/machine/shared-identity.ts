import type { SharedIdentity, SharingRun } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { msOf } from '../../ui/times.ts';

/** A computer that uses the credentials of a machine. */
export interface ComputerView {
  name: string;
  /** Its addresses, the one from which it checks in first; empty: not known. */
  addresses: string;
  firstSeen: number | undefined;
  lastSeen: number | undefined;
}

export interface SharingView {
  /** The computer that stays this machine. Its status is shown while it checks in. */
  kept: ComputerView;
  /** The computer that appeared last: a split makes it a machine of its own. */
  last: ComputerView;
  /** How many more there are. */
  more: number;
  /** Name of the machine that `last` becomes when it checks in; empty: no split was requested. */
  splitName: string;
  splitMachineId: string;
}

export const sharedIdentityCode = 'IDENTITY_SHARED';

const computerView = ({ hostname, address, linkAddresses, firstSeen, lastSeen }: SharingRun): ComputerView => ({
  name: hostname || 'Host name not reported',
  addresses: [...new Set([address, ...linkAddresses.map((one) => one.split('/')[0] ?? '')])].filter(Boolean).join(', '),
  firstSeen: msOf(firstSeen),
  lastSeen: msOf(lastSeen),
});

export function sharingView(shared: SharedIdentity | undefined): SharingView | undefined {
  const [first, ...others] = shared?.runs ?? [];
  const last = others.at(-1);
  if (!first || !last) return undefined;
  return {
    kept: computerView(first),
    last: computerView(last),
    more: others.length - 1,
    splitName: shared?.splitMachineName ?? '',
    splitMachineId: shared?.splitMachineId ?? '',
  };
}
