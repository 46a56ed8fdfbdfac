import type { State } from '../../state-machines/provisioning-state.ts';
import type { NetworkState, VisibleNetwork } from '../../os/network-port.ts';
import type { CredentialsProblem } from './credentials-problem.ts';
import { attemptText, knownFailure } from './attempt-words.ts';
import { linksOf } from '../checks/observation.ts';
import type { NetworkAttempt } from '../rows/network-status.ts';
import type { ProvisioningAttempt, ProvisioningView } from '../endpoints/provisioning-view.ts';
import type { NetworkSettings } from '../settings/network-settings.ts';

export interface ViewSource {
  settings: NetworkSettings;
  hostname: string;
  agentVersion: string;
  hasCredentials: boolean;
  credentialsProblem: CredentialsProblem;
  machine: State;
  network: NetworkState;
  /** See withNearby. */
  nearby: readonly VisibleNetwork[];
  /** The last network that a user entered; empty: none. */
  enteredSsid: string;
  /** Newest first; attempts of users and of the agent. */
  attempts: readonly NetworkAttempt[];
  hotspotSsid: string;
  wallOf: (monotonic: number) => number;
}

export function viewOf(of: ViewSource): ProvisioningView {
  const { settings, machine, network, nearby, hotspotSsid, credentialsProblem: problem } = of;
  const { config: network_configuration } = settings;
  const isTrying = machine.at === 'closing' || machine.at === 'joining' || machine.memory.pending !== null;
  const { onlineSince, lastEntered } = machine.memory;
  const isShown = lastEntered !== null && lastEntered.result !== 'ok';
  const known = onlineSince === null ? knownFailure(of.attempts, isShown ? of.enteredSsid : '') : undefined;
  const strongest = new Map<string, ProvisioningView['networks'][number]>();
  for (const { ssid, security, signalPercent } of nearby) {
    if (ssid === '' || ssid === hotspotSsid) continue;
    if ((strongest.get(ssid)?.signalPercent ?? -1) < signalPercent)
      strongest.set(ssid, { ssid, security, signalPercent });
  }
  return {
    manufacturer: network_configuration.manufacturer,
    model: network_configuration.model,
    fragmentId: network_configuration.fragment_id,
    hostname: of.hostname,
    agentVersion: of.agentVersion,
    hasCredentials: of.hasCredentials,
    isOnline: onlineSince !== null,
    at: isTrying ? 'trying' : machine.at === 'online' && of.hasCredentials ? 'done' : 'waiting',
    networks: [...strongest.values()].toSorted((a, b) => b.signalPercent - a.signalPercent),
    connectedTo: linksOf(network).find(({ type }) => type === 'wifi')?.ssid ?? '',
    lastAttempt: attemptOf(of),
    ...(known !== undefined && { knownFailure: known }),
    ...(problem.text !== '' && { credentialsProblem: problem.text }),
    ...(problem.hasUnproven && { hasUnprovenCredentials: true }),
  };
}

function attemptOf({ machine, enteredSsid, wallOf }: ViewSource): ProvisioningAttempt | null {
  const { pending, lastEntered } = machine.memory;
  if (enteredSsid === '') return null;
  if (pending?.profile) return { ssid: enteredSsid, result: 'trying', text: '', wall: wallOf(machine.since) };
  if (!lastEntered) return null;
  const { result, at } = lastEntered;
  return { ssid: enteredSsid, result, text: attemptText(result, enteredSsid), wall: wallOf(at) };
}
