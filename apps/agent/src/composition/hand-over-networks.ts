import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { createLog, changedOr, type Clock } from '@platform/kit';
import { NetworkHandOver, nothingHandedOver, planHandOver, type HandedOver } from '../network/profiles/hand-over.ts';
import { linuxNetwork } from '../os/linux/networkmanager/network-manager.ts';
import { markKey } from '../os/linux/networkmanager/profiles.ts';
import { managedFilesOnDisk } from '../os/managed-files-on-disk.ts';
import type { LinkDevice, Network } from '../os/network-port.ts';
import type { Disk } from '../os/ports.ts';
import { posixDisk } from '../os/posix/disk.ts';
import { system } from './system.ts';

/** An agent that never managed networks has nothing to hand over. */
const managedFile = 'state/manages-networks';
const readyMs = 15_000;
/** Where NetworkManager stores profiles. */
const profileFolder = '/etc/NetworkManager/system-connections';

export async function noteManaged(disk: Disk): Promise<void> {
  if ((await disk.read(managedFile)) === undefined) await disk.write(managedFile, new Uint8Array());
}

/** The networks of an agent that is being uninstalled. */
export interface InstalledNetworks extends AsyncDisposable {
  /** Names of the networks that `handOver` would remove, and the links that end with them. */
  removable(): { names: readonly string[]; links: readonly LinkDevice[] };
  /** @throws Error if NetworkManager does not answer */
  handOver(isAllRemoved: boolean): Promise<HandedOver>;
}

/** Undefined: the agent of this folder managed no networks. Without NetworkManager `handOver` says what stays. */
export async function installedNetworks(root: string, clock: Clock): Promise<InstalledNetworks | undefined> {
  const disk = posixDisk(path.resolve(root));
  if ((await disk.read(managedFile)) === undefined) return undefined;
  const log = createLog({ name: 'uninstall', clock, level: 'error', sink: () => {} });
  const files = managedFilesOnDisk(root);
  const network = linuxNetwork({ root, clock, log, files, programs: system, probe: async () => 'unknown' });
  const stop = new AbortController();
  const running = network.run(stop.signal);
  const close = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  await settled(network, clock);
  if (network.state.get().manager !== 'ready') {
    await close();
    return {
      removable: () => ({ names: [], links: [] }),
      handOver: handOverWithoutManager,
      [Symbol.asyncDispose]: async () => {},
    };
  }
  return {
    removable: () => removableOf(network),
    handOver: (isAllRemoved) => new NetworkHandOver({ network, disk }).run({ isAllRemoved }),
    [Symbol.asyncDispose]: close,
  };
}

/** Names of the saved profiles that carry the mark of this agent, for when NetworkManager does not run. */
export async function markedProfiles(folder: string): Promise<readonly string[]> {
  const files = await readdir(folder).catch(() => []);
  const marked = await Promise.all(
    files.map(async (file) => {
      const text = await readFile(path.join(folder, file), 'utf8').catch(() => '');
      return text.includes(markKey) ? [path.basename(file, '.nmconnection')] : [];
    }),
  );
  return marked.flat().toSorted();
}

async function handOverWithoutManager(): Promise<HandedOver> {
  const names = await markedProfiles(profileFolder);
  if (names.length === 0) return nothingHandedOver;
  throw new Error(
    `NetworkManager does not run, so ${names.join(', ')} stay as they are: start it, then "nmcli connection delete NAME" removes one`,
  );
}

async function settled({ state }: Network, clock: Clock): Promise<void> {
  const end = clock.now() + readyMs;
  const never = new AbortController().signal;
  while (state.get().manager === 'starting' && clock.now() < end)
    await changedOr(state, end - clock.now(), clock, never);
}

function removableOf({ state }: Network): ReturnType<InstalledNetworks['removable']> {
  const { removed } = planHandOver(state.get(), true);
  const uuids = new Set(removed.map(({ uuid }) => uuid));
  return {
    names: removed.map(({ name }) => name),
    links: state.get().devices.filter(({ state: at, profile }) => at === 'connected' && uuids.has(profile)),
  };
}
