import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { type Clock, errorText, type Log } from '@platform/kit';
import type { ManagedFiles } from '../../managed-files.ts';
import type { Hotspot, HotspotResult, JoinResult } from '../../network-port.ts';
import type { ProcessInfo } from '../../ports.ts';
import type { Peer } from '../dbus/bus.ts';
import { numberIn } from '../dbus/read.ts';
import { freeSubnet, routesOf } from './free-subnet.ts';
import { type Channel, hotspotChannel } from './hotspot-channel.ts';
import { activate, type ActivationParts } from './activation.ts';
import { devicePaths, managerName, managerPath, type Objects, propertiesAt, visibleOf } from './objects.ts';
import type { HotspotForwarding } from './hotspot-forwarding.ts';
import { hotspotSettings } from './profiles.ts';
import { switchOn } from './radio.ts';
import { datagramHolderOf } from '../kernel/process-table.ts';
import type { RadioRules } from '../kernel/radio-rules.ts';

/** What a hotspot uses of the machine besides NetworkManager. */
export interface HotspotHost {
  /** Addresses and routes of the other interfaces, in CIDR form. */
  networks(except: string): Promise<readonly string[]>;
  /** The process that holds a UDP port on all addresses. */
  datagramHolder(port: number): Promise<ProcessInfo | undefined>;
}

export const hotspotHost: HotspotHost = {
  networks: async (except) => {
    const others = Object.entries(networkInterfaces()).filter(([name]) => name !== except);
    const addresses = others.flatMap(([, list]) => list ?? []);
    const routes = routesOf(await readFile('/proc/net/route', 'utf8').catch(() => ''), except);
    return [...addresses.flatMap(({ cidr }) => cidr ?? []), ...routes];
  },
  datagramHolder: datagramHolderOf,
};

/** The DNS server of a shared connection reads it when the hotspot starts. */
const namesFile = '/etc/NetworkManager/dnsmasq-shared.d/80-platform.conf';
const dnsPort = 53;
const dhcpPort = 67;
/** From NetworkManager's acceptance. */
const limitMs = 60_000;
/** A DNS server that finds its port taken ends within some tenths of a second. */
const settleMs = 1_500;
const capability = { accessPoint: 0x40, bandsAreKnown: 0x100, has24: 0x200 } as const;
const inMemory = 2;

interface HotspotParts extends ActivationParts {
  clock: Clock;
  log: Log;
  files: ManagedFiles;
  host: HotspotHost;
  rules: RadioRules;
  forwarding: HotspotForwarding;
  /** Receives the channel before the hotspot starts on it: it may become forbidden at any time. */
  runsOn: (channel: Channel | undefined) => void;
  objects: () => Promise<Objects>;
}

const noRadio = (detail: string): HotspotResult => ({ ok: false, reason: 'no-radio', detail });

export async function startHotspot(of: Hotspot, parts: HotspotParts, signal: AbortSignal): Promise<HotspotResult> {
  const radio = await readyRadio(of.interface, parts, signal);
  if (!('path' in radio)) return radio;
  const channel = await channelFor(of, parts);
  if (channel === 'none')
    return {
      ok: false,
      reason: 'failed',
      detail: `the rules in effect allow no channel for a hotspot on ${of.interface}`,
    };
  // The radio keeps the address of an earlier hotspot for a moment.
  const subnet = freeSubnet(await parts.host.networks(of.interface));
  await parts.files.write(namesFile, namesText(of, subnet.address));
  const { problem } = of.isSharing ? { problem: '' } : await parts.forwarding.block(of.interface);
  if (problem !== '') return { ok: false, reason: 'failed', detail: problem };
  const band = channel?.band ?? (radio.has24 ? 'bg' : 'a');
  const settings = hotspotSettings({ ...of, ...subnet, uuid: randomUUID(), band, channel: channel?.number });
  const [profile] = await parts.manager.call({
    path: `${managerPath}/Settings`,
    interface: `${managerName}.Settings`,
    member: 'AddConnection2',
    signature: 'a{sa{sv}}ua{sv}',
    args: [settings, inMemory, new Map()],
  });
  if (typeof profile !== 'string') return { ok: false, reason: 'failed', detail: 'NetworkManager returned no profile' };
  const activation = { profile, device: radio.path, security: 'psk', limitMs, settleMs } as const;
  parts.runsOn(channel);
  const result = await blocked(await activate(activation, parts, signal), parts);
  if (result.ok && !signal.aborted) return { ok: true, address: subnet.address };
  await removeProfile(parts.manager, profile);
  await parts.forwarding.release();
  const holder = await portHolder(parts.host);
  if (holder) return { ok: false, reason: 'foreign', detail: holder };
  return { ok: false, reason: 'failed', detail: result.ok ? 'it was cancelled' : result.detail };
}

/** NetworkManager has turned on forwarding for the whole machine, also for the hotspot, while it started it. */
async function blocked(result: JoinResult, { forwarding }: HotspotParts): Promise<JoinResult> {
  const { problem } = result.ok ? await forwarding.check() : { problem: '' };
  return problem === '' ? result : { ok: false, reason: 'failed', detail: problem };
}

/** Undefined: the rules are not known, and NetworkManager chooses. */
async function channelFor(of: Hotspot, { rules, objects, log }: HotspotParts): Promise<Channel | 'none' | undefined> {
  try {
    const channels = await rules.channels(of.interface);
    if (channels.length === 0) return undefined;
    const visible = visibleOf(await objects(), () => 0).filter((one) => one.interface === of.interface);
    return hotspotChannel(channels, of.band, visible) ?? 'none';
  } catch (error) {
    log.debug('the rules of the radio cannot be read', { reason: errorText(error) });
    return undefined;
  }
}

/**
 * `address=` answers for IPv4 only, and dnsmasq asks the machine's own DNS servers for every other type, which a phone
 * waits for. `local=/#/` has no effect without `no-resolv`.
 */
export function namesText({ isRedirecting, isSharing }: Hotspot, address: string): string {
  const names = isRedirecting ? [`address=/#/${address}`] : [`address=/setup/${address}`, 'local=/setup/'];
  const others = isSharing && !isRedirecting ? [] : ['local=/#/', 'no-resolv'];
  return ['# Written by platform-agent for its hotspot.', ...names, ...others, ''].join('\n');
}

export const removeProfile = (manager: Peer, path: string): Promise<unknown> =>
  manager.call({ path, interface: `${managerName}.Settings.Connection`, member: 'Delete' });

async function portHolder(host: HotspotHost): Promise<string | undefined> {
  for (const port of [dnsPort, dhcpPort]) {
    const holder = await host.datagramHolder(port);
    if (holder) return `${holder.command} (process ${holder.pid}) holds UDP port ${port}`;
  }
  return undefined;
}

/** The radio, switched on. */
async function readyRadio(
  name: string,
  parts: HotspotParts,
  signal: AbortSignal,
): Promise<HotspotResult | { path: string; has24: boolean }> {
  const objects = await parts.objects();
  const path = devicePaths(objects).get(name);
  const wireless = propertiesAt(objects, path ?? '', 'Device.Wireless');
  if (path === undefined || wireless.size === 0) return noRadio(`there is no WiFi device ${name}`);
  const capabilities = numberIn(wireless, 'WirelessCapabilities');
  if (capabilities !== 0 && (capabilities & capability.accessPoint) === 0)
    return noRadio(`${name} cannot be an access point`);
  const problem = await switchOn(path, parts, signal);
  if (problem !== undefined) return noRadio(problem);
  return { path, has24: (capabilities & capability.bandsAreKnown) === 0 || (capabilities & capability.has24) !== 0 };
}
