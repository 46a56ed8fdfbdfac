// What the objects of NetworkManager say about devices and visible networks. Numbers are those of its D-Bus API:
// https://networkmanager.dev/docs/api/latest/nm-dbus-types.html
import type { LinkDevice, SavedProfile, VisibleNetwork, WifiSecurity } from '../../network-port.ts';
import type { DBusValue } from '../dbus/values.ts';
import {
  bytesIn,
  flagIn,
  numberIn,
  noProperties,
  type Properties,
  propertiesOf,
  sectionsIn,
  textIn,
  textsIn,
} from '../dbus/read.ts';

export const managerName = 'org.freedesktop.NetworkManager';
export const managerPath = '/org/freedesktop/NetworkManager';

/** Interfaces and properties by object path. */
export type Objects = ReadonlyMap<string, ReadonlyMap<string, Properties>>;

export function objectsOf(value: DBusValue | undefined): Objects {
  const paths = [...propertiesOf(value)];
  return new Map(
    paths.map(([path, interfaces]) => [
      path,
      new Map([...propertiesOf(interfaces)].map(([name, properties]) => [name, propertiesOf(properties)])),
    ]),
  );
}

/** @param name - after org.freedesktop.NetworkManager; empty: that interface itself. */
export const propertiesAt = (objects: Objects, path: string, name: string): Properties =>
  objects.get(path)?.get(name === '' ? managerName : `${managerName}.${name}`) ?? noProperties;

const oldestVersion = [1, 30] as const;

export function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < oldestVersion[0] || (major === oldestVersion[0] && minor < oldestVersion[1]);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** An SSID is bytes: those that are not UTF-8 are written as \xNN. */
export function ssidText(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    return [...bytes].map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : hex(byte))).join('');
  }
}
const hex = (byte: number): string => `\\x${byte.toString(16).padStart(2, '0')}`;

const keyManagement = {
  psk: 0x100,
  eap: 0x200,
  sae: 0x400,
  owe: 0x800,
  oweTransition: 0x1000,
  eapSuiteB: 0x2000,
} as const;
const privacy = 1;

export function securityOf(accessPoint: Properties): WifiSecurity {
  const rsn = numberIn(accessPoint, 'RsnFlags');
  // An open access point that names its encrypted twin is joined as an open one.
  const any = (rsn | numberIn(accessPoint, 'WpaFlags')) & ~keyManagement.oweTransition;
  if ((any & (keyManagement.eap | keyManagement.eapSuiteB)) !== 0) return 'wpa-eap';
  if ((rsn & keyManagement.sae) !== 0) return 'sae';
  if ((any & keyManagement.psk) !== 0) return 'wpa-psk';
  if ((rsn & keyManagement.owe) !== 0) return 'owe';
  if (any !== 0) return 'unknown';
  return (numberIn(accessPoint, 'Flags') & privacy) === 0 ? 'open' : 'wep';
}

/** WPA3 without WPA2: it needs a profile of its own kind. */
export const isOnlySae = (accessPoint: Properties): boolean =>
  securityOf(accessPoint) === 'sae' &&
  ((numberIn(accessPoint, 'RsnFlags') | numberIn(accessPoint, 'WpaFlags')) & keyManagement.psk) === 0;

const deviceType = { wired: 1, wifi: 2, bluetooth: 5, veth: 20, wifiDirect: 30, loopback: 32 } as const;
const kinds = new Map<number, LinkDevice['type']>([
  [deviceType.wired, 'wired'],
  [deviceType.veth, 'wired'],
  [deviceType.wifi, 'wifi'],
  [deviceType.bluetooth, 'bluetooth'],
]);

export const deviceState = {
  unmanaged: 10,
  unavailable: 20,
  needAuth: 60,
  ipConfig: 70,
  activated: 100,
  deactivating: 110,
  failed: 120,
} as const;

function stateOf(state: number): LinkDevice['state'] {
  if (state <= deviceState.unmanaged) return 'unmanaged';
  if (state < 30) return 'unavailable';
  if (state === deviceState.activated) return 'connected';
  if (state === deviceState.failed) return 'failed';
  return state === 30 || state > deviceState.activated ? 'disconnected' : 'connecting';
}

/** Paths of the devices by the name of their interface. */
export function devicePaths(objects: Objects): Map<string, string> {
  const found = [...objects].flatMap(([path, interfaces]): [string, string][] => {
    const device = interfaces.get(`${managerName}.Device`);
    return device ? [[textIn(device, 'Interface'), path]] : [];
  });
  return new Map(found.filter(([name]) => name !== ''));
}

/** Radios that NetworkManager calls connected to an access point, and on which the kernel has no link. */
export function radiosWithoutLink(objects: Objects): string[] {
  const lowerUp = 0x2;
  const accessPoint = 3;
  return [...devicePaths(objects).values()].filter((path) => {
    const device = propertiesAt(objects, path, 'Device');
    const mode = numberIn(propertiesAt(objects, path, 'Device.Wireless'), 'Mode');
    const isJoined = numberIn(device, 'DeviceType') === deviceType.wifi && mode !== accessPoint;
    const isConnected = numberIn(device, 'State') === deviceState.activated && device.has('InterfaceFlags');
    return isJoined && isConnected && (numberIn(device, 'InterfaceFlags') & lowerUp) === 0;
  });
}

/** @param lost - radios whose link is lost, whatever NetworkManager says. */
export function devicesOf(
  objects: Objects,
  profiles: readonly SavedProfile[],
  lost: ReadonlySet<string> = new Set(),
): LinkDevice[] {
  return [...devicePaths(objects)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, path]) => {
      const type = numberIn(propertiesAt(objects, path, 'Device'), 'DeviceType');
      const isLeftOut = type === deviceType.loopback || type === deviceType.wifiDirect;
      if (isLeftOut) return [];
      const device = deviceAt(objects, path, profiles);
      return [lost.has(path) ? { ...device, ...noLink } : device];
    });
}

const noLink = {
  state: 'disconnected',
  profile: '',
  ssid: '',
  addresses: [],
  gateway: '',
  signalPercent: 0,
  hasDefaultRoute: false,
} as const satisfies Partial<LinkDevice>;

function deviceAt(objects: Objects, path: string, profiles: readonly SavedProfile[]): LinkDevice {
  const device = propertiesAt(objects, path, 'Device');
  const wireless = propertiesAt(objects, path, 'Device.Wireless');
  const active = propertiesAt(objects, textIn(device, 'ActiveConnection'), 'Connection.Active');
  const accessPoint = propertiesAt(objects, textIn(wireless, 'ActiveAccessPoint'), 'AccessPoint');
  const ip = [
    propertiesAt(objects, textIn(device, 'Ip4Config'), 'IP4Config'),
    propertiesAt(objects, textIn(device, 'Ip6Config'), 'IP6Config'),
  ];
  const profile = profiles.find(({ uuid }) => uuid === textIn(active, 'Uuid'));
  const isHotspot = profile?.isHotspot ?? false;
  const seenSsid = ssidText(bytesIn(accessPoint, 'Ssid'));
  const gateways = ip.map((config) => textIn(config, 'Gateway')).filter((gateway) => gateway !== '');
  const hasRoute =
    gateways.length > 0 ||
    ip.some((config) => sectionsIn(config, 'RouteData').some((route) => numberIn(route, 'prefix') === 0));
  return {
    interface: textIn(device, 'Interface'),
    type: kinds.get(numberIn(device, 'DeviceType')) ?? 'other',
    state: stateOf(numberIn(device, 'State')),
    profile: textIn(active, 'Uuid'),
    ssid: isHotspot ? (profile?.ssid ?? '') : seenSsid,
    isHotspot,
    addresses: ip.flatMap((config) => sectionsIn(config, 'AddressData').map(cidr)),
    gateway: gateways[0] ?? '',
    signalPercent: isHotspot ? 0 : numberIn(accessPoint, 'Strength'),
    // Only one of two uplinks is the default. NetworkManager does not report which if it does not manage the device.
    hasDefaultRoute: active === noProperties ? hasRoute : flagIn(active, 'Default') || flagIn(active, 'Default6'),
  };
}

/** Addresses of the name servers that the links gave, those of the default route first. */
export function nameServersOf(objects: Objects): string[] {
  const links = [...devicePaths(objects).values()].map((path) => {
    const device = propertiesAt(objects, path, 'Device');
    const active = propertiesAt(objects, textIn(device, 'ActiveConnection'), 'Connection.Active');
    const config = propertiesAt(objects, textIn(device, 'Ip4Config'), 'IP4Config');
    const servers = sectionsIn(config, 'NameserverData').map((server) => textIn(server, 'address'));
    return { isDefault: flagIn(active, 'Default'), servers: servers.filter((server) => server !== '') };
  });
  const inOrder = links.toSorted((a, b) => Number(b.isDefault) - Number(a.isDefault));
  return [...new Set(inOrder.flatMap(({ servers }) => servers))];
}

const cidr = (address: Properties): string => `${textIn(address, 'address')}/${numberIn(address, 'prefix')}`;

/** The access points that a radio sees, without hidden ones and its own hotspot. */
function accessPointsAt(objects: Objects, device: string): [path: string, accessPoint: Properties][] {
  const ownHotspot = 3;
  const neverSeen = -1;
  return (
    textsIn(propertiesAt(objects, device, 'Device.Wireless'), 'AccessPoints')
      .map((path): [string, Properties] => [path, propertiesAt(objects, path, 'AccessPoint')])
      .filter(([, point]) => bytesIn(point, 'Ssid').length > 0 && numberIn(point, 'Mode') !== ownHotspot)
      // An activation adds an access point that no scan has found.
      .filter(([, point]) => numberIn(point, 'LastSeen') !== neverSeen)
  );
}

/** @param seen - when an access point was last seen, ms of the monotonic clock. */
export function visibleOf(objects: Objects, seen: (path: string, accessPoint: Properties) => number): VisibleNetwork[] {
  return [...devicePaths(objects)].flatMap(([name, device]) => {
    const bySsid = new Map<string, VisibleNetwork>();
    for (const [path, point] of accessPointsAt(objects, device)) {
      const network = {
        ssid: ssidText(bytesIn(point, 'Ssid')),
        interface: name,
        security: securityOf(point),
        signalPercent: numberIn(point, 'Strength'),
        frequencyMhz: numberIn(point, 'Frequency'),
        seen: seen(path, point),
      };
      const other = bySsid.get(network.ssid);
      if (!other || other.signalPercent < network.signalPercent) bySsid.set(network.ssid, network);
    }
    return [...bySsid.values()].toSorted((a, b) => b.signalPercent - a.signalPercent || (a.ssid < b.ssid ? -1 : 1));
  });
}

/** The bytes and kinds of the visible SSIDs that this text stands for. */
export function accessPointsOf(objects: Objects, ssid: string): Properties[] {
  return [...devicePaths(objects).values()].flatMap((device) =>
    accessPointsAt(objects, device).flatMap(([, point]) => (ssidText(bytesIn(point, 'Ssid')) === ssid ? [point] : [])),
  );
}
