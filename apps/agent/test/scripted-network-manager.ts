// NetworkManager as far as the agent uses it, over a scripted bus: radio wlan0, cable eth0. Its answers follow the
// documentation of the D-Bus API and what a real 1.42 sends. It acts at once, but takes links down later, as that does.
import { randomUUID } from 'node:crypto';
import { uptime } from 'node:os';
import type { Message } from '../src/os/linux/dbus/message.ts';
import { bytesIn, propertiesOf, sectionsIn, textIn } from '../src/os/linux/dbus/read.ts';
import { type DBusValue, Variant } from '../src/os/linux/dbus/values.ts';
import type { WorldAccessPoint } from './network-contract.ts';
import { type Answer, ScriptedBus } from './scripted-bus.ts';

const name = 'org.freedesktop.NetworkManager';
const root = '/org/freedesktop/NetworkManager';
/** A link stays up for a while after its profile was deleted. */
const deactivateMs = 300;
/** Interface flags: up, lower up and carrier; up alone. */
const linkUp = 0x1_00_03;
const linkDown = 0x1;
const empty = { signature: '', body: [] };
const path = (value: string): Answer => ({ signature: 'o', body: [value] });
const text = (value: string): Variant => new Variant('s', value);
const object = (value: string): Variant => new Variant('o', value);
const number = (value: number): Variant => new Variant('u', value);
const dict = (entries: Record<string, DBusValue>): Map<string, DBusValue> => new Map(Object.entries(entries));

type Settings = ReadonlyMap<string, ReadonlyMap<string, Variant>>;
interface Link {
  active: string;
  profile: string;
  accessPoint: string;
  address: string;
}
interface Snapshot {
  profiles: ReadonlyMap<string, { settings: Settings; psk: string }>;
  used: ReadonlySet<string>;
}
export interface ScriptedAccessPoint extends WorldAccessPoint {
  path: string;
  ssid: Uint8Array;
  rsnFlags: number;
  /** An activation looks for it, and no scan has found it. */
  isNeverSeen: boolean;
}

export class ScriptedNetworkManager implements AsyncDisposable {
  version = '1.42.4';
  /** NetworkManager has no URL to check by default. */
  connectivity: number | undefined;
  /** The program that holds port 53; empty: none. */
  dnsHolder = '';
  /** WiFi is switched on (`rfkill`), and the hardware switch of the machine is. */
  radio = { isOn: true, isHardwareOn: true };
  /** Flags of the radio. */
  capabilities = 2047;
  /** Version 1.0 has no object that lists the others. */
  isWithoutObjects = false;
  /** Calls of these methods are never answered. */
  silent: readonly string[] = [];
  /** A hotspot starts: forwarding is turned on for the machine. */
  shares: () => Promise<void> = async () => {};
  readonly calls: string[] = [];
  readonly bus: ScriptedBus;
  readonly #profiles = new Map<string, { settings: Settings; psk: string }>();
  readonly #accessPoints = new Map<string, ScriptedAccessPoint>();
  readonly #links = new Map<string, Link>();
  /** Deleted profiles whose link is still up. */
  readonly #ending = new Map<string, Settings>();
  readonly #checkpoints = new Map<string, Snapshot>();
  readonly #devices = new Map([
    [`${root}/Devices/1`, { name: 'eth0', type: 1, state: 20 }],
    [`${root}/Devices/2`, { name: 'wlan0', type: 2, state: 30 }],
  ]);
  #hasRadioLink = true;
  #seen: readonly string[] = [];
  #scans = 0;
  #numbers = 0;

  constructor(folder: string) {
    this.bus = new ScriptedBus(folder, name, (call) => this.#answer(call));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.bus[Symbol.asyncDispose]();
  }

  // The world around it

  setAccessPoint(ssid: Uint8Array, how: Partial<ScriptedAccessPoint> = {}): void {
    const key = Buffer.from(ssid).toString('hex');
    const before = this.#accessPoints.get(key);
    const fresh = {
      password: 'password1',
      isOn: true,
      isHidden: false,
      hasDhcp: true,
      rsnFlags: 0x188,
      isNeverSeen: false,
    };
    this.#accessPoints.set(key, { ...fresh, path: this.#next('AccessPoint'), ssid, ...before, ...how });
  }

  plugCable(isPlugged: boolean): void {
    this.#setDevice(this.#devicePath('eth0') ?? '', isPlugged ? 30 : 20, 40);
  }

  unplugRadio(): void {
    const device = this.#devicePath('wlan0');
    if (device === undefined) return;
    this.#devices.delete(device);
    this.#links.delete(device);
    this.bus.emit(root, name, 'DeviceRemoved', 'o', [device]);
  }

  /** Whether the kernel has a link on the radio. NetworkManager can miss that the access point is gone. */
  setRadioLink(isUp: boolean): void {
    this.#hasRadioLink = isUp;
    const at = this.#devicePath('wlan0') ?? '';
    this.#changed(at, `${name}.Device`, { InterfaceFlags: number(isUp ? linkUp : linkDown) });
  }

  /** The radio has lost its link (wpa_supplicant: completed -> scanning), and no signal of it arrives. */
  loseLinkUnheard(): void {
    const at = this.#devicePath('wlan0') ?? '';
    const device = this.#devices.get(at);
    if (device) this.#devices.set(at, { ...device, state: 30 });
    this.#links.delete(at);
  }

  addProfile(settings: Settings): string {
    const added = this.#next('Settings');
    this.#profiles.set(added, stored(settings));
    this.bus.emit(`${root}/Settings`, `${name}.Settings`, 'NewConnection', 'o', [added]);
    return added;
  }

  foreignProfile(id: string): string {
    const uuid = randomUUID();
    const connection = new Map([
      ['id', text(id)],
      ['uuid', text(uuid)],
      ['type', text('802-3-ethernet')],
    ]);
    this.addProfile(new Map([['connection', connection]]));
    return uuid;
  }

  /** The settings of the profile with this SSID, as the agent wrote them. */
  settingsOf(ssid: string): Settings | undefined {
    return [...this.#profiles.values()].find(({ settings }) => ssidOf(settings) === Buffer.from(ssid).toString('hex'))
      ?.settings;
  }

  // Calls

  #answer(call: Message): Answer | Promise<Answer> {
    const { path: at = '', interface: of = '', member = '', body } = call;
    this.calls.push(member);
    if (this.silent.includes(member)) return new Promise<Answer>(() => {});
    if (this.isWithoutObjects && member === 'GetManagedObjects') return unknown(at);
    switch (member) {
      case 'GetManagedObjects':
        return { signature: 'a{oa{sa{sv}}}', body: [this.#objects()] };
      case 'GetAll':
        return this.#all(at, String(body[0]));
      case 'GetSettings': {
        const profile = this.#profiles.get(at);
        return profile ? { signature: 'a{sa{sv}}', body: [profile.settings] } : unknown(at);
      }
      case 'AddConnection':
      case 'AddConnection2':
        return {
          signature: member === 'AddConnection' ? 'o' : 'oa{sv}',
          body: [this.addProfile(body[0] as Settings), ...(member === 'AddConnection' ? [] : [new Map()])],
        };
      case 'Update':
        return this.#update(at, body[0] as Settings);
      case 'Delete':
        return this.#delete(at);
      case 'RequestScan':
        return this.#scan(at, body[0]);
      case 'ActivateConnection':
        return this.#activate(String(body[0]), String(body[1]));
      case 'CheckConnectivity':
        return { signature: 'u', body: [this.connectivity ?? 4] };
      case 'CheckpointCreate':
      case 'CheckpointDestroy':
      case 'CheckpointRollback':
        return this.#checkpoint(member, String(body[0]));
      case 'DeactivateConnection':
      case 'Reload':
        return empty;
      case 'Set':
        this.radio = { ...this.radio, isOn: true };
        return empty;
      case 'Get':
        return { signature: 'v', body: [text(this.version)] };
      default:
        return { error: 'org.freedesktop.DBus.Error.UnknownMethod', text: `${of}.${member}` };
    }
  }

  #all(at: string, of: string): Answer {
    const found = this.#objects().get(at);
    const properties = found instanceof Map ? (found.get(of) as DBusValue | undefined) : undefined;
    return properties === undefined ? unknown(at) : { signature: 'a{sv}', body: [properties] };
  }

  #update(at: string, settings: Settings): Answer {
    const before = this.#profiles.get(at);
    if (!before) return unknown(at);
    const after = stored(settings);
    // Secrets that are not sent are kept.
    this.#profiles.set(at, after.psk === '' ? { ...after, psk: before.psk } : after);
    this.bus.emit(at, `${name}.Settings.Connection`, 'Updated', '', []);
    return empty;
  }

  #delete(at: string): Answer {
    const deleted = this.#profiles.get(at);
    if (!deleted || !this.#profiles.delete(at)) return unknown(at);
    for (const [device, link] of this.#links) {
      if (link.profile !== at) continue;
      this.#ending.set(at, deleted.settings);
      setTimeout(() => this.#deactivate(device, link), deactivateMs);
    }
    this.bus.emit(`${root}/Settings`, `${name}.Settings`, 'ConnectionRemoved', 'o', [at]);
    return empty;
  }

  #deactivate(device: string, link: Link): void {
    this.#ending.delete(link.profile);
    if (this.#links.get(device) !== link || this.#profiles.has(link.profile)) return;
    this.#links.delete(device);
    this.#setDevice(device, 30, 38);
  }

  #scan(device: string, options: DBusValue | undefined): Answer {
    const wanted = sectionsOrBytes(options);
    const points = [...this.#accessPoints.values()].filter(
      ({ isOn, isHidden, ssid }) => isOn && (!isHidden || wanted.includes(Buffer.from(ssid).toString('hex'))),
    );
    this.#seen = points.map((point) => point.path);
    this.#scans += 1;
    this.#changed(device, `${name}.Device.Wireless`, { LastScan: new Variant('x', BigInt(this.#scans)) });
    return empty;
  }

  async #activate(profile: string, wanted: string): Promise<Answer> {
    const settings = this.#profiles.get(profile)?.settings;
    if (!settings) return { error: `${name}.UnknownConnection`, text: 'Connection could not be found.' };
    const connection = settings.get('connection') ?? new Map<string, Variant>();
    const isWifi = textIn(connection, 'type') === '802-11-wireless';
    const device = wanted === '/' ? this.#devicePath(isWifi ? 'wlan0' : 'eth0') : wanted;
    if (device === undefined || !this.#devices.has(device))
      return { error: `${name}.UnknownDevice`, text: 'No suitable device found' };
    if (isHotspot(settings)) await this.shares();
    const active = this.#next('ActiveConnection');
    const link = { active, profile, accessPoint: '', address: addressOf(settings) };
    this.#links.delete(device);
    for (const state of [40, 50]) this.#setDevice(device, state, 0);
    const outcome = isWifi
      ? this.#associate(profile, link)
      : { link: { ...link, address: link.address || '192.168.5.2/24' } };
    queueMicrotask(() => setImmediate(() => this.#settle(device, active, outcome)));
    if ('link' in outcome) this.#links.set(device, outcome.link);
    return path(active);
  }

  #settle(device: string, active: string, outcome: { link: Link } | { reason: number }): void {
    const changed = `${name}.Connection.Active`;
    if ('link' in outcome) {
      for (const state of [70, 100]) this.#setDevice(device, state, 0);
      this.bus.emit(active, changed, 'StateChanged', 'uu', [2, 1]);
      return;
    }
    if (outcome.reason === 7) this.#setDevice(device, 60, 8);
    if (outcome.reason === 5) this.#setDevice(device, 70, 0);
    this.#setDevice(device, 120, outcome.reason);
    this.bus.emit(active, changed, 'StateChanged', 'uu', [4, 3]);
    this.#links.delete(device);
    this.#setDevice(device, 30, 0);
  }

  #associate(profile: string, link: Link): { link: Link } | { reason: number } {
    const { settings, psk } = this.#profiles.get(profile) ?? {
      settings: new Map<string, Map<string, Variant>>(),
      psk: '',
    };
    const wireless = settings.get('802-11-wireless') ?? new Map<string, Variant>();
    if (textIn(wireless, 'mode') === 'ap') return this.dnsHolder === '' ? { link } : { reason: 5 };
    const point = this.#accessPoints.get(ssidOf(settings));
    if (!point?.isOn) return { reason: 53 };
    const isOnlySae = (point.rsnFlags & 0x500) === 0x400;
    const management = textIn(settings.get('802-11-wireless-security') ?? new Map<string, Variant>(), 'key-mgmt');
    if (isOnlySae && management !== 'sae') return { reason: 53 };
    if (point.password !== psk) return { reason: isOnlySae ? 53 : 7 };
    if (!point.hasDhcp && link.address === '') return { reason: 5 };
    return { link: { ...link, accessPoint: point.path, address: link.address || '192.168.5.3/24' } };
  }

  #checkpoint(member: string, at: string): Answer {
    if (member === 'CheckpointCreate') {
      const made = this.#next('Checkpoint');
      const used = new Set([...this.#links.values()].map(({ profile }) => profile));
      this.#checkpoints.set(made, { profiles: new Map(this.#profiles), used });
      return path(made);
    }
    const kept = this.#checkpoints.get(at);
    if (!kept || !this.#checkpoints.delete(at))
      return { error: `${name}.InvalidArguments`, text: `checkpoint ${at} does not exist` };
    if (member === 'CheckpointDestroy') return empty;
    this.#rollBack(kept);
    return { signature: 'a{su}', body: [new Map()] };
  }

  /** As NetworkManager does: only profiles in use come back, and new ones go. */
  #rollBack({ profiles, used }: Snapshot): void {
    for (const profile of this.#profiles.keys()) if (!profiles.has(profile)) this.#profiles.delete(profile);
    for (const [profile, value] of profiles) {
      if (!used.has(profile)) continue;
      this.#profiles.set(profile, value);
      if (![...this.#links.values()].some((link) => link.profile === profile)) void this.#activate(profile, '/');
    }
  }

  /** The checkpoints were not confirmed in time. */
  endCheckpoints(): void {
    for (const kept of this.#checkpoints.values()) this.#rollBack(kept);
    this.#checkpoints.clear();
  }

  // Objects

  #next(kind: string): string {
    return `${root}/${kind}/${++this.#numbers}`;
  }

  #devicePath(of: string): string | undefined {
    return [...this.#devices].find(([, device]) => device.name === of)?.[0];
  }

  #setDevice(at: string, state: number, reason: number): void {
    const device = this.#devices.get(at);
    if (!device) return;
    this.#devices.set(at, { ...device, state });
    this.bus.emit(at, `${name}.Device`, 'StateChanged', 'uuu', [state, device.state, reason]);
    this.#changed(at, `${name}.Device`, { State: number(state) });
  }

  #changed(at: string, of: string, properties: Record<string, DBusValue>): void {
    this.bus.emit(at, 'org.freedesktop.DBus.Properties', 'PropertiesChanged', 'sa{sv}as', [of, dict(properties), []]);
  }

  #objects(): Map<string, DBusValue> {
    const objects = new Map<string, DBusValue>();
    const isChecking = new Variant('b', this.connectivity !== undefined);
    const manager = {
      Version: text(this.version),
      Connectivity: number(this.connectivity ?? 4),
      ConnectivityCheckAvailable: isChecking,
      ConnectivityCheckEnabled: isChecking,
      WirelessEnabled: new Variant('b', this.radio.isOn),
      WirelessHardwareEnabled: new Variant('b', this.radio.isHardwareOn),
    };
    objects.set(root, new Map([[name, dict(manager)]]));
    for (const at of this.#profiles.keys())
      objects.set(at, new Map([[`${name}.Settings.Connection`, dict({ Unsaved: new Variant('b', false) })]]));
    for (const { path: at, ...point } of this.#accessPoints.values()) objects.set(at, accessPointObject(point));
    for (const [at, device] of this.#devices) this.#addDevice(objects, at, device);
    return objects;
  }

  #addDevice(objects: Map<string, DBusValue>, at: string, device: { name: string; type: number; state: number }): void {
    const link = this.#links.get(at);
    const settings = this.#profiles.get(link?.profile ?? '')?.settings ?? this.#ending.get(link?.profile ?? '');
    const isHotspot = settings !== undefined && textIn(sectionOf(settings, '802-11-wireless'), 'mode') === 'ap';
    const config = `${root}/IP4Config/${device.type}`;
    const properties = {
      Interface: text(device.name),
      DeviceType: number(device.type),
      State: number(device.state),
      InterfaceFlags: number(device.type === 2 && !this.#hasRadioLink ? linkDown : linkUp),
      ActiveConnection: object(link?.active ?? '/'),
      Ip4Config: object(link ? config : '/'),
      Ip6Config: object('/'),
    };
    const wireless = {
      AccessPoints: new Variant('ao', this.#seen),
      ActiveAccessPoint: object(link?.accessPoint || '/'),
      LastScan: new Variant('x', BigInt(this.#scans)),
      WirelessCapabilities: number(this.capabilities),
    };
    const interfaces: Record<string, DBusValue> = { [`${name}.Device`]: dict(properties) };
    if (device.type === 2) interfaces[`${name}.Device.Wireless`] = dict(wireless);
    objects.set(at, dict(interfaces));
    if (!link || !settings) return;
    const [address = '', prefix = ''] = link.address.split('/');
    const data = new Variant('aa{sv}', [dict({ address: text(address), prefix: number(Number(prefix)) })]);
    const gateway = text(isHotspot ? '' : '192.168.5.1');
    objects.set(config, dict({ [`${name}.IP4Config`]: dict({ AddressData: data, Gateway: gateway }) }));
    const active = {
      Uuid: sectionOf(settings, 'connection').get('uuid') ?? text(''),
      Devices: new Variant('ao', [at]),
      State: number(device.state === 100 ? 2 : 1),
      Default: new Variant('b', !isHotspot),
      Default6: new Variant('b', false),
    };
    objects.set(link.active, dict({ [`${name}.Connection.Active`]: dict(active) }));
  }
}

const unknown = (at: string): Answer => ({
  error: 'org.freedesktop.DBus.Error.UnknownMethod',
  text: `Object does not exist at path “${at}”`,
});

const sectionOf = (settings: Settings, section: string): ReadonlyMap<string, Variant> =>
  settings.get(section) ?? new Map<string, Variant>();
const ssidOf = (settings: Settings): string =>
  Buffer.from(bytesIn(sectionOf(settings, '802-11-wireless'), 'ssid')).toString('hex');

function addressOf(settings: Settings): string {
  const [first] = sectionsIn(sectionOf(settings, 'ipv4'), 'address-data');
  const prefix = first?.get('prefix');
  return first && prefix instanceof Variant ? `${textIn(first, 'address')}/${String(prefix.value)}` : '';
}

const isHotspot = (settings: Settings): boolean => textIn(sectionOf(settings, '802-11-wireless'), 'mode') === 'ap';

const certificates = ['ca-cert', 'client-cert', 'private-key'] as const;

/** Certificates and keys become files of their own, whose path is returned. */
function withFiles(settings: Settings): Settings {
  const section = sectionOf(settings, '802-1x');
  if (section.size === 0) return settings;
  const uuid = textIn(sectionOf(settings, 'connection'), 'uuid');
  const paths = certificates.flatMap((key): [string, Variant][] => {
    const file = `file:///etc/NetworkManager/system-connections/${uuid}-${key}.pem\0`;
    return section.has(key) ? [[key, new Variant('ay', Buffer.from(file))]] : [];
  });
  return new Map([...settings, ['802-1x', new Map([...section, ...paths])]]);
}

/** Secrets are not returned to readers. */
function stored(given: Settings): { settings: Settings; psk: string } {
  const settings = withFiles(given);
  const security = new Map(sectionOf(settings, '802-11-wireless-security'));
  const psk = textIn(security, 'psk');
  security.delete('psk');
  return {
    psk,
    settings: security.size === 0 ? settings : new Map([...settings, ['802-11-wireless-security', security]]),
  };
}

function sectionsOrBytes(options: DBusValue | undefined): string[] {
  const ssids = propertiesOf(options).get('ssids');
  const list = ssids instanceof Variant && Array.isArray(ssids.value) ? (ssids.value as readonly DBusValue[]) : [];
  return list.flatMap((ssid) => (ssid instanceof Uint8Array ? [Buffer.from(ssid).toString('hex')] : []));
}

const accessPointObject = ({
  ssid,
  password,
  rsnFlags,
  isNeverSeen,
}: Omit<ScriptedAccessPoint, 'path'>): Map<string, DBusValue> =>
  dict({
    [`${name}.AccessPoint`]: dict({
      Ssid: new Variant('ay', ssid),
      Strength: new Variant('y', 70),
      Frequency: number(2412),
      Mode: number(2),
      Flags: number(password === '' ? 0 : 1),
      WpaFlags: number(0),
      RsnFlags: number(password === '' ? 0 : rsnFlags),
      LastSeen: new Variant('i', isNeverSeen ? -1 : Math.floor(uptime())),
    }),
  });
