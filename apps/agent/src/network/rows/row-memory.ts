// What the rows of the configured networks need from earlier observations. Pure.
import type { LinkDevice, NetworkState } from '../../os/network-port.ts';
import type { NetworkSettings } from '../settings/network-settings.ts';

/** Instants: ms since 1970. All lists are bounded by the configuration and by the devices of the machine. */
export interface RowMemory {
  /** When a radio saw a configured SSID last. */
  lastSeen: Readonly<Record<string, number>>;
  /** Interfaces on which the operating system connects a profile now, by its UUID. */
  connecting: Readonly<Record<string, string>>;
  /** Profiles that the operating system tried and could not connect since they last worked, by UUID. */
  failed: Readonly<Record<string, number>>;
  /** Radios and configured interfaces that were there once, and when last: a USB adapter may come back. */
  interfaces: Readonly<Record<string, SeenInterface>>;
}

export interface SeenInterface {
  isRadio: boolean;
  wall: number;
}

export const noMemory: RowMemory = { lastSeen: {}, connecting: {}, failed: {}, interfaces: {} };

const mostInterfaces = 16;

/** The memory after an observation; `now`: the monotonic clock, `wall`: the date. */
export function remember(
  before: RowMemory,
  { network, settings, now, wall }: { network: NetworkState; settings: NetworkSettings; now: number; wall: number },
): RowMemory {
  if (network.manager !== 'ready') return before;
  const ssids = new Set(settings.additional.map(({ ssid }) => ssid).filter((ssid) => ssid !== ''));
  const profiles = new Set(network.profiles.map(({ uuid }) => uuid));
  const lastSeen: Record<string, number> = keptOf(before.lastSeen, ssids);
  for (const { ssid, seen } of network.visible) {
    if (ssids.has(ssid)) lastSeen[ssid] = Math.max(lastSeen[ssid] ?? 0, Math.round(wall - (now - seen)));
  }
  const connecting: Record<string, string> = {};
  const failed: Record<string, number> = keptOf(before.failed, profiles);
  for (const { profile, state, interface: name } of network.devices) {
    if (profile === '') continue;
    if (state === 'connecting') connecting[profile] = name;
    if (state === 'connected') delete failed[profile];
  }
  for (const [profile, name] of Object.entries(before.connecting)) {
    const device = network.devices.find((one) => one.interface === name);
    const isOver = connecting[profile] === undefined && profiles.has(profile);
    // A device that is gone, or was given to another profile, says nothing about this one.
    if (isOver && device && device.profile !== profile && !isUsed(device)) failed[profile] = wall;
  }
  return { lastSeen, connecting, failed, interfaces: interfacesOf(before.interfaces, { network, settings, wall }) };
}

const isUsed = ({ state }: LinkDevice): boolean => state === 'connected' || state === 'connecting';

const keptOf = (of: Readonly<Record<string, number>>, names: ReadonlySet<string>): Record<string, number> =>
  Object.fromEntries(Object.entries(of).filter(([name]) => names.has(name)));

function interfacesOf(
  before: RowMemory['interfaces'],
  { network, settings, wall }: { network: NetworkState; settings: NetworkSettings; wall: number },
): RowMemory['interfaces'] {
  const named = new Set([settings.config.hotspot_interface, ...settings.additional.map((one) => one.interface)]);
  const found = network.devices.filter(({ type, interface: name }) => type === 'wifi' || named.has(name));
  const next = { ...before };
  for (const { interface: name, type } of found) next[name] = { isRadio: type === 'wifi', wall };
  const newest = Object.entries(next).toSorted(([, a], [, b]) => b.wall - a.wall);
  return Object.fromEntries(newest.slice(0, mostInterfaces));
}

/** Names that udev and the kernel give to devices on USB. */
const pluggable = /^(?:enx|wlx|wwx|usb|wwan)|^(?:en|wl)p\d+s\d+(?:f\d+)?u\d/;

/** An interface that is not there may come back: it was there before, or its name is that of a USB device. */
export const mayComeBack = (name: string, memory: RowMemory): boolean =>
  memory.interfaces[name] !== undefined || pluggable.test(name);

/** A radio was there before. */
export const hasHadRadio = (memory: RowMemory): boolean =>
  Object.values(memory.interfaces).some(({ isRadio }) => isRadio);
