import { resolveAgentConfig } from '@platform/contract/config/agent-config';
import { Cell, createLog } from '@platform/kit';
import { FakeClock } from '@platform/kit/testing';
import type { ConditionSet } from '../src/health/condition-set.ts';
import type { Condition } from '../src/health/conditions.ts';
import type { Credentials } from '../src/state-machines/provisioning-state.ts';
import { keepAdditionalNetworks, type NetworksApplied } from '../src/network/profiles/additional-networks.ts';
import { followCredentialsProblem, noProblem } from '../src/network/views/credentials-problem.ts';
import { keepCountry, type CountryOutcome } from '../src/network/settings/country.ts';
import { keepRows } from '../src/network/rows/keep-rows.ts';
import type { BluetoothWanted } from '../src/network/endpoints/bluetooth-wanted.ts';
import type {
  EndpointHandlers,
  ProvisioningEndpoints,
  ProvisioningView,
} from '../src/network/endpoints/provisioning-view.ts';
import type { NetworkSettings } from '../src/network/settings/network-settings.ts';
import type { NetworkStatus } from '../src/network/rows/network-status.ts';
import { Provisioning } from '../src/network/provisioning/provisioning.ts';
import { networkTrials } from '../src/network/profiles/refused-change.ts';
import type { BluetoothState } from '../src/os/bluetooth-port.ts';
import { SimDevice } from '../src/os/sim/device.ts';
import { SimNetwork } from '../src/os/sim/network.ts';

export const minute = 60_000;

/** A simulated machine with its network; agents run on it in turn. */
export class NetworkWorld {
  readonly clock = new FakeClock();
  readonly machine = new SimDevice(this.clock);
  readonly network: SimNetwork;
  readonly settings = new Cell<NetworkSettings>(settingsFor({}));
  readonly credentials = new Cell<Credentials>('given');
  /** The credentials that have never worked. */
  readonly unproven = new Cell<object | undefined>(undefined);
  /** The set-up code that a user entered and that is not redeemed. */
  readonly pendingCode = new Cell<object | undefined>(undefined);
  readonly isReached = new Cell(false);
  readonly isChanging = new Cell(false);
  readonly isOfflineByHotspot = new Cell(false);
  readonly status = new Cell<NetworkStatus | undefined>(undefined);
  readonly applied = new Cell<NetworksApplied>({ revision: 0, configSha256: '', failure: undefined });
  readonly conditions: ConditionSet = new Cell<readonly Condition[]>([]);
  readonly transcript: string[] = [];
  reboots = 0;
  hostname = 'barn';
  canReboot = true;
  provisioning: Provisioning | undefined;
  /** What phones see; undefined: the endpoints are closed. */
  view: Cell<ProvisioningView> | undefined;
  /** What is wanted of Bluetooth, and whether there is an adapter. */
  readonly bluetooth = {
    wanted: new Cell<BluetoothWanted>({ is: 'off' }),
    state: new Cell<BluetoothState>({ is: 'impossible', reason: 'there is no adapter' }),
    handlers: undefined as EndpointHandlers | undefined,
    run: async ({ handlers }: { handlers: EndpointHandlers }, signal: AbortSignal): Promise<void> => {
      this.bluetooth.handlers = handlers;
      while (!signal.aborted) await this.bluetooth.wanted.changed(signal);
    },
  };
  /** Error with which the endpoints refuse to open. */
  endpointProblem = '';
  #handlers: EndpointHandlers | undefined;
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(radios?: readonly string[]) {
    this.network = new SimNetwork(this.clock, radios && { radios });
  }

  configure(agent: unknown): void {
    this.settings.set(settingsFor(agent, this.settings.get().revision + 1));
  }

  /** Starts an agent. */
  start(): void {
    const { device, clock } = this.machine.session();
    const log = createLog({
      name: 'network',
      clock,
      level: 'info',
      sink: ({ level, message, fields }) => this.transcript.push(`${level} ${message} ${JSON.stringify(fields)}`),
    });
    this.#stop = new AbortController();
    const credentialsProblem = noProblem();
    const isPrepared = new Cell(false);
    const contact = async () => (await this.network.checkConnectivity(this.#stop.signal)) === 'full';
    const inner = new Cell<NetworkStatus | undefined>(undefined);
    const trials = networkTrials({ network: this.network, disk: device.disk, clock, log });
    this.provisioning = new Provisioning({
      network: this.network,
      endpoints: this.#endpoints(),
      bluetooth: this.bluetooth,
      settings: this.settings,
      credentials: this.credentials,
      credentialsProblem,
      takeCredentials: async () => {
        if (this.credentials.get() === 'given')
          return { ok: false, code: 'OTHER_CREDENTIALS', text: 'This machine has other credentials.' };
        this.credentials.set('given');
        return { ok: true };
      },
      pendingCode: this.pendingCode,
      isReached: this.isReached,
      isPrepared,
      isChanging: this.isChanging,
      trials,
      isOfflineByHotspot: this.isOfflineByHotspot,
      status: inner,
      reboot: async () => {
        if (!this.canReboot) throw new Error('systemctl failed');
        this.reboots++;
      },
      hostname: () => this.hostname,
      agentVersion: '9.9.9',
      disk: device.disk,
      files: device.files,
      forceWatch: device.lines.follow('etc/force_provisioning_mode', clock),
      clock,
      log,
    });
    const networks = {
      network: this.network,
      settings: this.settings,
      applied: this.applied,
      mayChange: this.provisioning.mayChange,
      isChanging: this.isChanging,
      isReached: this.isReached,
      isPrepared,
      contact,
      conditions: this.conditions,
      trials,
      disk: device.disk,
      clock,
      log,
    };
    const { provisioning } = this;
    const outcome = new Cell<CountryOutcome | undefined>(undefined);
    const country = { ...networks, outcome, move: () => provisioning.moveHotspot() };
    const running = [
      provisioning.run(this.#stop.signal),
      keepAdditionalNetworks(networks, this.#stop.signal),
      keepCountry(country, this.#stop.signal),
      keepRows({ ...networks, inner, status: this.status, country: outcome }, this.#stop.signal),
      followCredentialsProblem(
        {
          problem: credentialsProblem,
          conditions: this.conditions,
          found: this.unproven,
          unproven: this.unproven,
          giveUp: (isUseless) => {
            if (this.unproven.get()) this.credentials.set(isUseless ? 'none' : 'given');
          },
          pendingCode: this.pendingCode,
          network: this.status,
          clock,
        },
        this.#stop.signal,
      ),
    ];
    this.#running = Promise.all(running).then(() => undefined);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.clock.advance(10_000);
    await this.#running;
  }

  /** The power fails and returns: what was not flushed is lost, and another agent starts. */
  async cutPower(): Promise<void> {
    this.machine.cutPower();
    this.network.cutPower();
    this.#stop.abort();
    this.#handlers = undefined;
    this.view = undefined;
    this.isChanging.set(false);
    this.machine.restore({ of: 'nothing' });
    await this.clock.advance(30_000);
    this.start();
  }

  /** Lets the time pass, in steps like those of a running machine. */
  async pass(minutes: number): Promise<void> {
    for (let at = 0; at < minutes * 60; at += 5) await this.clock.advance(5_000);
  }

  /** Lets the time pass until the work has ended. */
  async finished<T>(work: Promise<T>): Promise<T> {
    const over = new AbortController();
    const end = (): void => over.abort();
    work.then(end, end);
    while (!over.signal.aborted) await this.clock.advance(1_000);
    return work;
  }

  async until(isSo: () => boolean, minutes: number): Promise<boolean> {
    for (let at = 0; at < minutes * 60 && !isSo(); at++) await this.clock.advance(1_000);
    return isSo();
  }

  /** SSID that the machine is connected to; empty: none. */
  get joined(): string {
    return this.network.state.get().devices.find((d) => d.state === 'connected' && !d.isHotspot)?.ssid ?? '';
  }

  get hotspot(): string {
    return this.network.hotspot?.ssid ?? '';
  }

  /** A user at the portal enters a network. */
  async enter(ssid: string, psk: string, more: { isHidden?: boolean; credentials?: string } = {}): Promise<string> {
    if (!this.#handlers) return 'there is no endpoint';
    const { isHidden = false, credentials } = more;
    const submission = { wifi: { ssid, psk, isHidden }, ...(credentials !== undefined && { credentials }) };
    const answer = await this.#handlers.submit(submission);
    return answer.ok ? 'ok' : answer.text;
  }

  active(): void {
    this.#handlers?.active();
  }

  /** An app ends provisioning without having entered anything. */
  exit(): void {
    this.#handlers?.exit();
  }

  #endpoints(): ProvisioningEndpoints {
    return {
      serve: async ({ view, handlers, opened }, signal) => {
        if (this.endpointProblem !== '') throw new Error(this.endpointProblem);
        this.#handlers = handlers;
        this.view = view;
        opened();
        if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        this.#handlers = undefined;
        this.view = undefined;
      },
    };
  }
}

export function settingsFor(agent: unknown, revision = 1): NetworkSettings {
  const { config, networkPlaces } = resolveAgentConfig({ cloud: agent });
  const fields = Object.keys((agent as { network_configuration?: object }).network_configuration ?? {});
  return {
    revision,
    configSha256: '',
    isPreliminary: false,
    isKnown: revision > 0,
    isDisabled: config.advanced_settings.disable_network_configuration,
    config: config.network_configuration,
    additional: config.additional_networks,
    sources: {
      networks: networkPlaces,
      fields: Object.fromEntries(fields.map((key) => [key, `agent.network_configuration.${key}`])),
    },
  };
}
