// Within which time the machine owes what is expected: the limits of docs/provisioning.md, added up. Pure.
import type { Expectation, Step } from './world.ts';

/** Seconds. Configured in the walk: one minute each. */
const configuredSeconds = { offlineBeforeHotspot: 60, retryConnection: 60 } as const;

/** Seconds: the limits of single steps in docs/generated/provisioning.md, and the time to notice a loss. */
const limitSeconds = {
  /** A link that ended: NetworkManager's 30 s. A dead upstream: the management server is missed, and the next probe. */
  detection: 120,
  join: 56,
  scan: 20,
  hotspotStart: 60,
  contact: 30,
} as const;

/** The machine is emulated, many times slower than a real one. */
const slowFactor = 1.5;

/** A change of networks is tried for this long before it is rolled back. */
export const trialSeconds = 180;
const bootSeconds = 120;

/**
 * The longest way to each outcome. Online: the loss is noticed, the hotspot opens, its time passes, each network is
 * tried. Hotspot: the loss is noticed, the offline minutes pass, each network may be under way once.
 */
export function promisedSeconds(expected: Expectation, step: Step, networks: number): number {
  const { detection, join, scan, hotspotStart, contact } = limitSeconds;
  const { offlineBeforeHotspot, retryConnection } = configuredSeconds;
  const hotspot = detection + offlineBeforeHotspot + networks * join + hotspotStart;
  const online = detection + offlineBeforeHotspot + hotspotStart + retryConnection + scan + networks * join + contact;
  const more = step.do === 'reboot' ? bootSeconds : 0;
  return Math.round(slowFactor * ((expected === 'hotspot' ? hotspot : online) + more));
}
