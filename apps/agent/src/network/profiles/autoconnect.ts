import { primaryOf, type KnownNetwork, type Mode } from '../../state-machines/network-rules.ts';
import type { Network, NetworkState } from '../../os/network-port.ts';

/**
 * The profiles of this agent that the operating system should activate by itself, and does not, or the other way
 * round. In single mode only the leading WiFi network: otherwise NetworkManager would use the others in normal mode.
 */
function autoconnectChanges(
  { profiles }: NetworkState,
  known: readonly KnownNetwork[],
  mode: Mode,
  chosen: string | null,
): readonly { uuid: string; isAutoconnect: boolean }[] {
  const primary = primaryOf(known, chosen)?.profile;
  return profiles.flatMap(({ uuid, type, mark, isHotspot, isAutoconnect: before }) => {
    if (!mark || mark.kind === 'hotspot' || isHotspot) return [];
    const isAutoconnect = type !== 'wifi' || mode === 'roaming' || uuid === primary;
    return isAutoconnect === before ? [] : [{ uuid, isAutoconnect }];
  });
}

export async function alignAutoconnect(network: Network, ...of: Rest): Promise<void> {
  for (const { uuid, isAutoconnect } of autoconnectChanges(network.state.get(), ...of))
    await network.setAutoconnect(uuid, isAutoconnect);
}

type Rest = [known: readonly KnownNetwork[], mode: Mode, chosen: string | null];
