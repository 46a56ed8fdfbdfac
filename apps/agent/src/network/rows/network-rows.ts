// One row for each configured network: what became of it on this machine, from what was observed. Pure.
import type { Ineffective } from '@platform/contract/config/effect';
import type { networkRowStates } from '@platform/contract/machine/network-states';
import { inOrder } from '../../state-machines/network-rules.ts';
import type { LinkDevice, NetworkState, SavedProfile } from '../../os/network-port.ts';
import type { ConfigContent } from '../../state/state.ts';
import { digestOf } from '../profiles/additional-plan.ts';
import type { LinkStatus } from './connection-history.ts';
import { modeOf, type AdditionalNetwork, type NetworkSettings } from '../settings/network-settings.ts';
import type { NetworkAttempt } from './network-status.ts';
import { observationOf, radioOf } from '../checks/observation.ts';
import { hasHadRadio, mayComeBack, type RowMemory } from './row-memory.ts';

export type NetworkRowState = keyof typeof networkRowStates;

/** Instants: ms since 1970; null: unknown, or it was not measured. */
export interface NetworkRow {
  /** In the configuration, as written. */
  path: string;
  /** Empty: a setting of the radio. */
  name: string;
  /** In use, or configured; empty: any. */
  interface: string;
  state: NetworkRowState;
  /** A clause without times. */
  text: string;
  /** Code of the error table, or empty. */
  code: string;
  sinceWall: number | null;
  measuredWall: number | null;
  lastSeenWall: number | null;
  /** It can never act on this machine as it is. */
  hasNoEffect: boolean;
}

/** About the configuration that it names. */
export interface NetworkRows extends ConfigContent {
  networks: readonly NetworkRow[];
  settings: readonly NetworkRow[];
  /** What can never act here, for the slice and the conditions. */
  ineffective: readonly Ineffective[];
}

export interface RowSource {
  settings: NetworkSettings;
  network: NetworkState;
  links: readonly LinkStatus[];
  attempts: readonly NetworkAttempt[];
  /** Why the networks are not applied; undefined: they are, or are being applied. */
  failure: { code: string; reason: string } | undefined;
  memory: RowMemory;
  /** NetworkManager runs and does not answer: what it reported before says nothing of now. */
  isSilent?: boolean;
  now: number;
  wall: number;
}

export const mostRows = 64;
/** A radio that is in use scans seldom: a network that it misses once is not out of range. */
const unseenMs = 3 * 60_000;

/** The rows of the configured networks, in the order of the configuration. */
export function configuredNetworks(of: RowSource): readonly NetworkRow[] {
  const { settings } = of;
  const networks = new Map(settings.additional.map((network) => [network.name, network]));
  const places = settings.sources?.networks ?? settings.additional.map(unplaced);
  return places.slice(0, mostRows).map(({ path, name, problem }): NetworkRow => {
    const unusable = settings.unusable?.find(({ network }) => network.name === name);
    const network = networks.get(name);
    const about = { path, name, interface: (network ?? unusable?.network)?.interface ?? '' };
    const row = (outcome: Outcome): NetworkRow => ({ ...standard, measuredWall: of.wall, ...about, ...outcome });
    if (problem !== '') return row({ state: 'refused', text: `it is left out: ${problem}`, code: 'CONFIG_CORRECTED' });
    if (unusable) return row({ state: 'refused', text: unusable.reason, code: unusable.code });
    return row(network ? outcomeOf(network, of) : unknown('the agent has not read it yet'));
  });
}

const unplaced = ({ name }: AdditionalNetwork, index: number) => ({
  path: `agent.additional_networks[${index}]`,
  name,
  problem: '',
});

const standard = { code: '', sinceWall: null, lastSeenWall: null, hasNoEffect: false };

type Outcome = Pick<NetworkRow, 'state' | 'text'> & Partial<NetworkRow>;

const unknown = (text: string): Outcome => ({ state: 'not-known', text, measuredWall: null });

function outcomeOf(network: AdditionalNetwork, of: RowSource): Outcome {
  const { settings, failure } = of;
  const { manager, version, profiles } = of.network;
  if (settings.isDisabled)
    return { state: 'refused', text: 'disable_network_configuration is true', hasNoEffect: true };
  if (of.isSilent === true) return unknown('NetworkManager does not answer');
  if (manager === 'starting') return unknown('the state of the network is not known yet');
  if (manager !== 'ready') {
    const found = manager === 'too-old' ? `this machine has ${version}` : 'it does not run';
    return {
      state: 'refused',
      text: `NetworkManager 1.30 or newer is needed, and ${found}`,
      code: 'NETWORK_NOT_APPLIED',
    };
  }
  const profile = profiles.find(({ mark }) => mark?.kind === 'additional' && mark.name === network.name);
  const missing = network.type === 'wifi' ? missingRadio(network, of) : missingInterface(network, of);
  if (!profile) {
    if (failure) return { state: 'refused', text: failure.reason, code: failure.code };
    return missing ?? { state: 'not-stored', text: 'the operating system does not have it yet' };
  }
  const used = usedBy(profile, of);
  const isCurrent = profile.mark?.kind === 'additional' && profile.mark.digest === digestOf(network);
  if (!isCurrent) {
    if (failure) return { state: 'refused', text: failure.reason, code: failure.code };
    const now = used ? `in use on ${used.interface}` : 'stored';
    return { state: 'not-stored', text: `its earlier form is ${now}; a change is made while the machine is online` };
  }
  return (
    used ?? missing ?? (network.type === 'wifi' ? unusedWifi(network, profile, of) : unusedWired(network, profile, of))
  );
}

/** Undefined: no link uses the profile. */
function usedBy({ uuid }: SavedProfile, { network, links }: RowSource): Outcome | undefined {
  const device = network.devices.find(
    ({ profile, state }) => profile === uuid && (state === 'connected' || state === 'connecting'),
  );
  if (!device) return undefined;
  const link = links.find(
    (one) => one.interface === device.interface && one.profile === uuid && one.state === device.state,
  );
  const since = { interface: device.interface, ...(link && { sinceWall: link.sinceWall }) };
  return device.state === 'connected'
    ? { state: 'in-use', text: `connected on ${device.interface}`, ...since }
    : { state: 'joining', text: `${device.interface} is being connected`, ...since };
}

/** Undefined: a radio for this network is there. */
function missingRadio(
  { interface: name }: AdditionalNetwork,
  { network, settings, memory }: RowSource,
): Outcome | undefined {
  const { devices } = network;
  const radios = devices.filter(({ type }) => type === 'wifi');
  if (radios.length === 0) {
    const wasThere = hasHadRadio(memory) || (name !== '' && mayComeBack(name, memory));
    const text = 'this machine has no WiFi radio';
    return {
      state: 'no-radio',
      text: wasThere ? `${text} now; it is used when the radio is back` : text,
      hasNoEffect: !wasThere,
    };
  }
  const wanted = name || settings.config.hotspot_interface;
  const device = wanted === '' ? undefined : devices.find((one) => one.interface === wanted);
  if (wanted !== '' && !device) return absent(wanted, name === '' ? ' (hotspot_interface)' : '', memory);
  if (device && device.type !== 'wifi')
    return { state: 'no-radio', text: `${wanted} is not a WiFi radio`, hasNoEffect: true };
  const usable = (device ? [device] : radios).filter(({ state }) => state !== 'unmanaged');
  const [first] = device ? [device] : radios;
  if (usable.length === 0)
    return { state: 'no-radio', text: `NetworkManager does not manage ${first?.interface ?? 'the radio'}` };
  if (usable.every(({ state }) => state === 'unavailable'))
    return { state: 'no-radio', text: `the WiFi radio ${usable[0]?.interface ?? ''} is switched off or not ready` };
  return undefined;
}

function absent(name: string, field: string, memory: RowMemory): Outcome {
  const isBack = mayComeBack(name, memory);
  const text = `this machine has no interface ${name}${field}`;
  return {
    state: 'no-interface',
    text: isBack ? `${text} now; it is used when the interface is back` : text,
    hasNoEffect: !isBack,
  };
}

function missingInterface({ interface: name }: AdditionalNetwork, { network, memory }: RowSource): Outcome | undefined {
  const device = network.devices.find((one) => one.interface === name);
  if (name !== '' && !device) return absent(name, '', memory);
  if (device && device.type !== 'wired')
    return { state: 'no-interface', text: `${name} is not a wired interface`, hasNoEffect: true };
  const wired = network.devices.filter(({ type }) => type === 'wired');
  // A wired adapter on USB is not known by its name: without one, this network waits.
  if (name === '' && wired.length === 0)
    return { state: 'no-interface', text: 'this machine has no wired interface now' };
  const candidates = device ? [device] : wired;
  if (candidates.every(({ state }) => state === 'unmanaged'))
    return {
      state: 'no-interface',
      text: `NetworkManager does not manage ${candidates.map((one) => one.interface).join(', ')}`,
    };
  return undefined;
}

function unusedWired(
  { interface: name, priority }: AdditionalNetwork,
  { uuid }: SavedProfile,
  { network, memory }: RowSource,
): Outcome {
  const candidates = network.devices.filter(
    (one) => one.type === 'wired' && one.state !== 'unmanaged' && (name === '' || one.interface === name),
  );
  const names = candidates.map((one) => one.interface).join(', ');
  if (candidates.every(({ state }) => state === 'unavailable'))
    return { state: 'out-of-range', text: `no cable is plugged in at ${names}` };
  const taken = candidates.find(({ state }) => state === 'connected' || state === 'connecting');
  if (taken) return { state: 'waiting', text: `${taken.interface} uses ${usedText(taken, priority, network)}` };
  const failed = memory.failed[uuid];
  if (failed !== undefined)
    return { state: 'failed', text: `NetworkManager could not connect ${names}`, sinceWall: failed };
  return { state: 'not-in-use', text: `no link is up at ${names}` };
}

/** The profile of a link, beside one of this priority. */
function usedText({ profile, ssid }: LinkDevice, priority: number, { profiles }: NetworkState): string {
  const other = profiles.find(({ uuid }) => uuid === profile);
  if (!other) return `${ssid || 'another network'}, which the agent does not manage`;
  const name = other.mark?.kind === 'additional' ? other.mark.name : other.ssid || other.name;
  const rank = other.priority > priority ? 'higher' : other.priority < priority ? 'lower' : 'the same';
  return `${name}, of ${rank} priority (${other.priority})`;
}

function unusedWifi(of: AdditionalNetwork, { uuid }: SavedProfile, source: RowSource): Outcome {
  const { network, settings, attempts, memory, now, wall } = source;
  const radio = of.interface || radioOf(network, settings.config.hotspot_interface);
  const seenBy = network.visible.filter((one) => one.interface === radio);
  const lastSeen = memory.lastSeen[of.ssid];
  const newest = Math.max(...seenBy.map(({ seen }) => seen));
  const seen = {
    interface: of.interface,
    measuredWall: Number.isFinite(newest) ? Math.round(wall - (now - newest)) : null,
    ...(lastSeen !== undefined && { lastSeenWall: lastSeen }),
  };
  const last = attempts.find((attempt) => attempt.network === of.ssid);
  const isVisible = seenBy.some(({ ssid }) => ssid === of.ssid);
  const isInRange = isVisible || (lastSeen !== undefined && wall - lastSeen < unseenMs);
  if (!isInRange && !of.hidden) {
    const isHotspot = network.devices.some((one) => one.interface === radio && one.isHotspot);
    if (isHotspot) return { ...seen, ...unknown(`${radio} is the hotspot and sees no other network now`) };
    if (lastSeen === undefined && seen.measuredWall === null)
      return { ...seen, ...unknown(`${radio} has seen no network yet`) };
    const since = lastSeen === undefined ? 'not seen since the agent started' : 'not seen any more';
    return {
      ...seen,
      state: 'out-of-range',
      text: `stored, ${since}`,
      ...(lastSeen !== undefined && { sinceWall: lastSeen }),
    };
  }
  const place = of.hidden ? 'it is hidden, so only an attempt shows whether it is in range' : 'it is in range';
  if (last && last.result !== 'ok')
    return {
      ...seen,
      state: 'failed',
      text: last.text.replace(/\.$/, ''),
      sinceWall: last.wall,
      measuredWall: last.wall,
    };
  const failed = memory.failed[uuid];
  if (failed !== undefined)
    return {
      ...seen,
      state: 'failed',
      text: 'NetworkManager could not connect it',
      sinceWall: failed,
      measuredWall: failed,
    };
  if (of.hidden) seen.measuredWall = null;
  const waits = waitOf(of, uuid, radio, source);
  if (waits !== '') return { ...seen, state: 'waiting', text: `${place}; ${waits}` };
  return last ? { ...seen, state: 'not-in-use', text: place } : { ...seen, state: 'not-tried', text: place };
}

/** Why a network in range is not joined, as a clause; empty: nothing prevents it. */
function waitOf(of: AdditionalNetwork, uuid: string, radio: string, { network, settings, now }: RowSource): string {
  const device = network.devices.find((one) => one.interface === radio && one.type === 'wifi');
  if (device?.isHotspot) return `${radio} is the hotspot now`;
  const other = network.profiles.find((one) => one.uuid === device?.profile);
  if (
    device &&
    (device.state === 'connected' || device.state === 'connecting') &&
    (other?.priority ?? 0) >= of.priority
  )
    return `${radio} uses ${usedText(device, of.priority, network)}`;
  if (of.interface !== '' && of.interface !== radioOf(network, settings.config.hotspot_interface))
    return `the agent joins networks with ${radioOf(network, settings.config.hotspot_interface)} only`;
  if (modeOf(settings) === 'roaming') return '';
  const [first] = inOrder(observationOf(network, radio, false, now).known);
  if (!first || first.profile === uuid || first.priority <= of.priority) return '';
  return `${first.ssid} comes first, and others are tried during provisioning only`;
}

/** Keeps the instant of rows that look as before. */
export function withSince(
  rows: readonly NetworkRow[],
  before: readonly NetworkRow[],
  wall: number,
): readonly NetworkRow[] {
  return rows.map((row) => {
    if (row.sinceWall !== null) return row;
    const old = before.find(({ path }) => path === row.path);
    const isSame = old?.state === row.state && old.interface === row.interface;
    return { ...row, sinceWall: isSame ? old.sinceWall : wall };
  });
}

const remedies: Partial<Record<NetworkRowState, string>> = {
  'no-radio': 'Plug in a WiFi radio, or remove it.',
  'no-interface': 'Correct the name of the interface, or remove it.',
};

/** The networks that can never act here. Those of a disabled section are named elsewhere. */
export const ineffectiveNetworks = (rows: readonly NetworkRow[]): readonly Ineffective[] =>
  rows.flatMap(({ path, text, state, hasNoEffect }) => {
    const remedy = remedies[state];
    return hasNoEffect && remedy !== undefined ? [{ section: 'additional_networks', path, reason: text, remedy }] : [];
  });

/** Whether two reports of rows would say the same, apart from when they were measured. */
export const steadyRows = ({ networks, settings, ...rest }: NetworkRows) => ({
  ...rest,
  networks: networks.map(steadyRow),
  settings: settings.map(steadyRow),
});

const steadyRow = (row: NetworkRow): NetworkRow => ({ ...row, measuredWall: null, lastSeenWall: null });
