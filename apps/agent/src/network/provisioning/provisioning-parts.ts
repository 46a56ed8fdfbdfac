import type { Cell } from '@platform/kit';
import type { Network } from '../../os/network-port.ts';
import type { FileWatch } from '../../os/ports.ts';
import type { Credentials } from '../../state-machines/provisioning-state.ts';
import type { BluetoothEndpoint } from '../endpoints/bluetooth-endpoint.ts';
import type { CredentialsProblem } from '../views/credentials-problem.ts';
import type { ProvisioningEndpoints, SubmissionAnswer } from '../endpoints/provisioning-view.ts';
import type { NetworkSettings } from '../settings/network-settings.ts';
import type { NetworkStatus } from '../rows/network-status.ts';
import type { Fresh } from './prepared.ts';
import type { NetworkTrials } from '../profiles/refused-change.ts';
import type { Context } from '../../health/context.ts';

export interface ProvisioningParts extends Fresh, Pick<Context, 'isReached' | 'disk' | 'files' | 'clock' | 'log'> {
  network: Network;
  endpoints: ProvisioningEndpoints;
  bluetooth: BluetoothEndpoint;
  settings: Cell<NetworkSettings>;
  credentials: Cell<Credentials>;
  /** Why those that a user entered cannot be used. Absent: never reported. */
  credentialsProblem?: Cell<CredentialsProblem>;
  /** Takes the text of a credentials file that a user entered. */
  takeCredentials: (text: string) => Promise<SubmissionAnswer>;
  /** The set-up code that a user entered and that is not redeemed yet. Absent: never one. */
  pendingCode?: Cell<object | undefined>;
  /** Set while a change of the networks is tried under a checkpoint: what it cuts off is not lost. */
  isChanging: Cell<boolean>;
  /** Absent: no change is ever tried. */
  trials?: NetworkTrials;
  isOfflineByHotspot: Cell<boolean>;
  status: Cell<NetworkStatus | undefined>;
  /** Reboots the machine. @throws Error if it cannot */
  reboot: () => Promise<void>;
  /** Read again for each use: the machine may be renamed. */
  hostname: () => string;
  agentVersion: string;
  /** Reports changes in the folder of the file that starts provisioning; see forced.ts. */
  forceWatch: FileWatch;
}
