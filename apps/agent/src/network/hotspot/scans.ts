import type { Clock, Log } from '@platform/kit';
import { wantsToClimb } from '../../state-machines/provisioning-memory.ts';
import type { State } from '../../state-machines/provisioning-state.ts';
import type { Network, VisibleNetwork } from '../../os/network-port.ts';

const scanEveryMs = 15_000;
/** In hotspot mode, a scan takes the radio away from the phones for a moment. */
const hotspotScanEveryMs = 30_000;
/** While the machine is online by a network of lower priority. */
const climbScanEveryMs = 120_000;

interface ScanParts {
  network: Network;
  clock: Clock;
  log: Log;
  machine: () => State;
  /** The interface; empty: there is none. */
  radio: () => string;
}

/** The machine asks for scans itself while it searches; these notice that a network has returned. Until the signal. */
export async function keepScanning(
  { network, clock, log, machine, radio: radioNow }: ScanParts,
  signal: AbortSignal,
): Promise<void> {
  let climbScanAt = -Infinity;
  while (!signal.aborted) {
    const { at, memory } = machine();
    const radio = radioNow();
    const isClimbing = at === 'online' && wantsToClimb(memory, clock.now());
    const isDue = at === 'offline' || at === 'hotspot' || (isClimbing && clock.now() >= climbScanAt);
    if (isClimbing && isDue) climbScanAt = clock.now() + climbScanEveryMs;
    if (radio !== '' && isDue)
      await network.scan(radio, signal).catch((error: unknown) => log.debug('the scan failed', { error }));
    await clock.sleep(machine().at === 'hotspot' ? hotspotScanEveryMs : scanEveryMs, signal);
  }
}

/** A radio that becomes the hotspot forgets what it saw, and scans again only after a while. */
const keptMs = 5 * 60_000;

/** The visible networks, and those that were visible some minutes ago. */
export function withNearby(
  before: readonly VisibleNetwork[],
  visible: readonly VisibleNetwork[],
  now: number,
): readonly VisibleNetwork[] {
  const isSame = (a: VisibleNetwork, b: VisibleNetwork): boolean => a.ssid === b.ssid && a.interface === b.interface;
  const kept = before.filter((old) => now - old.seen < keptMs && !visible.some((one) => isSame(one, old)));
  return [...visible, ...kept];
}
