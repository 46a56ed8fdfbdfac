// Which network counts as online, and which one is tried next: the specification's network selection rules. Pure.
import type { AttemptResult, Connectivity, JoinFailure } from './join-results.ts';

/**
 * `single`: one WiFi network is used, and a connection to it counts as online. `roaming`: every network is used, and
 * only a reached internet counts (turn_on_hotspot_if_wifi_has_no_internet).
 */
export type Mode = 'single' | 'roaming';

/** A saved WiFi profile that may be joined; the hotspot and foreign profiles without autoconnect are left out. */
export interface KnownNetwork {
  /** UUID of the profile. */
  profile: string;
  ssid: string;
  /** -999 to 999; higher takes precedence. */
  priority: number;
  /** It does not announce itself: a scan that misses it proves nothing. */
  isHidden: boolean;
}

/** The network of this machine as the rules need it. */
export interface Observation {
  /** A radio that may carry the hotspot, and a manager that can start it. */
  hasRadio: boolean;
  /** The connected WiFi network on that radio, never the hotspot; null: none. */
  wifi: { profile: string } | null;
  /** Profile that the operating system is connecting on that radio right now; absent: none. */
  connecting?: string;
  /** Another connected link: wired, tethered, a second radio. True if the links are unknown (no NetworkManager). */
  hasOtherLink: boolean;
  /** `unknown`: not measured over these links, or too long ago. */
  connectivity: Connectivity;
  /** The management server answered within about a minute. */
  isCloudReached: boolean;
  known: readonly KnownNetwork[];
  /** `seen`: ms of the monotonic clock. */
  visible: readonly { ssid: string; seen: number }[];
}

/** The answer to a join. After an activation, connectivity is measured again before it is given. */
export type JoinAnswer =
  | { ok: true; connectivity: Connectivity; isCloudReached: boolean; isIpv6Only?: boolean }
  | { ok: false; reason: JoinFailure };

/** First and last sighting of a known network without a gap longer than `unseenMs`, by SSID. */
export type Sightings = Readonly<Record<string, { first: number; last: number }>>;

const byPriority = (a: KnownNetwork, b: KnownNetwork): number =>
  b.priority - a.priority || compare(a.ssid, b.ssid) || compare(a.profile, b.profile);
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Descending priority; ties by SSID, because the order of NetworkManager's list changes with each of its starts. */
export const inOrder = (known: readonly KnownNetwork[]): readonly KnownNetwork[] => known.toSorted(byPriority);

/** `chosen`: the network that a user entered last; it leads even before its priority is stored. */
export const primaryOf = (known: readonly KnownNetwork[], chosen: string | null): KnownNetwork | undefined =>
  known.find(({ profile }) => profile === chosen) ?? inOrder(known)[0];

/** Every network with the highest priority is primary: with a tie, none of them is worth leaving for another. */
export function isPrimary(profile: string, known: readonly KnownNetwork[], chosen: string | null): boolean {
  if (profile === chosen) return true;
  const primary = primaryOf(known, chosen);
  if (!primary || primary.profile === chosen) return primary === undefined;
  const own = known.find((network) => network.profile === profile);
  return own !== undefined && own.priority === primary.priority;
}

/**
 * The specification has two meanings of online. The management server counts as the internet: a site without internet
 * may run its own. A wired link counts by the same rule as a fallback network, because a cable to a sensor or a robot
 * arm has an address and leads nowhere.
 */
export function isOnline(seen: Observation, mode: Mode, chosen: string | null): boolean {
  if (seen.wifi === null && !seen.hasOtherLink) return false;
  if (seen.connectivity === 'full' || seen.isCloudReached) return true;
  return mode === 'single' && seen.wifi !== null && isPrimary(seen.wifi.profile, seen.known, chosen);
}

/** What a join has led to by the rules of the mode. `isChosen`: a user entered the network, or it is primary. */
export function attemptResult(answer: JoinAnswer, mode: Mode, isChosen: boolean): AttemptResult {
  if (!answer.ok) return answer.reason;
  if (answer.connectivity === 'full' || answer.isCloudReached || (mode === 'single' && isChosen)) return 'ok';
  if (answer.connectivity === 'portal') return 'portal';
  if (answer.connectivity === 'unknown') return 'unchecked';
  return answer.isIpv6Only === true ? 'ipv6-only' : 'no-internet';
}

/** Sightings of known networks only: the neighbourhood of a moving machine must not fill the memory. */
export function withSightings(old: Sightings, seen: Observation, unseenMs: number): Sightings {
  const known = new Set(seen.known.map(({ ssid }) => ssid));
  const next: Record<string, { first: number; last: number }> = {};
  for (const [ssid, times] of Object.entries(old)) if (known.has(ssid)) next[ssid] = times;
  for (const { ssid, seen: at } of seen.visible) {
    if (!known.has(ssid)) continue;
    const last = next[ssid];
    if (last && at <= last.last) continue;
    next[ssid] = last && at - last.last < unseenMs ? { first: last.first, last: at } : { first: at, last: at };
  }
  return next;
}

export interface Choice {
  known: readonly KnownNetwork[];
  sightings: Sightings;
  /** When each profile was tried last. */
  tried: Readonly<Record<string, number>>;
  mode: Mode;
  chosen: string | null;
  /** Profile of the connected network; trying it again changes nothing. */
  connected: string | null;
  retryMs: number;
  unseenMs: number;
}

/** Visible now, or hidden. */
const isInReach = (network: KnownNetwork, choice: Choice, now: number): boolean => {
  const times = choice.sightings[network.ssid];
  return network.isHidden || (times !== undefined && now - times.last < choice.unseenMs);
};

/** It was not tried since it came into reach: never, or it was unseen for `unseenMs` since. */
function isNew(network: KnownNetwork, choice: Choice): boolean {
  const tried = choice.tried[network.profile];
  const times = choice.sightings[network.ssid];
  return tried === undefined || (times !== undefined && times.first > tried);
}

/** A network that came back after `unseenMs` is tried at once, any other after `retryMs`. */
const isDue = (network: KnownNetwork, choice: Choice, now: number): boolean =>
  isNew(network, choice) || now - (choice.tried[network.profile] ?? now) >= choice.retryMs;

/** Networks to try now, by rule: `normal` 1 and 2, `provisioning` 3. @returns profiles, the first to try first */
export function candidates(choice: Choice, during: 'normal' | 'provisioning', now: number): readonly string[] {
  const primary = primaryOf(choice.known, choice.chosen)?.profile;
  return inOrder(choice.known)
    .filter(({ profile }) => during === 'provisioning' || choice.mode === 'roaming' || profile === primary)
    .filter(({ profile }) => profile !== choice.connected)
    .filter((network) => isInReach(network, choice, now) && isDue(network, choice, now))
    .map(({ profile }) => profile);
}

/**
 * Networks to try although the machine is online by one of lower priority: in reach, and due.
 *
 * @returns profiles, the first to try first
 */
export function higherOnes(choice: Choice, now: number): readonly string[] {
  const higher = abovePriority(choice);
  return candidates(choice, 'provisioning', now).filter((profile) => higher.has(profile));
}

/** Profiles that take precedence over the connected one; empty: it is not known, or leads. */
export function abovePriority({ known, chosen, connected }: Choice): ReadonlySet<string> {
  const own = known.find(({ profile }) => profile === connected);
  if (!own || isPrimary(own.profile, known, chosen)) return new Set();
  return new Set(
    known.filter((one) => one.profile === chosen || one.priority > own.priority).map(({ profile }) => profile),
  );
}

/**
 * The networks of one round of provisioning (rule 3): each known one once, in descending priority. Without the result
 * of a scan also those that were not seen.
 */
export const roundOf = (choice: Choice, hasScanned: boolean, now: number): readonly string[] =>
  inOrder(choice.known)
    .filter(({ profile }) => profile !== choice.connected)
    .filter((network) => !hasScanned || isInReach(network, choice, now))
    .map(({ profile }) => profile);

/** The round that ends a running hotspot because a network came into reach; empty: none did. */
export const roundOfNew = (choice: Choice, now: number): readonly string[] =>
  choice.known.some((one) => one.profile !== choice.connected && isInReach(one, choice, now) && isNew(one, choice))
    ? roundOf(choice, true, now)
    : [];
