import { uptime } from 'node:os';
import { Cell, changedOr, type Clock, errorText, type Log } from '@platform/kit';
import type { Connectivity, NetworkState, SavedProfile } from '../../network-port.ts';
import type { Peer } from '../dbus/bus.ts';
import { BusError } from '../dbus/connection.ts';
import { flagIn, numberIn, type Properties, propertiesOf, textIn } from '../dbus/read.ts';
import type { DBusValue } from '../dbus/values.ts';
import {
  devicesOf,
  isTooOld,
  managerName,
  managerPath,
  nameServersOf,
  type Objects,
  objectsOf,
  propertiesAt,
  radiosWithoutLink,
  visibleOf,
} from './objects.ts';
import { savedProfile } from './profiles.ts';
import { RadioLinks } from '../kernel/radio-links.ts';

const propertiesInterface = 'org.freedesktop.DBus.Properties';
/** NetworkManager sends several signals for one event. */
const batchMs = 100;
const firstRetryMs = 1_000;
const longestRetryMs = 30_000;
const connectivities: readonly Connectivity[] = ['unknown', 'none', 'portal', 'limited', 'full'];

const initialState: NetworkState = {
  manager: 'starting',
  version: '',
  connectivity: 'unknown',
  checkedAt: null,
  nameServers: [],
  devices: [],
  profiles: [],
  visible: [],
};

/** The way to the internet, over which links, and when it was measured. */
interface Measured {
  links: string;
  connectivity: Connectivity;
  at: number | null;
}
const neverMeasured: Measured = { links: '', connectivity: 'unknown', at: null };

/** A profile as NetworkManager has it. */
export interface ProfileRecord {
  path: string;
  value: DBusValue;
  saved: SavedProfile;
}

/** Reads the objects of NetworkManager whenever its signals report a change, and keeps the state of the port. */
export class NetworkManagerObserver {
  readonly state = new Cell<NetworkState>(initialState);
  /** Counts the changes that NetworkManager reported. */
  readonly changes = new Cell(0);
  readonly #manager: Peer;
  readonly #clock: Clock;
  readonly #log: Log;
  /** By object path; absent: to be read again. */
  readonly #profiles = new Map<string, DBusValue>();
  readonly #seen = new Map<string, { lastSeen: number; at: number }>();
  readonly #radioLinks = new RadioLinks();
  #reading: Promise<unknown> = Promise.resolve();
  /** The result of the agent's own check, with the links that it was made over. */
  #probed: Measured = neverMeasured;
  /** What NetworkManager reported last, if it checks itself. */
  #reported: Measured = neverMeasured;
  #isChecking = false;

  constructor({ manager, clock, log }: { manager: Peer; clock: Clock; log: Log }) {
    this.#manager = manager;
    this.#clock = clock;
    this.#log = log;
  }

  async run(signal: AbortSignal): Promise<void> {
    const ends = this.#watch();
    const { owner } = this.#manager;
    try {
      for (let retryMs = firstRetryMs; !signal.aborted;) {
        const [known, service] = [this.changes.get(), owner.get()];
        if (service === undefined || service === '') {
          if (service === '') this.#absent();
          if (owner.get() === service) await owner.changed(signal);
          continue;
        }
        try {
          await this.observe();
          retryMs = firstRetryMs;
        } catch (error) {
          this.#log.debug('NetworkManager cannot be read', { reason: errorText(error) });
          await changedOr(owner, retryMs, this.#clock, signal);
          retryMs = Math.min(retryMs * 2, longestRetryMs);
          continue;
        }
        await this.#nextChange(known, service, signal);
      }
    } finally {
      for (const stop of ends) stop();
    }
  }

  /** Reads now. @returns the objects that `state` was made of */
  observe(): Promise<Objects> {
    // One after the other: an older result must not replace a newer one.
    const next = this.#reading.catch(() => {}).then(() => this.#read());
    this.#reading = next;
    return next;
  }

  async isAnswering(limitMs: number): Promise<boolean> {
    if (this.state.get().manager !== 'ready') return false;
    return this.#readVersion(limitMs).then(
      () => true,
      () => false,
    );
  }

  /** Undefined: there is no such profile. */
  async profile(uuid: string): Promise<ProfileRecord | undefined> {
    await this.observe();
    return this.records().find(({ saved }) => saved.uuid === uuid);
  }

  records(): ProfileRecord[] {
    return [...this.#profiles].map(([path, value]) => ({ path, value, saved: savedProfile(value) }));
  }

  /** The profile was changed: read it again. */
  forget(path: string): void {
    this.#profiles.delete(path);
  }

  /** NetworkManager does not check the way to the internet: this result counts until the links change. */
  setProbed(connectivity: Connectivity): void {
    const before = this.state.get();
    const checkedAt = Math.round(this.#clock.now());
    this.#probed = { links: linksOf(before), connectivity, at: checkedAt };
    this.state.set({ ...before, connectivity, checkedAt });
  }

  /** NetworkManager has just checked. @returns what it found */
  setChecked(): Connectivity {
    const before = this.state.get();
    const checkedAt = Math.round(this.#clock.now());
    this.#reported = { links: linksOf(before), connectivity: before.connectivity, at: checkedAt };
    this.state.set({ ...before, checkedAt });
    return before.connectivity;
  }

  /** The management server answered. @returns false: NetworkManager itself knows about the way to the internet */
  confirm(): boolean {
    if (this.#isChecking) return false;
    this.setProbed('full');
    return true;
  }

  #absent(): void {
    this.#profiles.clear();
    this.#seen.clear();
    this.#become({ ...initialState, manager: 'absent' });
  }

  async #nextChange(known: number, service: string, signal: AbortSignal): Promise<void> {
    const { owner } = this.#manager;
    const stop = new AbortController();
    const end = (): void => stop.abort();
    signal.addEventListener('abort', end, { once: true });
    const lossMs = this.#radioLinks.nextLossMs(this.#clock.now());
    if (this.changes.get() === known && owner.get() === service)
      await Promise.race([
        this.changes.changed(stop.signal),
        owner.changed(stop.signal),
        ...(lossMs === undefined ? [] : [this.#clock.sleep(lossMs, stop.signal)]),
      ]);
    end();
    signal.removeEventListener('abort', end);
    await this.#clock.sleep(batchMs, signal);
  }

  #watch(): (() => void)[] {
    const manager = this.#manager;
    const changed = (): void => this.changes.update((n) => n + 1);
    const rules = ['', '.Device', '.Connection.Active', '.IP4Config', '.IP6Config'].map((part) => managerName + part);
    return [
      ...rules.map((arg0) =>
        manager.watch({ interface: propertiesInterface, member: 'PropertiesChanged', arg0 }, changed),
      ),
      manager.watch(
        { interface: propertiesInterface, member: 'PropertiesChanged', arg0: `${managerName}.Device.Wireless` },
        // The bit rate of a connected radio changes every few seconds.
        ({ body }) => [...propertiesOf(body[1]).keys()].some((name) => name !== 'Bitrate') && changed(),
      ),
      manager.watch({ interface: managerName, member: 'DeviceAdded' }, changed),
      manager.watch({ interface: managerName, member: 'DeviceRemoved' }, changed),
      manager.watch({ interface: `${managerName}.Settings` }, changed),
      manager.watch({ interface: `${managerName}.Settings.Connection` }, ({ path }) => {
        this.forget(path);
        changed();
      }),
    ];
  }

  async #read(): Promise<Objects> {
    const objects = await this.#readObjects();
    const all = propertiesAt(objects, managerPath, '');
    const version = textIn(all, 'Version');
    if (isTooOld(version)) {
      this.#become({ ...initialState, manager: 'too-old', version });
      return objects;
    }
    await this.#readProfiles(objects);
    const profiles = this.records().map(({ saved }) => saved);
    const lost = this.#radioLinks.note(radiosWithoutLink(objects), this.#clock.now());
    const state: NetworkState = {
      manager: 'ready',
      version,
      connectivity: 'unknown',
      checkedAt: null,
      nameServers: nameServersOf(objects),
      devices: devicesOf(objects, profiles, lost),
      profiles: profiles.toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1)),
      visible: visibleOf(objects, (path, point) => this.#seenAt(path, point)),
    };
    this.#forgetAccessPoints(objects);
    const { connectivity, at: checkedAt } = this.#measured(all, state);
    this.#become({ ...state, connectivity, checkedAt });
    return objects;
  }

  async #readObjects(): Promise<Objects> {
    try {
      const of = 'org.freedesktop.DBus.ObjectManager';
      const call = { path: '/org/freedesktop', interface: of, member: 'GetManagedObjects' };
      const [value] = await this.#manager.call(call);
      return objectsOf(value);
    } catch (error) {
      // Versions before 1.2 have no such object.
      if (!(error instanceof BusError && /\.Unknown(Method|Object|Interface)$/.test(error.code))) throw error;
      const version = await this.#readVersion();
      return new Map([[managerPath, new Map([[managerName, new Map([['Version', version]])]])]]);
    }
  }

  async #readVersion(limitMs?: number): Promise<DBusValue> {
    const [version = ''] = await this.#manager.call({
      path: managerPath,
      interface: propertiesInterface,
      member: 'Get',
      signature: 'ss',
      args: [managerName, 'Version'],
      ...(limitMs !== undefined && { limitMs }),
    });
    return version;
  }

  async #readProfiles(objects: Objects): Promise<void> {
    const of = `${managerName}.Settings.Connection`;
    const paths = [...objects].flatMap(([path, interfaces]) => (interfaces.has(of) ? [path] : []));
    for (const path of this.#profiles.keys()) if (!paths.includes(path)) this.#profiles.delete(path);
    const unread = paths.filter((path) => !this.#profiles.has(path));
    const values = unread.map(async (path) => {
      const [value] = await this.#manager.call({ path, interface: of, member: 'GetSettings' }).catch(() => [undefined]); // removed meanwhile
      if (value !== undefined) this.#profiles.set(path, value);
    });
    await Promise.all(values);
  }

  #measured(all: Properties, state: NetworkState): Measured {
    this.#isChecking = isChecking(all);
    const links = linksOf(state);
    if (!this.#isChecking) return this.#probed.links === links ? this.#probed : neverMeasured;
    const connectivity = connectivities[numberIn(all, 'Connectivity')] ?? 'unknown';
    const before = this.#reported;
    // The same value again may be an old one: it keeps its age.
    if (before.connectivity !== connectivity || before.links !== links || before.at === null)
      this.#reported = { links, connectivity, at: Math.round(this.#clock.now()) };
    return this.#reported;
  }

  /** NetworkManager counts in whole seconds since the boot; the same observation keeps its instant. */
  #seenAt(path: string, accessPoint: Properties): number {
    const lastSeen = numberIn(accessPoint, 'LastSeen');
    const known = this.#seen.get(path);
    if (known?.lastSeen === lastSeen) return known.at;
    const age = lastSeen > 0 ? Math.max(0, uptime() - lastSeen) : 0;
    const at = Math.round(this.#clock.now() - age * 1000);
    this.#seen.set(path, { lastSeen, at });
    return at;
  }

  #forgetAccessPoints(objects: Objects): void {
    for (const path of this.#seen.keys()) if (!objects.has(path)) this.#seen.delete(path);
  }

  #become(state: NetworkState): void {
    const before = this.state.get();
    if (JSON.stringify(before) === JSON.stringify(state)) return;
    if (before.manager !== state.manager)
      this.#log.info('NetworkManager', { state: state.manager, ...(state.version && { version: state.version }) });
    this.state.set(state);
  }
}

/** By default NetworkManager of some distributions has no URL to check, and then calls every default route "full". */
export const isChecking = (manager: Properties): boolean =>
  flagIn(manager, 'ConnectivityCheckAvailable') && flagIn(manager, 'ConnectivityCheckEnabled');

/** The links that a measurement is made over. */
export const linksOf = ({ devices }: NetworkState): string =>
  JSON.stringify(
    devices.filter(({ state }) => state === 'connected').map(({ interface: name, profile }) => [name, profile]),
  );
