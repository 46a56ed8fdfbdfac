import type { Connectivity, JoinFailure } from '../../os/network-port.ts';
import type { NetworkRows } from './network-rows.ts';
import type { LinkStatus } from './connection-history.ts';

/** What the agent does with the network, for the status, the report and the log. Instants: ms since 1970. */
export interface NetworkStatus {
  /** `unmanaged`: disabled by the configuration, or there is nothing to manage; `why` says which. */
  mode: 'unmanaged' | 'normal' | 'joining' | 'hotspot' | 'rebooting';
  sinceWall: number;
  why: string;
  /** What is tried next and why, as a sentence; `nextWall`: when; null: nothing by time. */
  next: string;
  nextWall: number | null;
  /** Three things: a link, the internet, the management server. */
  hasLink: boolean;
  /** `unknown`: not measured over these links, or too long ago. */
  connectivity: Connectivity;
  /** When the way to the internet was measured last; null: not over these links. */
  checkedWall: number | null;
  isCloudReached: boolean;
  links: readonly LinkStatus[];
  /** SSID of the hotspot that is on the air; empty: none is. */
  hotspotSsid: string;
  /** Fields of `network_configuration` that the running hotspot does not have yet, and why they wait, as a clause. */
  hotspotWaiting: { fields: readonly string[]; why: string };
  /** The last ten, newest first. */
  attempts: readonly NetworkAttempt[];
  /** Links and radios that a user should know of: IPv6 only, a second radio, an unplugged one. */
  notes: readonly string[];
  /** The machine is online by a network of lower priority than another one that is configured. */
  isOnFallback: boolean;
  /** What became of each configured network; absent: not measured yet. */
  rows?: NetworkRows;
}

export interface NetworkAttempt {
  network: string;
  interface: string;
  wall: number;
  result: 'ok' | 'portal' | 'no-internet' | JoinFailure;
  /** For users; empty if ok. */
  text: string;
}
