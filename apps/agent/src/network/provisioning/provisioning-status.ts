import { Cell, setIfDifferent } from '@platform/kit';
import { moves } from '../../state-machines/provisioning-moves.ts';
import type { State } from '../../state-machines/provisioning-state.ts';
import type { VisibleNetwork } from '../../os/network-port.ts';
import type { AppliedSettings } from '../profiles/applied-settings.ts';
import { bluetoothWanted } from '../endpoints/bluetooth-wanted.ts';
import { noProblem } from '../views/credentials-problem.ts';
import { ConnectionHistory } from '../rows/connection-history.ts';
import { withNearby } from '../hotspot/scans.ts';
import { hotspotSsid } from '../settings/network-settings.ts';
import type { NetworkAttempt } from '../rows/network-status.ts';
import { radioOf } from '../checks/observation.ts';
import type { ProvisioningParts } from './provisioning-parts.ts';
import type { ProvisioningView } from '../endpoints/provisioning-view.ts';
import { statusOf } from '../views/status-of.ts';
import { viewOf } from '../views/view-of.ts';

const mostAttempts = 10;

/** What others see of the network: the status for reports, and the view for the hotspot's page and Bluetooth. */
export class ProvisioningStatus {
  readonly #parts: ProvisioningParts;
  readonly #handedOver: () => AppliedSettings['handedOver'];
  readonly view: Cell<ProvisioningView>;
  /** The state that the state machine has now. */
  state: State;
  enteredSsid = '';
  /** The name of the hotspot that was started last; empty: Bluetooth only. */
  ssidOnAir = '';
  #sinceWall: number;
  #nearby: readonly VisibleNetwork[] = [];
  #attempts: readonly NetworkAttempt[] = [];
  readonly #links = new ConnectionHistory();
  /** The radio that was used last; empty: none yet. */
  #lastRadio = '';

  constructor(parts: ProvisioningParts, state: State, handedOver: () => AppliedSettings['handedOver']) {
    this.#parts = parts;
    this.state = state;
    this.#handedOver = handedOver;
    this.#sinceWall = parts.clock.wall();
    this.view = new Cell(this.#viewNow());
  }

  /** The state machine has another state. */
  moveTo(state: State): void {
    const { clock, log } = this.#parts;
    const before = this.state;
    this.state = state;
    if (state.at === before.at) return;
    this.#sinceWall = clock.wall();
    const because = state.by === null ? 'start' : moves[state.by].because;
    log.info('network state', { from: before.at, to: state.at, because });
  }

  note(attempt: NetworkAttempt): void {
    this.#attempts = [attempt, ...this.#attempts].slice(0, mostAttempts);
  }

  hasSeenNearby(radio: string): boolean {
    return this.#nearby.some((one) => one.interface === radio);
  }

  /** Interface of the radio; empty: there is none. */
  radio(): string {
    const { network, settings } = this.#parts;
    const { config: network_configuration } = settings.get();
    return radioOf(network.state.get(), network_configuration.hotspot_interface);
  }

  ssidOf(uuid: string): string {
    const profile = this.#parts.network.state.get().profiles.find((one) => one.uuid === uuid);
    return profile?.ssid || profile?.name || 'a network that is gone';
  }

  /** Empty: the hotspot is turned off. */
  hotspotSsid(): string {
    const settings = this.#parts.settings.get();
    return settings.config.disable_wifi_provisioning ? '' : hotspotSsid(settings, this.#parts.hostname()).ssid;
  }

  /** Publishes what has changed. */
  refresh(): void {
    const { network, bluetooth, isReached, settings, hostname, status, clock } = this.#parts;
    setIfDifferent(bluetooth.wanted, bluetoothWanted(this.state, settings.get(), hostname()));
    this.#lastRadio = this.radio() || this.#lastRadio;
    const next = statusOf({
      machine: this.state,
      network: network.state.get(),
      links: this.#links.note(network.state.get(), this.#attempts, clock.wall()),
      isCloudReached: isReached.get(),
      hotspotSsid: this.ssidOnAir,
      radio: { used: this.radio(), expected: settings.get().config.hotspot_interface || this.#lastRadio },
      attempts: this.#attempts,
      handedOver: this.#handedOver(),
      sinceWall: this.#sinceWall,
      now: clock.now(),
      wall: clock.wall(),
    });
    setIfDifferent(status, next);
    setIfDifferent(this.view, this.#viewNow());
  }

  #viewNow(): ProvisioningView {
    const { network, settings, credentials, credentialsProblem, hostname, agentVersion, clock } = this.#parts;
    this.#nearby = withNearby(this.#nearby, network.state.get().visible, clock.now());
    return viewOf({
      settings: settings.get(),
      hostname: hostname(),
      agentVersion,
      hasCredentials: credentials.get() === 'given',
      credentialsProblem: (credentialsProblem ?? noProblem()).get(),
      machine: this.state,
      network: network.state.get(),
      nearby: this.#nearby,
      enteredSsid: this.enteredSsid,
      attempts: this.#attempts,
      hotspotSsid: this.ssidOnAir || hotspotSsid(settings.get(), hostname()).ssid,
      wallOf: (monotonic) => clock.wall() - (clock.now() - monotonic),
    });
  }
}
