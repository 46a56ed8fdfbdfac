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
  SavedProfile,
  VisibleNetwork,
} from '../network-port.ts';
import {
  connectivityOf,
  deviceFor,
  failureOf,
  observe,
  simAccessPoint,
  simIpv6Address,
  type SimAccessPoint,
  type SimCable,
  type SimLink,
  type SimProfile,
  type SimWorld,
} from './network-world.ts';

const joinMs = 3_000;
const wrongPasswordMs = 10_000;
const notFoundMs = 5_000;
const scanMs = 2_000;
/** Until the kernel writes a new file to the disk. */
const flushMs = 30_000;
const countryMs = 200;
/** NetworkManager answers at once and takes the link down later: until then it carries traffic. */
const deactivateMs = 3_000;
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
  #probed: { links: string; connectivity: Connectivity; at: number | null } = {
    links: '',
    connectivity: 'unknown',
    at: null,
  };
  #manager: NetworkState['manager'] = 'ready';
  #isRunning = false;
  #accessPoints: readonly SimAccessPoint[] = [];
  #cables: readonly SimCable[] = [];
  #radios: readonly string[] = [];
  #profiles: readonly SimProfile[] = [];
  #links: ReadonlyMap<string, SimLink> = new Map();
  #visible: readonly VisibleNetwork[] = [];
  #busy = new Set<string>();
  /** Interfaces whose link goes down soon. */
  readonly #ending = new Set<string>();
  #hotspot: Hotspot | undefined;
  #checkpoint = new AbortController();
  #uuids = 0;
  #countryBefore: string | undefined;

  constructor(clock: Clock, { radios = ['wlan0'] }: { radios?: readonly string[] } = {}) {
    this.#clock = clock;
    this.#radios = radios;
    this.state = new Cell<NetworkState>({ ...this.#observed(), manager: 'starting', version: '' });
  }

  // The world around the machine

  /** Adds the access point, or replaces the one of this SSID. */
  setAccessPoint(ssid: string, how: Partial<SimAccessPoint> = {}): void {
    const before = this.#accessPoints.find((one) => one.ssid === ssid) ?? simAccessPoint(ssid);
    this.#accessPoints = [...this.#accessPoints.filter((one) => one !== before), { ...before, ...how }];
    this.#changed();
  }

  setCable(interfaceName: string, how: Partial<SimCable> = {}): void {
    const before = this.#cables.find((one) => one.interface === interfaceName) ?? {
      interface: interfaceName,
      isPlugged: true,
      hasDhcp: true,
      internet: 'full',
    };
    this.#cables = [...this.#cables.filter((one) => one !== before), { ...before, ...how }];
    this.#changed();
  }

  setRadios(radios: readonly string[]): void {
    this.#radios = radios;
    this.#changed();
  }

  setManager(manager: NetworkState['manager']): void {
    this.#manager = manager;
    if (manager !== 'ready') this.#links = new Map();
    this.#changed();
  }

  /** A profile that this agent did not make. */
  addForeignProfile(profile: Pick<NewProfile, 'name' | 'type'> & Partial<NewProfile>): string {
    return this.#store(
      { interface: '', priority: 0, isAutoconnect: true, dns: [], routeMetric: 600, ...profile },
      undefined,
    );
  }

  /** The power fails: links and what is not on the disk yet are lost; then the machine boots. */
  cutPower(): void {
    const durable = this.#clock.now() - flushMs;
    this.#checkpoint.abort();
    this.#profiles = this.#profiles.filter(({ savedAt }) => savedAt <= durable);
    this.#links = new Map();
    this.#visible = [];
    this.#busy = new Set();
    this.#ending.clear();
    this.#hotspot = undefined;
    this.#isRunning = false;
    this.country = '00';
    this.#probed = { links: '', connectivity: 'unknown', at: null };
    this.state.set({ ...this.#observed(), manager: 'starting', version: '' });
  }

  /** SSID of the hotspot that phones see; undefined: none. */
  get hotspot(): Hotspot | undefined {
    return this.#hotspot;
  }

  // The port

  async run(signal: AbortSignal): Promise<void> {
    this.#isRunning = true;
    this.#changed();
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    this.#isRunning = false;
  }

  async scan(interfaceName: string, signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(scanMs, signal);
    if (!this.#radios.includes(interfaceName)) return;
    this.#visible = this.#accessPoints
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
    this.#changed();
  }

  async checkConnectivity(signal: AbortSignal): Promise<Connectivity> {
    this.checks++;
    await this.#clock.sleep(500, signal);
    this.#setProbed(connectivityOf(this.#world));
    return this.#probed.connectivity;
  }

  confirmConnectivity(): boolean {
    if (!this.isChecking) this.#setProbed('full');
    return !this.isChecking;
  }

  async save(profile: NewProfile, uuid?: string): Promise<string> {
    this.#ready();
    if (uuid !== undefined && this.#profiles.some((one) => one.uuid === uuid)) this.#owned(uuid);
    return this.#store(profile, profile.mark, uuid);
  }

  async remove(uuid: string): Promise<void> {
    this.#ready();
    if (!this.#profiles.some((one) => one.uuid === uuid)) return;
    this.#owned(uuid);
    this.#profiles = this.#profiles.filter((one) => one.uuid !== uuid);
    for (const [device, link] of this.#links) if (link.profile === uuid) void this.#deactivate(device, link);
    this.#changed();
  }

  disown = async (uuid: string): Promise<void> => this.#change(uuid, { mark: undefined });
  setPriority = async (uuid: string, priority: number): Promise<void> => this.#change(uuid, { priority });
  setAutoconnect = async (uuid: string, isAutoconnect: boolean): Promise<void> => this.#change(uuid, { isAutoconnect });

  async join(uuid: string, interfaceName: string, signal: AbortSignal): Promise<JoinResult> {
    this.#ready();
    const profile = this.#profiles.find((one) => one.uuid === uuid);
    if (!profile) return { ok: false, reason: 'failed', detail: 'there is no such profile' };
    const device = deviceFor(this.#world, profile, interfaceName);
    if (device === undefined) return { ok: false, reason: 'device-gone', detail: 'no device fits' };
    this.joins.push(profile.ssid || device);
    if (this.#hotspot?.interface === device) await this.stopHotspot();
    const old = this.#links.get(device);
    if (old) await this.#deactivate(device, old, signal);
    this.#busy.add(device);
    this.#changed();
    const failure = failureOf(this.#world, profile, device);
    const failureMs = failure === 'no-address' ? this.noAddressMs : failure && durationOf[failure];
    await this.#clock.sleep(failureMs ?? joinMs, signal);
    this.#busy.delete(device);
    const reason = failure ?? failureOf(this.#world, profile, device);
    if (signal.aborted || reason) {
      this.#changed();
      return { ok: false, reason: reason ?? 'timed-out', detail: reason ?? 'aborted' };
    }
    this.#connect(device, profile);
    return { ok: true };
  }

  async startHotspot(hotspot: Hotspot, signal: AbortSignal): Promise<HotspotResult> {
    this.#ready();
    if (!this.#radios.includes(hotspot.interface))
      return { ok: false, reason: 'no-radio', detail: `there is no ${hotspot.interface}` };
    if (this.foreignDnsServer !== '') return { ok: false, reason: 'foreign', detail: this.foreignDnsServer };
    this.files.add('hotspot names');
    await this.#clock.sleep(this.hotspotStartMs, signal);
    this.#unlink(hotspot.interface);
    this.#hotspot = hotspot;
    this.isRedirecting = hotspot.isRedirecting;
    this.#changed();
    return { ok: true, address: '10.42.0.1' };
  }

  async stopHotspot(): Promise<void> {
    if (!this.#hotspot || !this.#isRunning || this.#manager !== 'ready') return;
    this.#hotspot = undefined;
    this.#changed();
  }

  async keepHotspot(signal: AbortSignal): Promise<string> {
    while (!signal.aborted && this.routing.get() === '') await this.routing.changed(signal);
    return signal.aborted ? '' : this.routing.get();
  }

  hotspotClients = async (): Promise<number> => (this.#hotspot ? this.clients : 0);

  async checkpoint(seconds: number): Promise<Checkpoint> {
    this.#ready();
    const [profiles, links] = [this.#profiles, this.#links];
    const known = new Set(profiles.map(({ uuid }) => uuid));
    const used = new Set([...links.values()].map(({ profile }) => profile));
    const over = new AbortController();
    this.#checkpoint = over;
    const rollBack = async (): Promise<void> => {
      if (over.signal.aborted) return;
      over.abort();
      await this.#clock.sleep(checkpointMs);
      const others = this.#profiles.filter(({ uuid }) => known.has(uuid) && !used.has(uuid));
      const changed = profiles.filter((one) => used.has(one.uuid) && !this.#profiles.includes(one));
      this.#profiles = [...others, ...profiles.filter(({ uuid }) => used.has(uuid))];
      for (const [device, { profile: uuid }] of links)
        if (this.#links.get(device)?.profile !== uuid || changed.some((one) => one.uuid === uuid))
          void this.#activate(device, uuid);
      this.#changed();
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
    this.#ready();
    this.powerSave = isOn;
    if (isOn === null) this.files.delete('power save');
    else this.files.add('power save');
  }

  async isAnswering(): Promise<boolean> {
    return this.#manager === 'ready' && !this.isSilent;
  }

  async isPowerSaving(interfaceName: string): Promise<boolean | undefined> {
    return this.#radios.includes(interfaceName) ? (this.powerSave ?? true) : undefined;
  }

  async restoreFiles(): Promise<readonly RestoredFile[]> {
    const restored = [...this.files].map((file) => ({ file, isRestored: true }));
    this.files.clear();
    this.powerSave = null;
    return restored;
  }

  async setCountry(country: string): Promise<string> {
    await this.#clock.sleep(countryMs);
    if (this.#radios.length === 0) return '';
    if (!this.unknownCountries.includes(country)) {
      if (country !== '') this.#countryBefore ??= this.country;
      this.country = country === '' ? (this.#countryBefore ?? this.country) : country;
      if (country === '') this.#countryBefore = undefined;
      return '';
    }
    return 'the kernel has no rules for this country';
  }

  hotspotProblem = async (): Promise<string> =>
    this.#hotspot && this.forbidding.includes(this.country) ? 'channel 36 (5180 MHz) is not allowed any more' : '';

  #setProbed(connectivity: Connectivity): void {
    this.#probed = { links: this.#linksNow, connectivity, at: this.#clock.now() };
    this.#changed();
  }

  get #linksNow(): string {
    return JSON.stringify([...this.#links].map(([device, { profile }]) => [device, profile]));
  }

  #observed(): NetworkState {
    const state = observe(this.#world);
    if (state.manager !== 'ready') return state;
    if (this.isChecking) return { ...state, checkedAt: this.#clock.now() };
    const isKnown = this.#probed.links === this.#linksNow;
    const { connectivity, at: checkedAt } = this.#probed;
    return { ...state, ...(isKnown ? { connectivity, checkedAt } : { connectivity: 'unknown', checkedAt: null }) };
  }

  // What NetworkManager does by itself

  #ready(): void {
    if (this.#manager !== 'ready')
      throw Object.assign(new Error('NetworkManager does not answer'), {
        code: 'org.freedesktop.DBus.Error.ServiceUnknown',
      });
  }

  #owned(uuid: string): void {
    if (!this.#profiles.find((one) => one.uuid === uuid)?.mark)
      throw new Error(`${uuid} is not a profile of this agent`);
  }

  #change(uuid: string, change: Partial<SavedProfile>): void {
    this.#ready();
    this.#owned(uuid);
    this.#profiles = this.#profiles.map((one) => (one.uuid === uuid ? { ...one, ...change } : one));
    this.#changed();
  }

  #store(profile: Omit<NewProfile, 'mark'>, mark: SavedProfile['mark'], uuid?: string): string {
    const id = uuid ?? `uuid-${++this.#uuids}`;
    const { name, type, interface: device, priority, isAutoconnect, wifi } = profile;
    const stored: SimProfile = {
      uuid: id,
      name,
      type,
      ssid: wifi?.ssid ?? '',
      interface: device,
      priority,
      isAutoconnect,
      mark,
      isHidden: wifi?.isHidden ?? false,
      isHotspot: false,
      psk: wifi?.security.is === 'psk' ? wifi.security.psk : '',
      address: profile.ipv4?.address ?? '',
      routeMetric: profile.routeMetric,
      savedAt: mark ? this.#clock.now() : Number.NEGATIVE_INFINITY,
    };
    this.#profiles = [...this.#profiles.filter((one) => one.uuid !== id), stored];
    this.#changed();
    return id;
  }

  #connect(device: string, { uuid, ssid, address, routeMetric }: SimProfile): void {
    const links = new Map(this.#links);
    const isIpv6Only = this.#accessPoints.some((one) => one.ssid === ssid && one.isIpv6Only);
    const given = isIpv6Only ? simIpv6Address : '192.168.1.20/24';
    links.set(device, { profile: uuid, ssid, address: address || given, routeMetric });
    this.#links = links;
    this.#changed();
  }

  /** The link stays up for a while. */
  async #deactivate(device: string, link: SimLink, signal?: AbortSignal): Promise<void> {
    this.#ending.add(device);
    await this.#clock.sleep(deactivateMs, signal);
    this.#ending.delete(device);
    if (this.#links.get(device) === link) this.#unlink(device);
    this.#changed();
  }

  /** Takes the device to this profile, as a rollback does. */
  async #activate(device: string, uuid: string): Promise<void> {
    const old = this.#links.get(device);
    this.#busy.add(device);
    if (old) await this.#deactivate(device, old);
    await this.#connectLater(device, () => this.#profiles.find((one) => one.uuid === uuid));
  }

  #unlink(device: string): void {
    const links = new Map(this.#links);
    links.delete(device);
    this.#links = links;
  }

  /** Drops the links that the world has cut, and starts the profiles that NetworkManager activates by itself. */
  #changed(): void {
    if (this.#hotspot && !this.#radios.includes(this.#hotspot.interface)) this.#hotspot = undefined;
    for (const [device, link] of this.#links) {
      const profile = this.#profiles.find((one) => one.uuid === link.profile);
      const isCut = profile ? failureOf(this.#world, profile, device) !== undefined : !this.#ending.has(device);
      if (isCut) this.#unlink(device);
    }
    if (this.#isRunning) this.state.set(this.#observed());
    if (this.#manager === 'ready') this.#autoconnect();
  }

  #autoconnect(): void {
    for (const device of [...this.#radios, ...this.#cables.map((cable) => cable.interface)]) {
      if (!this.#isFree(device)) continue;
      const next = (): SimProfile | undefined =>
        this.#profiles
          .filter((one) => one.isAutoconnect && deviceFor(this.#world, one, device) === device)
          .filter((one) => failureOf(this.#world, one, device) === undefined)
          .toSorted((a, b) => b.priority - a.priority)[0];
      if (!next()) continue;
      this.#busy.add(device);
      void this.#connectLater(device, next);
    }
  }

  async #connectLater(device: string, next: () => SimProfile | undefined): Promise<void> {
    await this.#clock.sleep(joinMs);
    if (!this.#busy.delete(device)) return; // the power failed
    const profile = next();
    if (profile && this.#isFree(device) && failureOf(this.#world, profile, device) === undefined)
      this.#connect(device, profile);
    else this.#changed();
  }

  #isFree(device: string): boolean {
    return !this.#links.has(device) && !this.#busy.has(device) && this.#hotspot?.interface !== device;
  }

  get #world(): SimWorld {
    return {
      manager: this.#manager,
      radios: this.#radios,
      cables: this.#cables,
      accessPoints: this.#accessPoints,
      profiles: this.#profiles,
      links: this.#links,
      visible: this.#visible,
      busy: this.#busy,
      hotspot: this.#hotspot,
    };
  }
}

const durationOf: Partial<Record<JoinFailure, number>> = {
  'wrong-password': wrongPasswordMs,
  'not-found': notFoundMs,
};
