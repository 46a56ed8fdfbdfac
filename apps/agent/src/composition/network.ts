import path from 'node:path';
import { Cell, setIfDifferent, within, type Clock, type Log } from '@platform/kit';
import { keepCertificates, withUsableNetworks } from '../network/settings/certificates.ts';
import { keepAdditionalNetworks } from '../network/profiles/additional-networks.ts';
import { forceFolder } from '../network/provisioning/forced.ts';
import { keepCountry, type CountryOutcome } from '../network/settings/country.ts';
import { keepRows } from '../network/rows/keep-rows.ts';
import type { NetworkStatus } from '../network/rows/network-status.ts';
import { networkSettingsOf, type NetworkSettings } from '../network/settings/network-settings.ts';
import { followCredentialsProblem, noProblem } from '../network/views/credentials-problem.ts';
import { type InternetProbe, probeInternet, questionTimesMs } from '../network/checks/internet-probe.ts';
import { Provisioning } from '../network/provisioning/provisioning.ts';
import { networkTrials } from '../network/profiles/refused-change.ts';
import type { Credentials } from '../state-machines/provisioning-state.ts';
import { onceFetch, trustedBy } from '../link/tolerant-fetch.ts';
import { linuxNetwork } from '../os/linux/networkmanager/network-manager.ts';
import { askNameServer } from '../os/ask-name-server.ts';
import type { Network } from '../os/network-port.ts';
import { isIntercepted } from '../os/portal-redirect.ts';
import type { AlwaysOn } from './always-on.ts';
import { noteManaged } from './hand-over-networks.ts';
import { reboot, system, watchSmallFile } from './system.ts';
import { eachChange } from './sync-loops.ts';
import { runtimeEnvironment } from '../install/unit.ts';
import { childBluetooth, type BluetoothEndpoint } from '../network/endpoints/bluetooth-endpoint.ts';
import type { ChildParts } from '../network/endpoints/endpoints-child.ts';
import type { ProvisioningEndpoints } from '../network/endpoints/provisioning-view.ts';
import { childEndpoints } from '../network/hotspot/hotspot-endpoints.ts';
import { linuxBluetooth } from '../os/linux/bluez/bluez.ts';
import { posixPrograms } from '../os/posix/programs.ts';
import type { Device } from '../os/ports.ts';
import { thisProgram } from './this-machine.ts';

const contactMs = 10_000;

/** The NetworkManager of this machine. */
const networkOf = (of: AlwaysOn): Network =>
  linuxNetwork({
    root: of.root,
    clock: of.clock,
    log: of.log,
    files: of.managedFiles,
    programs: system,
    probe: (signal, nameServers) => probeInternet(probeOf(of), nameServers, signal),
  });

/** Where users enter what this machine needs. */
const endpointsOf = ({ device, clock, log }: AlwaysOn) => ({
  endpoints: hotspotEndpoints({ device, clock, log: log.child('endpoints') }),
  bluetooth: bluetoothEndpoint({ clock, log: log.child('bluetooth') }),
});

/** Network provisioning and additional networks of this machine, until the signal. */
export async function manageNetworks(of: AlwaysOn, signal: AbortSignal): Promise<void> {
  const { credentials, isReached, conditions, device, clock, log } = of;
  await noteManaged(device.disk);
  const network = networkOf(of);
  const { follow, ...inputs } = inputsOf(of);
  const fresh = { ...freshParts(of), trials: networkTrials({ network, disk: device.disk, clock, log }) };
  const measured = measuredCells();
  const forceWatch = watchSmallFile(path.join(of.root, forceFolder), clock);
  const provisioning = new Provisioning({
    network,
    ...endpointsOf(of),
    ...inputs,
    takeCredentials: (text) => credentials.take(text),
    pendingCode: credentials.pendingCode,
    isReached,
    ...fresh,
    isOfflineByHotspot: of.isOfflineByHotspot,
    status: measured.inner,
    reboot,
    hostname: device.host.hostname,
    agentVersion: of.version,
    disk: device.disk,
    files: device.files,
    forceWatch,
    clock,
    log,
  });
  const additional = {
    network,
    settings: inputs.settings,
    applied: of.networks,
    mayChange: provisioning.mayChange,
    isReached,
    ...fresh,
    conditions,
    disk: device.disk,
    clock,
    log,
  };
  const stop = new AbortController();
  const until = AbortSignal.any([signal, stop.signal]);
  const loops = [
    provisioning.run(until),
    keepAdditionalNetworks(additional, until),
    keepCertificates(additional, until),
    keepCountry({ ...additional, outcome: measured.country, move: () => provisioning.moveHotspot() }, until),
    keepRows({ ...additional, ...measured, status: of.network }, until),
    takeOrders(of.provisioningOrders, () => provisioning.force(), until),
    ...follow(until),
  ];
  try {
    await Promise.all(loops);
  } finally {
    forceWatch.close();
    stop.abort(); // one loop failed: the others end before they are started again
    await Promise.allSettled(loops);
    of.network.set(undefined);
  }
}

/** What a change of the networks is proven by. */
const freshParts = (of: AlwaysOn) => ({
  isChanging: new Cell(false),
  isPrepared: new Cell(false),
  contact: (over: AbortSignal) => contact(of, over),
});

/** What the rows of the configured networks are made of. */
const measuredCells = () => ({
  inner: new Cell<NetworkStatus | undefined>(undefined),
  country: new Cell<CountryOutcome | undefined>(undefined),
});

/** Credentials and settings as the network task sees them. */
function inputsOf({ credentials, wanted, conditions, network, clock }: AlwaysOn) {
  const given = new Cell<Credentials>('none');
  const credentialsProblem = noProblem();
  const settings = new Cell<NetworkSettings>(withUsableNetworks(networkSettingsOf(wanted.get(), false), conditions));
  let isUseless = false;
  const update = (): void => {
    const found = credentials.found.get() !== undefined;
    const isPending = credentials.pendingCode.get() !== undefined;
    const isUsable = credentials.hasCredentials.get();
    given.set(!found || (isUseless && !isPending) ? 'none' : isUsable ? 'given' : 'refused');
    const next = withUsableNetworks(networkSettingsOf(wanted.get(), found), conditions);
    setIfDifferent(settings, next);
  };
  const { found, pendingCode } = credentials;
  const giveUp = (is: boolean): void => {
    isUseless = is;
    credentials.giveUp(is);
    update();
  };
  const problemParts = {
    problem: credentialsProblem,
    conditions,
    found,
    unproven: credentials.unproven,
    giveUp,
    pendingCode,
    network,
    clock,
  };
  update();
  /** Keeps them current, until the signal. */
  const follow = (until: AbortSignal): Promise<void>[] => [
    ...[wanted, credentials.found, credentials.hasCredentials, pendingCode].map((cell) =>
      eachChange(cell, update, until),
    ),
    followCredentialsProblem(problemParts, until),
  ];
  return { credentials: given, settings, credentialsProblem, follow };
}

async function takeOrders(orders: Cell<number>, force: () => void, signal: AbortSignal): Promise<void> {
  for (;;) {
    await orders.changed(signal);
    if (signal.aborted) return;
    force();
  }
}

/** URL of the management server: of the credentials, or of the set-up code that waits; undefined: none is known. */
const serverOf = ({ credentials }: AlwaysOn): URL | undefined => {
  const address = credentials.found.get()?.credentials.appAddress ?? credentials.pendingServer;
  return address !== undefined && URL.canParse(address) ? new URL(address) : undefined;
};

function probeOf(of: AlwaysOn): InternetProbe {
  const { clock } = of;
  const url = serverOf(of);
  return {
    host: url?.hostname ?? '',
    isAnswering: (signal) => contact(of, signal),
    isIntercepted: (signal) =>
      url ? isIntercepted({ hostname: url.hostname }, clock, signal) : Promise.resolve(false),
    ask: (server, question, isAnswer, signal) =>
      askNameServer({ server, question, pausesMs: questionTimesMs, clock }, isAnswer, signal),
  };
}

/** Whether the management server answers on a new connection; its certificate is checked. */
async function contact(of: AlwaysOn, signal: AbortSignal): Promise<boolean> {
  const { root, clock } = of;
  const url = serverOf(of);
  if (!url) return false;
  const found = of.credentials.found.get()?.credentials;
  return within(contactMs, { what: 'contact with the management server', clock, signal }, async (over) => {
    const send = await onceFetch(found && trustedBy(found), { root, clock, system });
    const { status } = await send(url.href, {
      method: 'HEAD',
      redirect: 'manual',
      signal: over,
      // A connection that is kept open may belong to a link that is going down.
      keepalive: false,
      headers: { connection: 'close' },
    });
    // Only the server itself has its certificate; without one, a captive portal redirects.
    return url.protocol === 'https:' || status < 300 || (status >= 400 && status < 500);
  }).catch(() => false);
}

const mib = 1024 * 1024;
/** It needs about 9 MiB built, 43 MiB from source; each of its 128 connections may hold 72 KiB. */
const memoryLimits = { built: 96 * mib, fromSource: 256 * mib };
const longestProgramMs = 10_000;

const childParts = ({ clock, log }: { clock: Clock; log: Log }): ChildParts => ({
  command: [...thisProgram(), 'endpoints'],
  env: runtimeEnvironment,
  programs: posixPrograms(longestProgramMs),
  memoryLimitBytes: process.versions.bun === undefined ? memoryLimits.fromSource : memoryLimits.built,
  clock,
  log,
});

/** The captive portal and the provisioning RPC of this machine, in a process of their own. */
const hotspotEndpoints = (of: { device: Pick<Device, 'processes'>; clock: Clock; log: Log }): ProvisioningEndpoints =>
  childEndpoints({ ...childParts(of), processes: of.device.processes });

/** Provisioning over the Bluetooth of this machine, in a process of its own. */
const bluetoothEndpoint = (of: { clock: Clock; log: Log }): BluetoothEndpoint =>
  childBluetooth({ ...childParts(of), bluetooth: linuxBluetooth(of) });
