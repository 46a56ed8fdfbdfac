// The network of this machine as the management server gets it.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { NetworkReportSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import {
  attemptResults,
  connectivities,
  linkStates,
  linkTypes,
  networkModes,
  networkRowStates,
} from '@platform/contract/machine/network-states';
import type { LinkStatus } from '../network/rows/connection-history.ts';
import { mostRows, steadyRows, type NetworkRow } from '../network/rows/network-rows.ts';
import type { NetworkStatus } from '../network/rows/network-status.ts';

/** A host with containers has one device for each of them. */
const mostLinks = 8;
const mostAddresses = 4;
const mostAttempts = 10;
/** The longest text in a row. */
const mostCharacters = 300;
/** Signal strength is rounded to this: finer steps carry no information. */
const signalStep = 5;

const timeField = (wall: number | undefined) => (wall === undefined ? undefined : timestampFromMs(Math.round(wall)));

const rank = (link: LinkStatus): number =>
  (link.hasDefaultRoute ? 8 : 0) + (link.state === 'connected' ? 4 : 0) + (link.type === 'other' ? 0 : 2);

const shownLinks = (links: readonly LinkStatus[]): readonly LinkStatus[] =>
  links.toSorted((a, b) => rank(b) - rank(a)).slice(0, mostLinks);

const linkOf = (link: LinkStatus, since: ReturnType<typeof timeField>) => ({
  interface: link.interface,
  type: linkTypes[link.type].wire,
  state: linkStates[link.state].wire,
  ssid: link.ssid,
  signalPercent: Math.round(Math.min(100, Math.max(0, link.signalPercent)) / signalStep) * signalStep,
  addresses: link.addresses.slice(0, mostAddresses),
  hasDefaultRoute: link.hasDefaultRoute,
  isHotspot: link.isHotspot,
  ...(since && { since }),
  why: link.why,
});

type SinceOf = (noted: number) => number | undefined;

/** @param sinceOf - converts a stored time by the current clock; undefined: unknown. */
export function networkReport(status: NetworkStatus, sinceOf: SinceOf): MessageInitShape<typeof NetworkReportSchema> {
  const since = timeField(sinceOf(status.sinceWall));
  const nextTime = status.nextWall === null ? undefined : timeField(status.nextWall);
  const checked = status.checkedWall === null ? undefined : timeField(status.checkedWall);
  return {
    mode: networkModes[status.mode].wire,
    ...(since && { since }),
    why: [status.why, ...status.notes].join('; '),
    next: status.next,
    ...(nextTime && { nextTime }),
    hasLink: status.hasLink,
    connectivity: connectivities[status.connectivity].wire,
    ...(checked && { connectivityCheckedOn: checked }),
    isCloudReached: status.isCloudReached,
    links: shownLinks(status.links).map((link) => linkOf(link, timeField(sinceOf(link.sinceWall)))),
    hotspotSsid: status.hotspotSsid,
    hotspotWaiting: [...status.hotspotWaiting.fields],
    hotspotWaitingFor: status.hotspotWaiting.why,
    attempts: status.attempts.slice(0, mostAttempts).map(({ network, interface: device, wall, result, text }) => {
      const time = timeField(sinceOf(wall));
      return { network, interface: device, ...(time && { time }), result: attemptResults[result].wire, reason: text };
    }),
    isOnFallback: status.isOnFallback,
    networks: (status.rows?.networks ?? []).slice(0, mostRows).map((row) => rowOf(row, sinceOf)),
    settings: (status.rows?.settings ?? []).map((row) => rowOf(row, sinceOf)),
  };
}

const instant = (wall: number | null, sinceOf: SinceOf) => (wall === null ? undefined : timeField(sinceOf(wall)));

function rowOf(row: NetworkRow, sinceOf: SinceOf) {
  const [since, measured] = [instant(row.sinceWall, sinceOf), instant(row.measuredWall, sinceOf)];
  const lastSeen = instant(row.lastSeenWall, sinceOf);
  return {
    path: row.path.slice(0, mostCharacters),
    state: networkRowStates[row.state].wire,
    name: row.name.slice(0, mostCharacters),
    interface: row.interface,
    text: row.text.slice(0, mostCharacters),
    code: row.code,
    ...(since && { since }),
    ...(measured && { measured }),
    ...(lastSeen && { lastSeen }),
    hasNoEffect: row.hasNoEffect,
  };
}

/**
 * Whether a report of `b` would say the same as one of `a`, apart from the strength of signals, the times of the next
 * attempt and of the last check, and when networks were seen and rows measured: these change all the time.
 */
export const isSameNetwork = (a: NetworkStatus | undefined, b: NetworkStatus | undefined): boolean =>
  a === b || JSON.stringify(a && steadyPart(a)) === JSON.stringify(b && steadyPart(b));

const steadyPart = (status: NetworkStatus) => ({
  ...status,
  nextWall: null,
  checkedWall: null,
  ...(status.rows && { rows: steadyRows(status.rows) }),
  links: shownLinks(status.links).map((link) => ({ ...link, signalPercent: 0 })),
});

const mostAtOnce = 10;
const spacingMs = 5 * 60_000;

/**
 * Limits the reports that only a change of the network causes: ten at once, then one in five minutes. A link that
 * flaps all day costs at most 300 reports, about 1 MB.
 */
export class NetworkReportLimit {
  #left = mostAtOnce;
  #at: number | undefined;

  /** @returns the time until the next report, in ms; 0: now. */
  wait(now: number): number {
    this.#refill(now);
    return this.#left >= 1 ? 0 : Math.ceil((1 - this.#left) * spacingMs);
  }

  take(now: number): void {
    this.#refill(now);
    this.#left = Math.max(0, this.#left - 1);
  }

  #refill(now: number): void {
    this.#left = Math.min(mostAtOnce, this.#left + (now - (this.#at ?? now)) / spacingMs);
    this.#at = now;
  }
}
