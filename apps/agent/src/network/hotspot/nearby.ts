import type { VisibleNetwork } from '../../os/network-port.ts';

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
