import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { changedOr, type Clock, type Log } from '@platform/kit';
import { atomicWrite } from '@platform/kit/node';
import type { ManagedFiles } from '../../managed-files.ts';
import type {
  Checkpoint,
  Connectivity,
  Hotspot,
  HotspotResult,
  JoinResult,
  Network,
  NewProfile,
} from '../../network-port.ts';
import type { Programs } from '../../ports.ts';
import { type Bus, createBus, type Peer, systemBusAddress } from '../dbus/bus.ts';
import { BusError } from '../dbus/connection.ts';
import { CertificateFiles, type KeyFiles } from './certificate-files.ts';
import { bytesIn, numberIn } from '../dbus/read.ts';
import { Variant } from '../dbus/values.ts';
import { type Channel, mayStay } from './hotspot-channel.ts';
import type { JoinContext } from './join-outcome.ts';
import { activate, supplicantName } from './activation.ts';
import { restoreFiles, setPowerSave } from './configuration-files.ts';
import { hotspotForwarding, type HotspotForwarding } from './hotspot-forwarding.ts';
import { hotspotHost, type HotspotHost, removeProfile, startHotspot } from './hotspot.ts';
import {
  accessPointsOf,
  devicePaths,
  isOnlySae,
  managerName,
  managerPath,
  propertiesAt,
  securityOf,
} from './objects.ts';
import { isChecking, linksOf, NetworkManagerObserver, type ProfileRecord } from './observer.ts';
import {
  certificateFilesIn,
  eapMethodIn,
  keyManagementIn,
  profileSettings,
  type SeenAs,
  type Settings,
  ssidIn,
  withAutoconnect,
  withKeyManagement,
  withoutMark,
  withPriority,
} from './profiles.ts';
import { switchOn } from './radio.ts';
import { kernelRadioRules, type RadioRules } from '../kernel/radio-rules.ts';
import { type WifiCountry, wifiCountry } from '../kernel/wifi-country.ts';

export interface NetworkManagerParts {
  bus: Bus;
  clock: Clock;
  log: Log;
  files: ManagedFiles;
  host: HotspotHost;
  rules: RadioRules;
  forwarding: HotspotForwarding;
  country: WifiCountry;
  /** For the files that NetworkManager leaves behind. */
  keyFiles: KeyFiles;
  /** Tests the way to the internet where NetworkManager does not check it, or is absent. Never rejects. */
  probe: (signal: AbortSignal, nameServers: readonly string[]) => Promise<Connectivity>;
}

const keyFiles: KeyFiles = {
  read: (file) => readFile(file).catch(() => undefined),
  write: (file, bytes) => atomicWrite(file, bytes, { mode: 0o600 }),
  remove: (file) => rm(file, { force: true }),
};

/** The network of this Linux machine. */
export function linuxNetwork(
  of: Pick<NetworkManagerParts, 'clock' | 'log' | 'files' | 'probe'> & { root: string; programs: Programs },
): Network {
  const rules = kernelRadioRules();
  const bus = createBus({ address: systemBusAddress(process.env), ...of });
  const country = wifiCountry({ ...of, rules });
  return networkManager({ ...of, host: hotspotHost, bus, rules, forwarding: hotspotForwarding(of), country, keyFiles });
}

export function networkManager(parts: NetworkManagerParts): Network {
  const manager = parts.bus.peer(managerName);
  const supplicant = parts.bus.peer(supplicantName);
  const observer = new NetworkManagerObserver({ manager, ...parts });
  const certificates = new CertificateFiles(parts.keyFiles);
  const all = { ...parts, manager, supplicant, observer, certificates, hotspot: { channel: undefined } };
  return {
    state: observer.state,
    async run(signal) {
      await Promise.all([parts.bus.run(signal), observer.run(signal)]);
    },
    isAnswering: (limitMs) => observer.isAnswering(limitMs),
    scan: async (name, signal) => scan(name, [], ready(all), signal),
    checkConnectivity: (signal) => checkConnectivity(all, signal),
    confirmConnectivity: () => observer.confirm(),
    save: async (profile, uuid) => save(profile, uuid, ready(all)),
    remove: async (uuid) => remove(uuid, ready(all)),
    disown: async (uuid) => change(uuid, ready(all), (value) => withoutMark(value)),
    setPriority: async (uuid, priority) => change(uuid, ready(all), (value) => withPriority(value, priority)),
    setAutoconnect: async (uuid, is) => change(uuid, ready(all), (value) => withAutoconnect(value, is)),
    join: async (uuid, name, signal) => join(uuid, name, ready(all), signal),
    startHotspot: async (hotspot, signal) => openHotspot(hotspot, ready(all), signal),
    stopHotspot: () => stopHotspot(all),
    keepHotspot: (signal) => keepHotspot(all, signal),
    hotspotClients: (name) => all.rules.clients(name),
    checkpoint: async (seconds) => checkpoint(seconds, ready(all)),
    setPowerSave: async (isOn) => setPowerSave(isOn, ready(all)),
    isPowerSaving: (name) => all.rules.isPowerSaving(name),
    restoreFiles: () => restoreFiles(all),
    setCountry: (country) => setCountry(country, all),
    hotspotProblem: () => hotspotProblem(all),
  };
}

interface All extends NetworkManagerParts {
  manager: Peer;
  supplicant: Peer;
  observer: NetworkManagerObserver;
  certificates: CertificateFiles;
  /** `channel`: of the running hotspot, as far as the agent chose it. */
  hotspot: { channel: Channel | undefined };
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
      return observer.setChecked();
    }
  }
  const before = observer.state.get();
  const result = await probe(signal, before.nameServers);
  // What was measured over other links says nothing about these.
  if (linksOf(before) !== linksOf(observer.state.get())) return 'unknown';
  observer.setProbed(result);
  return result;
}

async function save(profile: NewProfile, uuid: string | undefined, all: All): Promise<string> {
  const { manager, observer } = all;
  const existing = uuid === undefined ? undefined : await observer.profile(uuid);
  if (existing) requireOurs(existing);
  if (existing) await all.certificates.keep(certificateFilesIn(existing.value, existing.saved.uuid));
  const id = uuid ?? randomUUID();
  const settings = profileSettings(profile, id, await seenAs(profile.wifi?.ssid ?? '', all));
  if (existing) await update(existing.path, settings, all);
  else await manager.call({ ...ofSettings, member: 'AddConnection', signature: 'a{sa{sv}}', args: [settings] });
  await observer.observe();
  const after = certificateFilesIn((await observer.profile(id))?.value, id);
  const before = existing ? certificateFilesIn(existing.value, id) : [];
  await all.certificates.discard(before.filter((file) => !after.includes(file)));
  if (!existing) all.certificates.add(after);
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

async function remove(uuid: string, { manager, observer, certificates }: All): Promise<void> {
  const record = await observer.profile(uuid);
  if (!record) return;
  requireOurs(record);
  const files = certificateFilesIn(record.value, uuid);
  await certificates.keep(files);
  await removeProfile(manager, record.path);
  await certificates.discard(files);
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
async function fitSecurity(record: ProfileRecord, all: All): Promise<JoinContext['security']> {
  const now = keyManagementIn(record.value);
  if (now === 'wpa-eap') return eapMethodIn(record.value) === 'tls' ? 'eap-tls' : 'eap';
  if (now === '' || now === 'owe') return 'open';
  const { isOnlySae: needsSae } = await seenAs(record.saved.ssid, all);
  if (record.saved.mark && now === 'wpa-psk' && needsSae)
    await update(record.path, withKeyManagement(record.value, 'sae'), all);
  return 'psk';
}

async function openHotspot(hotspot: Hotspot, all: All, signal: AbortSignal): Promise<HotspotResult> {
  await stopHotspot(all);
  const runsOn = (channel: Channel | undefined): void => void (all.hotspot.channel = channel);
  const result = await startHotspot(hotspot, { ...all, runsOn, objects: () => all.observer.observe() }, signal);
  await all.observer.observe();
  return result;
}

/** Without NetworkManager the hotspot may still be on the air: what protects the other networks stays. */
async function stopHotspot({ manager, observer, forwarding }: All): Promise<void> {
  if (observer.state.get().manager !== 'ready') return;
  await observer.observe();
  const hotspots = observer.records().filter(({ saved }) => saved.mark?.kind === 'hotspot');
  for (const { path } of hotspots) await removeProfile(manager, path);
  if (hotspots.length > 0) await observer.observe();
  await forwarding.release();
}

const keepEveryMs = 10_000;

async function keepHotspot({ forwarding, clock, log }: All, signal: AbortSignal): Promise<string> {
  for (;;) {
    await clock.sleep(keepEveryMs, signal);
    if (signal.aborted) return '';
    const { problem, restored } = await forwarding.check();
    if (restored.length > 0)
      log.warn('what keeps the hotspot from routing was gone; it is in place again', { restored: restored.join(', ') });
    if (problem !== '') return problem;
  }
}

const wifiDevices = ({ observer }: All) => observer.state.get().devices.filter(({ type }) => type === 'wifi');

function setCountry(country: string, all: All): Promise<string> {
  const radios = wifiDevices(all);
  const isConnected = radios.some(({ state, isHotspot }) => state === 'connected' && !isHotspot);
  const names = radios.map(({ interface: name }) => name);
  return all.country.set(country, names, isConnected);
}

async function hotspotProblem(all: All): Promise<string> {
  const device = wifiDevices(all).find(({ isHotspot }) => isHotspot);
  const { channel } = all.hotspot;
  if (!device || !channel || mayStay(channel.frequencyMhz, await all.rules.channels(device.interface))) return '';
  return `channel ${channel.number} (${channel.frequencyMhz} MHz) is not allowed any more`;
}

/** NMCheckpointCreateFlags: a rollback deletes new profiles and disconnects new devices. */
const deleteNew = 2;
const disconnectNew = 4;

async function checkpoint(seconds: number, { manager, observer, certificates }: All): Promise<Checkpoint> {
  const [path] = await manager.call({
    ...ofManager,
    member: 'CheckpointCreate',
    signature: 'aouu',
    args: [[], Math.ceil(seconds), deleteNew | disconnectNew],
  });
  if (typeof path !== 'string') throw new BusError('', 'NetworkManager returned no checkpoint');
  certificates.open();
  const end = async (member: 'CheckpointDestroy' | 'CheckpointRollback'): Promise<boolean> => {
    if (member === 'CheckpointRollback') await certificates.rollBack();
    const isThere = await manager.call({ ...ofManager, member, signature: 'o', args: [path] }).then(
      () => true,
      (error: unknown) => {
        if (isGone(error)) return false;
        throw error;
      },
    );
    if (member === 'CheckpointDestroy') await (isThere ? certificates.confirm() : certificates.rollBack());
    for (const record of observer.records()) observer.forget(record.path);
    await observer.observe();
    return isThere;
  };
  return { confirm: () => end('CheckpointDestroy'), rollBack: async () => void (await end('CheckpointRollback')) };
}

/** NetworkManager has ended the checkpoint by itself. */
const isGone = (error: unknown): boolean =>
  error instanceof BusError && /\.(InvalidArguments|UnknownMethod|UnknownObject)$/.test(error.code);
