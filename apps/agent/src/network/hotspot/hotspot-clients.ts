import { changedOr, type Cell, type Clock, type Log } from '@platform/kit';
import type { Network } from '../../os/network-port.ts';

const lookEveryMs = 5_000;

export interface HotspotClientsParts {
  network: Network;
  /** The running hotspot has earlier settings: it starts again as soon as no phone is connected. */
  isStale: Cell<boolean>;
  /** Receives each look. Not known counts as connected. */
  seen: (hasClient: boolean) => void;
  clock: Clock;
}

/** Looks whether a phone is connected to the hotspot, while that matters. */
export async function watchHotspotClients(parts: HotspotClientsParts, signal: AbortSignal): Promise<void> {
  const { network, isStale, seen, clock } = parts;
  while (!signal.aborted) {
    if (!isStale.get()) {
      await isStale.changed(signal);
      continue;
    }
    // `hotspot_interface` may name another radio meanwhile.
    const radio = network.state.get().devices.find(({ isHotspot }) => isHotspot)?.interface ?? '';
    const clients = await network.hotspotClients(radio).catch(() => undefined);
    if (isStale.get()) seen(clients !== 0);
    if (isStale.get()) await changedOr(isStale, lookEveryMs, clock, signal);
  }
}

/** An agent that was killed has left its hotspot on the air: it ends before the next one may start. */
export async function endEarlierHotspot(
  { network, log }: { network: Network; log: Log },
  signal: AbortSignal,
): Promise<void> {
  while (network.state.get().manager === 'starting' && !signal.aborted) await network.state.changed(signal);
  if (!signal.aborted)
    await network.stopHotspot().catch((error: unknown) => log.warn('an earlier hotspot is not ended', { error }));
}
