import { Cell, type Clock } from '@platform/kit';
import type { RestoredFile } from '../managed-files.ts';
import type {
  Checkpoint,
  Connectivity,
  Hotspot,
  HotspotResult,
  JoinFailure,
  JoinResult,
  Network,
  NetworkState,
  NewProfile,
} from '../network-port.ts';
import { joinMs, SimNetworkManager } from './network-manager.ts';
import {
  connectivityOf,
  deviceFor,
  failureOf,
  simAccessPoint,
  type SimAccessPoint,
  type SimCable,
} from './network-world.ts';

const wrongPasswordMs = 10_000;
const notFoundMs = 5_000;
const scanMs = 2_000;
/** Until the kernel writes a new file to the disk. */
const flushMs = 30_000;
const countryMs = 200;
/** The end of a checkpoint. */
const checkpointMs = 1_000;

/** The network of a simulated machine, with the access points and cables around it. */
export class SimNetwork implements Network {
  readonly state: Cell<NetworkState>;
  /** Every name that the last hotspot answered led to the device. */
  isRedirecting = false;
  powerSave: boolean | null = null;
  /** Files of the operating system that the agent wrote. */
  readonly files = new Set<string>();
  /** Whose rules the radios obey. */
  country = '00';
  /** Countries whose rules the kernel does not know. */
  unknownCountries: readonly string[] = [];
  /** Countries that forbid the channel of the hotspot. */
  forbidding: readonly string[] = [];
  /** Clients that are connected to the hotspot. */
  clients = 0;
  /** Why the hotspot cannot be kept from routing; empty: it can. */
  readonly routing = new Cell('');
  /** Program that holds port 53; empty: none. */
  foreignDnsServer = '';
  /** Joins that were started by `join`, in order, by SSID or interface. */
  readonly joins: string[] = [];
  /** NetworkManager checks the way to the internet itself. Debian's, as installed, does not. */
  isChecking = false;
  /** How long a hotspot takes to start, and a join without an address to be given up. */
  hotspotStartMs = joinMs;
  noAddressMs = 45_000;
  /** It runs, and answers no question: as after SIGSTOP. */
  isSilent = false;
  /** Number of checks of the way to the internet. */
  checks = 0;
  readonly #clock: Clock;
  readonly #manager: SimNetworkManager;
  #checkpoint = new AbortController();
  #countryBefore: string | undefined;

  constructor(clock: Clock, { radios = ['wlan0'] }: { radios?: readonly string[] } = {}) {
    this.#clock = clock;
    this.#manager = new SimNetworkManager(clock, radios, () => this.isChecking);
    this.state = this.#manager.state;
  }

  // The world around the machine

  /** Adds the access point, or replaces the one of this SSID. */
  setAccessPoint(ssid: string, how: Partial<SimAccessPoint> = {}): void {
    const before = this.#manager.accessPoints.find((one) => one.ssid === ssid) ?? simAccessPoint(ssid);
    this.#manager.accessPoints = [...this.#manager.accessPoints.filter((one) => one !== before), { ...before, ...how }];
    this.#manager.changed();
  }

  setCable(interfaceName: string, how: Partial<SimCable> = {}): void {
    const before = this.#manager.cables.find((one) => one.interface === interfaceName) ?? {
      interface: interfaceName,
      isPlugged: true,
      hasDhcp: true,
      internet: 'full',
    };
    this.#manager.cables = [...this.#manager.cables.filter((one) => one !== before), { ...before, ...how }];
    this.#manager.changed();
  }

  setRadios(radios: readonly string[]): void {
    this.#manager.radios = radios;
    this.#manager.changed();
  }

  setManager(manager: NetworkState['manager']): void {
    this.#manager.manager = manager;
    if (manager !== 'ready') this.#manager.links = new Map();
    this.#manager.changed();
  }

  /** A profile that this agent did not make. */
  addForeignProfile(profile: Pick<NewProfile, 'name' | 'type'> & Partial<NewProfile>): string {
    return this.#manager.store(
      { interface: '', priority: 0, isAutoconnect: true, dns: [], routeMetric: 600, ...profile },
      undefined,
    );
  }

  /** The power fails: links and what is not on the disk yet are lost; then the machine boots. */
  cutPower(): void {
    const durable = this.#clock.now() - flushMs;
    this.#checkpoint.abort();
    this.#manager.profiles = this.#manager.profiles.filter(({ savedAt }) => savedAt <= durable);
    this.#manager.links = new Map();
    this.#manager.visible = [];
    this.#manager.busy = new Set();
    this.#manager.ending.clear();
    this.#manager.hotspot = undefined;
    this.#manager.isRunning = false;
    this.country = '00';
    this.#manager.probed = { links: '', connectivity: 'unknown', at: null };
    this.state.set({ ...this.#manager.observed(), manager: 'starting', version: '' });
  }

  /** SSID of the hotspot that phones see; undefined: none. */
  get hotspot(): Hotspot | undefined {
    return this.#manager.hotspot;
  }

  // The port

  async run(signal: AbortSignal): Promise<void> {
    this.#manager.isRunning = true;
    this.#manager.changed();
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    this.#manager.isRunning = false;
  }

  async scan(interfaceName: string, signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(scanMs, signal);
    if (!this.#manager.radios.includes(interfaceName)) return;
    this.#manager.visible = this.#manager.accessPoints
      .filter(({ isOn, isHidden }) => isOn && !isHidden)
      .map(({ ssid, security, signalPercent, frequencyMhz }) => ({
        ssid,
        interface: interfaceName,
        security,
        signalPercent,
        frequencyMhz,
        seen: this.#clock.now(),
      }))
      .toSorted((a, b) => b.signalPercent - a.signalPercent);
    this.#manager.changed();
  }

  async checkConnectivity(signal: AbortSignal): Promise<Connectivity> {
    this.checks++;
    await this.#clock.sleep(500, signal);
    this.#manager.setProbed(connectivityOf(this.#manager.world));
    return this.#manager.probed.connectivity;
  }

  confirmConnectivity(): boolean {
    if (!this.isChecking) this.#manager.setProbed('full');
    return !this.isChecking;
  }

  async save(profile: NewProfile, uuid?: string): Promise<string> {
    this.#manager.ready();
    if (uuid !== undefined && this.#manager.profiles.some((one) => one.uuid === uuid)) this.#manager.owned(uuid);
    return this.#manager.store(profile, profile.mark, uuid);
  }

  async remove(uuid: string): Promise<void> {
    this.#manager.ready();
    if (!this.#manager.profiles.some((one) => one.uuid === uuid)) return;
    this.#manager.owned(uuid);
    this.#manager.profiles = this.#manager.profiles.filter((one) => one.uuid !== uuid);
    for (const [device, link] of this.#manager.links)
      if (link.profile === uuid) void this.#manager.deactivate(device, link);
    this.#manager.changed();
  }

  disown = async (uuid: string): Promise<void> => this.#manager.change(uuid, { mark: undefined });
  setPriority = async (uuid: string, priority: number): Promise<void> => this.#manager.change(uuid, { priority });
  setAutoconnect = async (uuid: string, isAutoconnect: boolean): Promise<void> =>
    this.#manager.change(uuid, { isAutoconnect });

  async join(uuid: string, interfaceName: string, signal: AbortSignal): Promise<JoinResult> {
    this.#manager.ready();
    const profile = this.#manager.profiles.find((one) => one.uuid === uuid);
    if (!profile) return { ok: false, reason: 'failed', detail: 'there is no such profile' };
    const device = deviceFor(this.#manager.world, profile, interfaceName);
    if (device === undefined) return { ok: false, reason: 'device-gone', detail: 'no device fits' };
    this.joins.push(profile.ssid || device);
    if (this.#manager.hotspot?.interface === device) await this.stopHotspot();
    const old = this.#manager.links.get(device);
    if (old) await this.#manager.deactivate(device, old, signal);
    this.#manager.busy.add(device);
    this.#manager.changed();
    const failure = failureOf(this.#manager.world, profile, device);
    const failureMs = failure === 'no-address' ? this.noAddressMs : failure && durationOf[failure];
    await this.#clock.sleep(failureMs ?? joinMs, signal);
    this.#manager.busy.delete(device);
    const reason = failure ?? failureOf(this.#manager.world, profile, device);
    if (signal.aborted || reason) {
      this.#manager.changed();
      return { ok: false, reason: reason ?? 'timed-out', detail: reason ?? 'aborted' };
    }
    this.#manager.connect(device, profile);
    return { ok: true };
  }

  async startHotspot(hotspot: Hotspot, signal: AbortSignal): Promise<HotspotResult> {
    this.#manager.ready();
    if (!this.#manager.radios.includes(hotspot.interface))
      return { ok: false, reason: 'no-radio', detail: `there is no ${hotspot.interface}` };
    if (this.foreignDnsServer !== '') return { ok: false, reason: 'foreign', detail: this.foreignDnsServer };
    this.files.add('hotspot names');
    await this.#clock.sleep(this.hotspotStartMs, signal);
    this.#manager.unlink(hotspot.interface);
    this.#manager.hotspot = hotspot;
    this.isRedirecting = hotspot.isRedirecting;
    this.#manager.changed();
    return { ok: true, address: '10.42.0.1' };
  }

  async stopHotspot(): Promise<void> {
    if (!this.#manager.hotspot || !this.#manager.isRunning || this.#manager.manager !== 'ready') return;
    this.#manager.hotspot = undefined;
    this.#manager.changed();
  }

  async keepHotspot(signal: AbortSignal): Promise<string> {
    while (!signal.aborted && this.routing.get() === '') await this.routing.changed(signal);
    return signal.aborted ? '' : this.routing.get();
  }

  hotspotClients = async (): Promise<number> => (this.#manager.hotspot ? this.clients : 0);

  async checkpoint(seconds: number): Promise<Checkpoint> {
    this.#manager.ready();
    const [profiles, links] = [this.#manager.profiles, this.#manager.links];
    const known = new Set(profiles.map(({ uuid }) => uuid));
    const used = new Set([...links.values()].map(({ profile }) => profile));
    const over = new AbortController();
    this.#checkpoint = over;
    const rollBack = async (): Promise<void> => {
      if (over.signal.aborted) return;
      over.abort();
      await this.#clock.sleep(checkpointMs);
      const others = this.#manager.profiles.filter(({ uuid }) => known.has(uuid) && !used.has(uuid));
      const changed = profiles.filter((one) => used.has(one.uuid) && !this.#manager.profiles.includes(one));
      this.#manager.profiles = [...others, ...profiles.filter(({ uuid }) => used.has(uuid))];
      for (const [device, { profile: uuid }] of links)
        if (this.#manager.links.get(device)?.profile !== uuid || changed.some((one) => one.uuid === uuid))
          void this.#manager.activate(device, uuid);
      this.#manager.changed();
    };
    void this.#clock.sleep(seconds * 1000, over.signal).then(rollBack);
    const confirm = async (): Promise<boolean> => {
      await this.#clock.sleep(checkpointMs);
      const isRolledBack = over.signal.aborted;
      over.abort();
      return !isRolledBack;
    };
    return { rollBack, confirm };
  }

  async setPowerSave(isOn: boolean | null): Promise<void> {
    this.#manager.ready();
    this.powerSave = isOn;
    if (isOn === null) this.files.delete('power save');
    else this.files.add('power save');
  }

  async isAnswering(): Promise<boolean> {
    return this.#manager.manager === 'ready' && !this.isSilent;
  }

  async isPowerSaving(interfaceName: string): Promise<boolean | undefined> {
    return this.#manager.radios.includes(interfaceName) ? (this.powerSave ?? true) : undefined;
  }

  async restoreFiles(): Promise<readonly RestoredFile[]> {
    const restored = [...this.files].map((file) => ({ file, isRestored: true }));
    this.files.clear();
    this.powerSave = null;
    return restored;
  }

  async setCountry(country: string): Promise<string> {
    await this.#clock.sleep(countryMs);
    if (this.#manager.radios.length === 0) return '';
    if (!this.unknownCountries.includes(country)) {
      if (country !== '') this.#countryBefore ??= this.country;
      this.country = country === '' ? (this.#countryBefore ?? this.country) : country;
      if (country === '') this.#countryBefore = undefined;
      return '';
    }
    return 'the kernel has no rules for this country';
  }

  hotspotProblem = async (): Promise<string> =>
    this.#manager.hotspot && this.forbidding.includes(this.country)
      ? 'channel 36 (5180 MHz) is not allowed any more'
      : '';
}

const durationOf: Partial<Record<JoinFailure, number>> = {
  'wrong-password': wrongPasswordMs,
  'not-found': notFoundMs,
};
