import type { Cell, Clock, Log } from '@platform/kit';
import type { Network } from '../../os/network-port.ts';
import type { Disk, FileSystem, FileWatch } from '../../os/ports.ts';
import type { Credentials } from '../../state-machines/provisioning-state.ts';
import type { BluetoothEndpoint } from '../endpoints/bluetooth-endpoint.ts';
import type { CredentialsProblem } from '../views/credentials-problem.ts';
import type { ProvisioningEndpoints } from '../endpoints/endpoints-port.ts';
import type { NetworkSettings } from '../settings/network-settings.ts';
import type { NetworkStatus } from '../rows/network-status.ts';
import type { Fresh } from './prepared.ts';
import type { SubmissionAnswer } from '../endpoints/provisioning-view.ts';
import type { NetworkTrials } from '../profiles/refused-change.ts';

export interface ProvisioningParts extends Fresh {
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
  isReached: Cell<boolean>;
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
  disk: Disk;
  files: FileSystem;
  /** Reports changes in the folder of the file that starts provisioning; see forced.ts. */
  forceWatch: FileWatch;
  clock: Clock;
  log: Log;
}
