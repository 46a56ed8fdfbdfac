import type { Network, SavedProfile } from '../os/network-port.ts';

export interface Released {
  /** Names of the profiles that now belong to the operating system. */
  left: readonly string[];
  removed: readonly string[];
}

/**
 * Gives up the profiles of this agent. What the machine is online by and what a user entered is left to the operating
 * system: otherwise no user could reach the machine any more. The others are removed.
 */
export async function releaseProfiles(network: Network, isAllRemoved = false): Promise<Released> {
  const { profiles, devices } = network.state.get();
  const active = new Set(devices.filter(({ state }) => state === 'connected').map(({ profile }) => profile));
  const isKept = ({ uuid, mark }: SavedProfile): boolean =>
    !isAllRemoved && (active.has(uuid) || mark?.kind === 'provisioned');
  const [left, removed]: [string[], string[]] = [[], []];
  await network.stopHotspot();
  for (const profile of profiles) {
    if (!profile.mark) continue;
    if (profile.mark.kind !== 'hotspot' && isKept(profile)) {
      if (!profile.isAutoconnect) await network.setAutoconnect(profile.uuid, true);
      await network.disown(profile.uuid);
      left.push(profile.ssid || profile.name);
    } else {
      await network.remove(profile.uuid);
      removed.push(profile.ssid || profile.name);
    }
  }
  await network.setPowerSave(null);
  return { left, removed };
}
