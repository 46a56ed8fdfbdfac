import type {
  Connectivity,
  Hotspot,
  JoinFailure,
  LinkDevice,
  NetworkState,
  SavedProfile,
  VisibleNetwork,
  WifiSecurity,
} from '../network-port.ts';

export interface SimAccessPoint {
  ssid: string;
  /** Empty: an open network. */
  password: string;
  security: WifiSecurity;
  signalPercent: number;
  frequencyMhz: number;
  isOn: boolean;
  isHidden: boolean;
  hasDhcp: boolean;
  /** Its router gives IPv6 addresses only. */
  isIpv6Only: boolean;
  internet: Connectivity;
}

/** Works, with the password `password1`. */
export const simAccessPoint = (ssid: string): SimAccessPoint => ({
  ssid,
  password: 'password1',
  security: 'wpa-psk',
  signalPercent: 70,
  frequencyMhz: 2412,
  isOn: true,
  isHidden: false,
  hasDhcp: true,
  isIpv6Only: false,
  internet: 'full',
});

export interface SimCable {
  interface: string;
  isPlugged: boolean;
  hasDhcp: boolean;
  internet: Connectivity;
}

export interface SimProfile extends SavedProfile {
  psk: string;
  /** Static address; empty: DHCP. */
  address: string;
  routeMetric: number;
  savedAt: number;
}

export interface SimLink {
  profile: string;
  ssid: string;
  address: string;
  routeMetric: number;
}

/** Everything of a simulated network at one moment. */
export interface SimWorld {
  manager: NetworkState['manager'];
  radios: readonly string[];
  cables: readonly SimCable[];
  accessPoints: readonly SimAccessPoint[];
  profiles: readonly SimProfile[];
  links: ReadonlyMap<string, SimLink>;
  visible: readonly VisibleNetwork[];
  /** Interfaces that are being connected. */
  busy: ReadonlySet<string>;
  hotspot: Hotspot | undefined;
}

/** The interface that a profile would use; an empty `interfaceName`: any that fits. */
export function deviceFor(
  { radios, cables }: SimWorld,
  { type, interface: own }: SimProfile,
  interfaceName: string,
): string | undefined {
  const devices = type === 'wifi' ? radios : cables.map((cable) => cable.interface);
  return devices.find((name) => (own === '' || own === name) && (interfaceName === '' || interfaceName === name));
}

/** Why the profile cannot be connected now; undefined: it can. */
export function failureOf(
  { radios, cables, accessPoints }: SimWorld,
  profile: SimProfile,
  device: string,
): JoinFailure | undefined {
  if (profile.type === 'wired') {
    const cable = cables.find((one) => one.interface === device);
    if (!cable?.isPlugged) return 'device-gone';
    return cable.hasDhcp || profile.address !== '' ? undefined : 'no-address';
  }
  if (!radios.includes(device)) return 'device-gone';
  const point = accessPoints.find((one) => one.ssid === profile.ssid && one.isOn);
  if (!point) return 'not-found';
  if (point.password !== profile.psk) return 'wrong-password';
  return point.hasDhcp || point.isIpv6Only || profile.address !== '' ? undefined : 'no-address';
}

/** A static address leads to the internet only in the subnet of the router. */
const subnet = '192.168.1.';
export const simIpv6Address = '2001:db8::20/64';

export function connectivityOf({ links, cables, accessPoints }: SimWorld): Connectivity {
  const [first] = [...links].toSorted(([, a], [, b]) => a.routeMetric - b.routeMetric);
  if (!first) return 'none';
  const [device, { ssid, address }] = first;
  const cable = cables.find((one) => one.interface === device);
  const source = cable ?? accessPoints.find((one) => one.ssid === ssid);
  return address.startsWith(subnet) || address === simIpv6Address ? (source?.internet ?? 'none') : 'limited';
}

const unknownNetwork = {
  connectivity: 'unknown',
  checkedAt: null,
  nameServers: [],
  devices: [],
  profiles: [],
  visible: [],
} as const;

export function observe(world: SimWorld): NetworkState {
  const { manager, radios, cables, profiles, visible, links } = world;
  if (manager !== 'ready') return { ...unknownNetwork, manager, version: manager === 'too-old' ? '1.20.0' : '' };
  return {
    manager,
    version: '1.42.4',
    connectivity: connectivityOf(world),
    checkedAt: null,
    nameServers: links.size > 0 ? [`${subnet}1`] : [],
    devices: [
      ...radios.map((name) => deviceOf(world, name, 'wifi')),
      ...cables.map(({ interface: name }) => deviceOf(world, name, 'wired')),
    ],
    profiles: profiles.map(
      ({ psk: _psk, address: _address, routeMetric: _metric, savedAt: _at, ...profile }) => profile,
    ),
    visible,
  };
}

function deviceOf(world: SimWorld, name: string, type: 'wifi' | 'wired'): LinkDevice {
  const { links, hotspot, accessPoints } = world;
  const link = links.get(name);
  const base = { interface: name, type, state: stateOf(world, name, type), isHotspot: false } as const;
  if (hotspot?.interface === name)
    return {
      ...base,
      profile: 'hotspot',
      ssid: hotspot.ssid,
      isHotspot: true,
      addresses: ['10.42.0.1/24'],
      gateway: '',
      signalPercent: 0,
      hasDefaultRoute: false,
    };
  const metrics = [...links.values()].map(({ routeMetric }) => routeMetric);
  return {
    ...base,
    profile: link?.profile ?? '',
    ssid: link?.ssid ?? '',
    addresses: link ? [link.address] : [],
    gateway: link ? `${subnet}1` : '',
    signalPercent: accessPoints.find((one) => one.ssid === link?.ssid)?.signalPercent ?? 0,
    hasDefaultRoute: link !== undefined && link.routeMetric === Math.min(...metrics),
  };
}

function stateOf(
  { links, hotspot, busy, cables }: SimWorld,
  name: string,
  type: 'wifi' | 'wired',
): LinkDevice['state'] {
  if (links.has(name) || hotspot?.interface === name) return 'connected';
  if (busy.has(name)) return 'connecting';
  const isUsable = type === 'wifi' || cables.some((one) => one.interface === name && one.isPlugged);
  return isUsable ? 'disconnected' : 'unavailable';
}
