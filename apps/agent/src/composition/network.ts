import { Cell, within } from '@platform/kit';
import { keepAdditionalNetworks } from '../network/additional-networks.ts';
import { networkSettingsOf, type NetworkSettings } from '../network/network-settings.ts';
import { Provisioning } from '../network/provisioning.ts';
import type { Credentials } from '../machines/provisioning-state.ts';
import { onceFetch, trustedBy } from '../link/tolerant-fetch.ts';
import { managedFilesOnDisk } from '../os/managed-files-on-disk.ts';
import { linuxNetwork } from '../os/linux/network-manager.ts';
import type { Network } from '../os/network-port.ts';
import type { AlwaysOn } from './always-on.ts';
import { hotspotEndpoints } from './endpoints.ts';
import { eachChange } from './sync-loops.ts';
import { system } from './system.ts';

const contactMs = 10_000;

/** The NetworkManager of this machine. */
const networkOf = (of: AlwaysOn): Network =>
  linuxNetwork({
    clock: of.clock,
    log: of.log,
    files: managedFilesOnDisk(of.root),
    probe: async (signal) => {
      if (!of.credentials.found.get()) return 'unknown';
      return (await contact(of, signal)) ? 'full' : 'limited';
    },
  });

/** Network provisioning and additional networks of this machine, until the signal. */
export async function manageNetworks(of: AlwaysOn, signal: AbortSignal): Promise<void> {
  const { wanted, credentials, isReached, conditions, device, clock, log } = of;
  const network = networkOf(of);
  const given = new Cell<Credentials>('none');
  const settings = new Cell<NetworkSettings>(networkSettingsOf(wanted.get(), false));
  const update = (): void => {
    const found = credentials.found.get() !== undefined;
    given.set(found ? (credentials.hasCredentials.get() ? 'given' : 'refused') : 'none');
    const next = networkSettingsOf(wanted.get(), found);
    if (JSON.stringify(next) !== JSON.stringify(settings.get())) settings.set(next);
  };
  update();
  const isChanging = new Cell(false);
  const provisioning = new Provisioning({
    network,
    endpoints: hotspotEndpoints({ device, clock, log: log.child('endpoints') }),
    settings,
    credentials: given,
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
    takeOrders(of.provisioningOrders, () => provisioning.force(), until),
    ...[wanted, credentials.found, credentials.hasCredentials].map((cell) => eachChange(cell, update, until)),
  ];
  try {
    await Promise.all(loops);
  } finally {
    stop.abort(); // one loop failed: the others end before they are started again
    await Promise.allSettled(loops);
    of.network.set(undefined);
  }
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

async function reboot(): Promise<void> {
  const { code, text } = await system.run('systemctl', 'reboot');
  if (code !== 0) throw new Error(`systemctl reboot failed: ${text.slice(0, 200)}`);
}
