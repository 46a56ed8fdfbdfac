import { Cell, type Clock } from '@platform/kit';
import type { Connectivity, Hotspot, NetworkState, NewProfile, SavedProfile, VisibleNetwork } from '../network-port.ts';
import {
  deviceFor,
  failureOf,
  observe,
  simIpv6Address,
  type SimAccessPoint,
  type SimCable,
  type SimLink,
  type SimProfile,
  type SimWorld,
} from './network-world.ts';

export const joinMs = 3_000;
/** NetworkManager answers at once and takes the link down later: until then it carries traffic. */
const deactivateMs = 3_000;

/** What NetworkManager holds on a simulated machine, and what it does by itself. */
export class SimNetworkManager {
  readonly state: Cell<NetworkState>;
  probed: { links: string; connectivity: Connectivity; at: number | null } = {
    links: '',
    connectivity: 'unknown',
    at: null,
  };
  manager: NetworkState['manager'] = 'ready';
  isRunning = false;
  accessPoints: readonly SimAccessPoint[] = [];
  cables: readonly SimCable[] = [];
  radios: readonly string[] = [];
  profiles: readonly SimProfile[] = [];
  links: ReadonlyMap<string, SimLink> = new Map();
  visible: readonly VisibleNetwork[] = [];
  busy = new Set<string>();
  /** Interfaces whose link goes down soon. */
  readonly ending = new Set<string>();
  hotspot: Hotspot | undefined;
  readonly #clock: Clock;
  /** It checks the way to the internet itself. */
  readonly #isChecking: () => boolean;
  #uuids = 0;

  constructor(clock: Clock, radios: readonly string[], isChecking: () => boolean) {
    this.#clock = clock;
    this.#isChecking = isChecking;
    this.radios = radios;
    this.state = new Cell<NetworkState>({ ...this.observed(), manager: 'starting', version: '' });
  }

  setProbed(connectivity: Connectivity): void {
    this.probed = { links: this.#linksNow, connectivity, at: this.#clock.now() };
    this.changed();
  }

  get #linksNow(): string {
    return JSON.stringify([...this.links].map(([device, { profile }]) => [device, profile]));
  }

  observed(): NetworkState {
    const state = observe(this.world);
    if (state.manager !== 'ready') return state;
    if (this.#isChecking()) return { ...state, checkedAt: this.#clock.now() };
    const isKnown = this.probed.links === this.#linksNow;
    const { connectivity, at: checkedAt } = this.probed;
    return { ...state, ...(isKnown ? { connectivity, checkedAt } : { connectivity: 'unknown', checkedAt: null }) };
  }

  /** @throws Error if it does not answer */
  ready(): void {
    if (this.manager !== 'ready')
      throw Object.assign(new Error('NetworkManager does not answer'), {
        code: 'org.freedesktop.DBus.Error.ServiceUnknown',
      });
  }

  /** @throws Error if this agent did not make the profile */
  owned(uuid: string): void {
    if (!this.profiles.find((one) => one.uuid === uuid)?.mark)
      throw new Error(`${uuid} is not a profile of this agent`);
  }

  change(uuid: string, change: Partial<SavedProfile>): void {
    this.ready();
    this.owned(uuid);
    this.profiles = this.profiles.map((one) => (one.uuid === uuid ? { ...one, ...change } : one));
    this.changed();
  }

  store(profile: Omit<NewProfile, 'mark'>, mark: SavedProfile['mark'], uuid?: string): string {
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
    this.profiles = [...this.profiles.filter((one) => one.uuid !== id), stored];
    this.changed();
    return id;
  }

  connect(device: string, { uuid, ssid, address, routeMetric }: SimProfile): void {
    const links = new Map(this.links);
    const isIpv6Only = this.accessPoints.some((one) => one.ssid === ssid && one.isIpv6Only);
    const given = isIpv6Only ? simIpv6Address : '192.168.1.20/24';
    links.set(device, { profile: uuid, ssid, address: address || given, routeMetric });
    this.links = links;
    this.changed();
  }

  /** The link stays up for a while. */
  async deactivate(device: string, link: SimLink, signal?: AbortSignal): Promise<void> {
    this.ending.add(device);
    await this.#clock.sleep(deactivateMs, signal);
    this.ending.delete(device);
    if (this.links.get(device) === link) this.unlink(device);
    this.changed();
  }

  /** Takes the device to this profile, as a rollback does. */
  async activate(device: string, uuid: string): Promise<void> {
    const old = this.links.get(device);
    this.busy.add(device);
    if (old) await this.deactivate(device, old);
    await this.#connectLater(device, () => this.profiles.find((one) => one.uuid === uuid));
  }

  unlink(device: string): void {
    const links = new Map(this.links);
    links.delete(device);
    this.links = links;
  }

  /** Drops the links that the world has cut, and starts the profiles that NetworkManager activates by itself. */
  changed(): void {
    if (this.hotspot && !this.radios.includes(this.hotspot.interface)) this.hotspot = undefined;
    for (const [device, link] of this.links) {
      const profile = this.profiles.find((one) => one.uuid === link.profile);
      const isCut = profile ? failureOf(this.world, profile, device) !== undefined : !this.ending.has(device);
      if (isCut) this.unlink(device);
    }
    if (this.isRunning) this.state.set(this.observed());
    if (this.manager === 'ready') this.#autoconnect();
  }

  #autoconnect(): void {
    for (const device of [...this.radios, ...this.cables.map((cable) => cable.interface)]) {
      if (!this.#isFree(device)) continue;
      const next = (): SimProfile | undefined =>
        this.profiles
          .filter((one) => one.isAutoconnect && deviceFor(this.world, one, device) === device)
          .filter((one) => failureOf(this.world, one, device) === undefined)
          .toSorted((a, b) => b.priority - a.priority)[0];
      if (!next()) continue;
      this.busy.add(device);
      void this.#connectLater(device, next);
    }
  }

  async #connectLater(device: string, next: () => SimProfile | undefined): Promise<void> {
    await this.#clock.sleep(joinMs);
    if (!this.busy.delete(device)) return; // the power failed
    const profile = next();
    if (profile && this.#isFree(device) && failureOf(this.world, profile, device) === undefined)
      this.connect(device, profile);
    else this.changed();
  }

  #isFree(device: string): boolean {
    return !this.links.has(device) && !this.busy.has(device) && this.hotspot?.interface !== device;
  }

  get world(): SimWorld {
    return {
      manager: this.manager,
      radios: this.radios,
      cables: this.cables,
      accessPoints: this.accessPoints,
      profiles: this.profiles,
      links: this.links,
      visible: this.visible,
      busy: this.busy,
      hotspot: this.hotspot,
    };
  }
}
