import path from 'node:path';
import { Cell, setIfDifferent, within } from '@platform/kit';
import { keepCertificates, withUsableNetworks } from '../network/certificates.ts';
import { keepAdditionalNetworks } from '../network/additional-networks.ts';
import { forceFolder } from '../network/forced.ts';
import { keepCountry } from '../network/country.ts';
import { networkSettingsOf, type NetworkSettings } from '../network/network-settings.ts';
import { followCredentialsProblem, noProblem, type CredentialsProblem } from '../network/credentials-problem.ts';
import { Provisioning } from '../network/provisioning.ts';
import type { Credentials } from '../machines/provisioning-state.ts';
import { onceFetch, trustedBy } from '../link/tolerant-fetch.ts';
import { linuxNetwork } from '../os/linux/network-manager.ts';
import type { Network } from '../os/network-port.ts';
import type { AlwaysOn } from './always-on.ts';
import { bluetoothEndpoint, hotspotEndpoints } from './endpoints.ts';
import { noteManaged } from './release-networks.ts';
import { reboot } from './reboot.ts';
import { eachChange } from './sync-loops.ts';
import { system, watchSmallFile } from './system.ts';

const contactMs = 10_000;

/** The NetworkManager of this machine. */
const networkOf = (of: AlwaysOn): Network =>
  linuxNetwork({
    root: of.root,
    clock: of.clock,
    log: of.log,
    files: of.managedFiles,
    probe: async (signal) => {
      if (!of.credentials.found.get()) return 'unknown';
      return (await contact(of, signal)) ? 'full' : 'limited';
    },
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
  const { settings } = inputs;
  const isChanging = new Cell(false);
  const forceWatch = watchSmallFile(path.join(of.root, forceFolder), clock);
  const provisioning = new Provisioning({
    network,
    ...endpointsOf(of),
    ...inputs,
    takeCredentials: (text) => credentials.take(text),
    isReached,
    isChanging,
    isOfflineByHotspot: of.isOfflineByHotspot,
    status: of.network,
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
    settings,
    applied: of.networks,
    mayChange: provisioning.mayChange,
    isChanging,
    contact: (over: AbortSignal) => contact(of, over),
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
    keepCertificates({ settings, conditions, clock }, until),
    keepCountry({ network, settings, conditions, move: () => provisioning.moveHotspot(), clock, log }, until),
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

/** Credentials and settings as the network part sees them. */
function inputsOf({ credentials, wanted, conditions, network, clock }: AlwaysOn): {
  credentials: Cell<Credentials>;
  settings: Cell<NetworkSettings>;
  credentialsProblem: Cell<CredentialsProblem>;
  /** Keeps them current, until the signal. */
  follow: (until: AbortSignal) => Promise<void>[];
} {
  const given = new Cell<Credentials>('none');
  const credentialsProblem = noProblem();
  const settings = new Cell<NetworkSettings>(withUsableNetworks(networkSettingsOf(wanted.get(), false), conditions));
  const update = (): void => {
    const found = credentials.found.get() !== undefined;
    given.set(found ? (credentials.hasCredentials.get() ? 'given' : 'refused') : 'none');
    const next = withUsableNetworks(networkSettingsOf(wanted.get(), found), conditions);
    setIfDifferent(settings, next);
  };
  const { found, pendingCode } = credentials;
  const problemParts = { problem: credentialsProblem, conditions, found, pendingCode, network, clock };
  update();
  const follow = (until: AbortSignal): Promise<void>[] => [
    ...[wanted, credentials.found, credentials.hasCredentials].map((cell) => eachChange(cell, update, until)),
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

/** Whether the management server answers now; its certificate is checked. */
async function contact({ credentials, root, clock }: AlwaysOn, signal: AbortSignal): Promise<boolean> {
  const found = credentials.found.get()?.credentials;
  if (!found) return false;
  return within(contactMs, { what: 'contact with the management server', clock, signal }, async (over) => {
    const send = await onceFetch(trustedBy(found), { root, clock, system });
    const { status } = await send(found.appAddress, { method: 'HEAD', redirect: 'manual', signal: over });
    return status < 300 || (status >= 400 && status < 500); // a captive portal redirects
  }).catch(() => false);
}
