import { randomUUID } from 'node:crypto';
import { changedOr, type Clock, type Log } from '@platform/kit';
import type { ManagedFiles } from '../managed-files.ts';
import type {
  Checkpoint,
  Connectivity,
  Hotspot,
  HotspotResult,
  JoinResult,
  Network,
  NewProfile,
} from '../network-port.ts';
import { type Bus, BusError, createBus, type Peer, systemBusAddress } from './bus.ts';
import { bytesIn, numberIn } from './dbus-read.ts';
import { Variant } from './dbus-values.ts';
import { activate, supplicantName } from './network-manager-activation.ts';
import { hotspotHost, type HotspotHost, removeProfile, startHotspot } from './network-manager-hotspot.ts';
import {
  accessPointsOf,
  devicePaths,
  isOnlySae,
  managerName,
  managerPath,
  propertiesAt,
  securityOf,
} from './network-manager-objects.ts';
import { isChecking, NetworkManagerObserver, type ProfileRecord } from './network-manager-observer.ts';
import {
  keyManagementIn,
  profileSettings,
  type SeenAs,
  type Settings,
  ssidIn,
  withAutoconnect,
  withKeyManagement,
  withoutMark,
  withPriority,
} from './network-manager-profiles.ts';
import { switchOn } from './network-manager-radio.ts';

export interface NetworkManagerParts {
  bus: Bus;
  clock: Clock;
  log: Log;
  files: ManagedFiles;
  host: HotspotHost;
  /** Tests the way to the internet where NetworkManager does not check it, or is absent. Never rejects. */
  probe: (signal: AbortSignal) => Promise<Connectivity>;
}

/** The network of this Linux machine. */
export const linuxNetwork = (of: Omit<NetworkManagerParts, 'bus' | 'host'>): Network =>
  networkManager({ ...of, host: hotspotHost, bus: createBus({ address: systemBusAddress(process.env), ...of }) });

export function networkManager(parts: NetworkManagerParts): Network {
  const manager = parts.bus.peer(managerName);
  const supplicant = parts.bus.peer(supplicantName);
  const observer = new NetworkManagerObserver({ manager, ...parts });
  const all = { ...parts, manager, supplicant, observer };
  return {
    state: observer.state,
    async run(signal) {
      await Promise.all([parts.bus.run(signal), observer.run(signal)]);
    },
    scan: async (name, signal) => scan(name, [], ready(all), signal),
    checkConnectivity: (signal) => checkConnectivity(all, signal),
    save: async (profile, uuid) => save(profile, uuid, ready(all)),
    remove: async (uuid) => remove(uuid, ready(all)),
    disown: async (uuid) => change(uuid, ready(all), (value) => withoutMark(value)),
    setPriority: async (uuid, priority) => change(uuid, ready(all), (value) => withPriority(value, priority)),
    setAutoconnect: async (uuid, is) => change(uuid, ready(all), (value) => withAutoconnect(value, is)),
    join: async (uuid, name, signal) => join(uuid, name, ready(all), signal),
    startHotspot: async (hotspot, signal) => openHotspot(hotspot, ready(all), signal),
    stopHotspot: () => stopHotspot(all),
    checkpoint: async (seconds) => checkpoint(seconds, ready(all)),
    setPowerSave: async (isOn) => setPowerSave(isOn, ready(all)),
  };
}

interface All extends NetworkManagerParts {
  manager: Peer;
  supplicant: Peer;
  observer: NetworkManagerObserver;
}

function ready(all: All): All {
  const { manager, version } = all.observer.state.get();
  if (manager === 'ready') return all;
  const text =
    manager === 'too-old'
      ? `NetworkManager ${version} is too old: 1.30 or newer is needed`
      : 'NetworkManager does not run';
  throw new BusError('org.freedesktop.DBus.Error.ServiceUnknown', text);
}

const ofManager = { path: managerPath, interface: managerName };
const ofSettings = { path: `${managerPath}/Settings`, interface: `${managerName}.Settings` };
const ofConnection = (path: string) => ({ path, interface: `${managerName}.Settings.Connection` });

const scanLimitMs = 20_000;
/** NetworkManager refuses a scan right after or during another one, whose results come soon. */
const otherScanMs = 5_000;

async function scan(name: string, hidden: readonly Uint8Array[], all: All, signal: AbortSignal): Promise<void> {
  const { manager, observer, clock } = all;
  const path = devicePaths(await observer.observe()).get(name);
  if (path === undefined) return;
  const lastScan = async (): Promise<number> =>
    numberIn(propertiesAt(await observer.observe(), path, 'Device.Wireless'), 'LastScan');
  const before = await lastScan();
  const options = new Map(hidden.length > 0 ? [['ssids', new Variant('aay', hidden)]] : []);
  const isStarted = await manager
    .call({
      path,
      interface: `${managerName}.Device.Wireless`,
      member: 'RequestScan',
      signature: 'a{sv}',
      args: [options],
    })
    .then(
      () => true,
      () => false,
    );
  const end = clock.now() + (isStarted ? scanLimitMs : otherScanMs);
  for (;;) {
    const known = observer.changes.get();
    if (signal.aborted || clock.now() >= end || (await lastScan()) !== before) return;
    if (observer.changes.get() === known) await changedOr(observer.changes, end - clock.now(), clock, signal);
  }
}

const checkLimitMs = 30_000;

async function checkConnectivity({ manager, observer, probe }: All, signal: AbortSignal): Promise<Connectivity> {
  if (observer.state.get().manager === 'ready') {
    const objects = await observer.observe();
    if (isChecking(propertiesAt(objects, managerPath, ''))) {
      await manager.call({ ...ofManager, member: 'CheckConnectivity', limitMs: checkLimitMs });
      await observer.observe();
      return observer.state.get().connectivity;
    }
  }
  const result = await probe(signal);
  observer.setProbed(result);
  return result;
}

async function save(profile: NewProfile, uuid: string | undefined, all: All): Promise<string> {
  const { manager, observer } = all;
  const existing = uuid === undefined ? undefined : await observer.profile(uuid);
  if (existing) requireOurs(existing);
  const id = uuid ?? randomUUID();
  const settings = profileSettings(profile, id, await seenAs(profile.wifi?.ssid ?? '', all));
  if (existing) await update(existing.path, settings, all);
  else await manager.call({ ...ofSettings, member: 'AddConnection', signature: 'a{sa{sv}}', args: [settings] });
  await observer.observe();
  return id;
}

/** What the radio knows of a network; the bytes of its SSID, too, which need not be UTF-8. */
async function seenAs(ssid: string, { observer }: All): Promise<SeenAs> {
  const points = accessPointsOf(await observer.observe(), ssid);
  const [point] = points;
  const known = observer.records().find(({ saved }) => saved.ssid === ssid);
  return {
    ssid: point ? bytesIn(point, 'Ssid') : known ? ssidIn(known.value) : Buffer.from(ssid),
    isOnlySae: points.length > 0 && points.every(isOnlySae),
    isOwe: points.length > 0 && points.every((each) => securityOf(each) === 'owe'),
  };
}

function requireOurs({ saved }: ProfileRecord): void {
  if (!saved.mark)
    throw new BusError(
      'platform.NotOwned',
      `The profile ${saved.name} was made by a user or another program. The agent changes its own profiles only.`,
    );
}

async function update(path: string, settings: Settings, { manager, observer }: All): Promise<void> {
  await manager.call({ ...ofConnection(path), member: 'Update', signature: 'a{sa{sv}}', args: [settings] });
  observer.forget(path);
}

async function change(uuid: string, all: All, changed: (value: ProfileRecord['value']) => Settings): Promise<void> {
  const record = await all.observer.profile(uuid);
  if (!record) throw new BusError('platform.NotFound', `There is no profile ${uuid}.`);
  requireOurs(record);
  await update(record.path, changed(record.value), all);
  await all.observer.observe();
}

async function remove(uuid: string, { manager, observer }: All): Promise<void> {
  const record = await observer.profile(uuid);
  if (!record) return;
  requireOurs(record);
  await removeProfile(manager, record.path);
  await observer.observe();
}

const joinLimitMs = 60_000;
/** NetworkManager counts sightings in whole seconds. */
const lastSeenUnitMs = 1_000;

async function join(uuid: string, name: string, all: All, signal: AbortSignal): Promise<JoinResult> {
  const { observer, clock } = all;
  const record = await observer.profile(uuid);
  if (!record) return { ok: false, reason: 'failed', detail: `there is no profile ${uuid}` };
  const began = clock.now();
  const end = began + joinLimitMs;
  const visible = () => observer.state.get().visible.find(({ ssid }) => ssid === record.saved.ssid);
  const wasVisible = visible() !== undefined;
  const first = await joinOnce(record, name, all, end, signal);
  const radios = observer.state.get().devices.filter(({ type }) => type === 'wifi');
  if (first.ok || first.reason !== 'not-found' || record.saved.type !== 'wifi' || signal.aborted) return first;
  const radio = name === '' ? radios[0]?.interface : name;
  if (radio === undefined || clock.now() + scanLimitMs >= end) return first;
  // It may be new, or hidden: ask for it by its name, then try again.
  await scan(radio, [ssidIn(record.value)], all, signal);
  const found = visible();
  if (!found || found.seen < began - lastSeenUnitMs) return first;
  const isWpa3 = found.security === 'sae';
  const last = wasVisible && isWpa3 ? first : await joinOnce(record, name, all, end, signal);
  const isMissing = !last.ok && last.reason === 'not-found';
  // NetworkManager reports a wrong WPA3 password as a missing network.
  return isMissing && isWpa3 ? { ok: false, reason: 'wrong-password', detail: last.detail } : last;
}

async function joinOnce(
  record: ProfileRecord,
  name: string,
  all: All,
  end: number,
  signal: AbortSignal,
): Promise<JoinResult> {
  const { observer, clock } = all;
  const device = devicePaths(await observer.observe()).get(name);
  if (name !== '' && device === undefined)
    return { ok: false, reason: 'device-gone', detail: `there is no network device ${name}` };
  if (record.saved.type === 'wifi' && device !== undefined) {
    const problem = await switchOn(device, { ...all, objects: () => observer.observe() }, signal);
    if (problem !== undefined) return { ok: false, reason: 'failed', detail: problem };
  }
  const security = await fitSecurity(record, all);
  const activation = { profile: record.path, device, security, limitMs: end - clock.now(), settleMs: 0 };
  const result = await activate(activation, all, signal);
  await observer.observe().catch(() => {}); // NetworkManager may have stopped; the result stands
  return result;
}

/** A profile of this agent that was saved before the radio saw how the access point is secured. */
async function fitSecurity(record: ProfileRecord, all: All): Promise<'open' | 'psk' | 'eap'> {
  const now = keyManagementIn(record.value);
  if (now === 'wpa-eap') return 'eap';
  if (now === '' || now === 'owe') return 'open';
  const { isOnlySae: needsSae } = await seenAs(record.saved.ssid, all);
  if (record.saved.mark && now === 'wpa-psk' && needsSae)
    await update(record.path, withKeyManagement(record.value, 'sae'), all);
  return 'psk';
}

async function openHotspot(hotspot: Hotspot, all: All, signal: AbortSignal): Promise<HotspotResult> {
  await stopHotspot(all);
  const result = await startHotspot(hotspot, { ...all, objects: () => all.observer.observe() }, signal);
  await all.observer.observe();
  return result;
}

async function stopHotspot({ manager, observer }: All): Promise<void> {
  if (observer.state.get().manager !== 'ready') return;
  await observer.observe();
  const hotspots = observer.records().filter(({ saved }) => saved.mark?.kind === 'hotspot');
  for (const { path } of hotspots) await removeProfile(manager, path);
  if (hotspots.length > 0) await observer.observe();
}

/** NMCheckpointCreateFlags: a rollback deletes new profiles and disconnects new devices. */
const deleteNew = 2;
const disconnectNew = 4;

async function checkpoint(seconds: number, { manager, observer }: All): Promise<Checkpoint> {
  const [path] = await manager.call({
    ...ofManager,
    member: 'CheckpointCreate',
    signature: 'aouu',
    args: [[], Math.ceil(seconds), deleteNew | disconnectNew],
  });
  if (typeof path !== 'string') throw new BusError('', 'NetworkManager returned no checkpoint');
  const end = async (member: 'CheckpointDestroy' | 'CheckpointRollback'): Promise<void> => {
    await manager.call({ ...ofManager, member, signature: 'o', args: [path] });
    for (const record of observer.records()) observer.forget(record.path);
    await observer.observe();
  };
  return { confirm: () => end('CheckpointDestroy'), rollBack: () => end('CheckpointRollback') };
}

const powerSaveFile = '/etc/NetworkManager/conf.d/81-platform-wifi-powersave.conf';
const powerSave = { off: 2, on: 3 } as const;
/** Reads the configuration files again. */
const reloadConfiguration = 1;

async function setPowerSave(isOn: boolean | null, { manager, observer, files }: All): Promise<void> {
  const text = `# Written by platform-agent.\n[connection]\nwifi.powersave = ${isOn === true ? powerSave.on : powerSave.off}\n`;
  const isChanged =
    isOn === null ? (await files.restore(powerSaveFile)) === 'restored' : await files.write(powerSaveFile, text);
  if (!isChanged) return;
  await manager.call({ ...ofManager, member: 'Reload', signature: 'u', args: [reloadConfiguration] });
  const objects = await observer.observe();
  const paths = devicePaths(objects);
  for (const { interface: name, type, isHotspot, profile } of observer.state.get().devices) {
    const record = observer.records().find(({ saved }) => saved.uuid === profile);
    if (type !== 'wifi' || isHotspot || !record) continue;
    // Only an activation applies it.
    await manager.call({
      ...ofManager,
      member: 'ActivateConnection',
      signature: 'ooo',
      args: [record.path, paths.get(name) ?? '/', '/'],
    });
  }
}
