import type { NetworkAttempt, NetworkLink, NetworkReport } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import {
  NetworkAttemptResult,
  NetworkConnectivity,
  NetworkLinkState,
  NetworkLinkType,
  NetworkMode,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { attemptResults, connectivities, linkStates, linkTypes, networkModes } from '@platform/contract/network-states';
import { textOfState } from '@platform/contract/program-states';
import { labelOf, type StatusLabel, type Tone } from './status-label.ts';
import { msOf } from './times.ts';

/** The network of a machine, as it was reported. */
export interface NetworkView {
  mode: StatusLabel;
  since: number | undefined;
  why: string;
  /** Empty: nothing is planned. */
  next: string;
  nextTime: number | undefined;
  internet: StatusLabel;
  /** SSID of the hotspot while it runs; empty: it does not. */
  hotspot: string;
  /** Online only by a network of lower priority than another configured one. */
  isOnFallback: boolean;
  links: readonly LinkView[];
  /** Newest first. */
  attempts: readonly AttemptView[];
}

export interface LinkView {
  interface: string;
  /** "WiFi", "wired" … */
  type: string;
  state: StatusLabel;
  /** SSID; empty: no WiFi, or not connected. */
  network: string;
  /** "65 %"; empty: not WiFi, or not connected. */
  signal: string;
  addresses: readonly string[];
  isInUse: boolean;
  isHotspot: boolean;
  /** ms since 1970; undefined: not reported. */
  since: number | undefined;
  /** Empty: not reported. */
  why: string;
}

export interface AttemptView {
  network: string;
  interface: string;
  time: number | undefined;
  result: StatusLabel;
  reason: string;
}

const modeTones: Readonly<Record<number, Tone>> = {
  [NetworkMode.NORMAL]: 'good',
  [NetworkMode.JOINING]: 'busy',
  [NetworkMode.HOTSPOT]: 'warn',
  [NetworkMode.REBOOTING]: 'warn',
};
const internetTones: Readonly<Record<number, Tone>> = {
  [NetworkConnectivity.NONE]: 'bad',
  [NetworkConnectivity.PORTAL]: 'warn',
  [NetworkConnectivity.LIMITED]: 'warn',
  [NetworkConnectivity.FULL]: 'good',
};
const linkTones: Readonly<Record<number, Tone>> = {
  [NetworkLinkState.CONNECTING]: 'busy',
  [NetworkLinkState.CONNECTED]: 'good',
  [NetworkLinkState.FAILED]: 'bad',
};
const attemptTone = (result: NetworkAttemptResult): Tone => {
  if (result === NetworkAttemptResult.OK) return 'good';
  return result === NetworkAttemptResult.PORTAL || result === NetworkAttemptResult.NO_INTERNET ? 'warn' : 'bad';
};

const linkView = (link: NetworkLink): LinkView => ({
  interface: link.interface,
  type: link.isHotspot ? 'hotspot' : (textOfState(linkTypes, link.type) ?? 'other'),
  state: labelOf(textOfState(linkStates, link.state), linkTones[link.state]),
  network: link.ssid,
  signal: link.type === NetworkLinkType.WIFI && link.signalPercent > 0 ? `${link.signalPercent} %` : '',
  addresses: link.addresses,
  isInUse: link.hasDefaultRoute,
  isHotspot: link.isHotspot,
  since: msOf(link.since),
  why: link.why,
});

const attemptView = ({ network, interface: device, time, result, reason }: NetworkAttempt): AttemptView => ({
  network,
  interface: device,
  time: msOf(time),
  result: labelOf(textOfState(attemptResults, result), attemptTone(result)),
  reason,
});

export const networkView = (report: NetworkReport | undefined): NetworkView | undefined =>
  report && {
    mode: labelOf(textOfState(networkModes, report.mode), modeTones[report.mode]),
    since: msOf(report.since),
    why: report.why,
    next: report.next,
    nextTime: msOf(report.nextTime),
    internet: labelOf(textOfState(connectivities, report.connectivity), internetTones[report.connectivity]),
    hotspot: report.hotspotSsid,
    isOnFallback: report.isOnFallback,
    links: report.links.map(linkView),
    attempts: report.attempts.map(attemptView),
  };
