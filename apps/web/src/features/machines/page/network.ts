import type {
  NetworkAttempt,
  NetworkLink,
  NetworkReport,
  NetworkRow,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import {
  NetworkAttemptResult,
  NetworkConnectivity,
  NetworkLinkState,
  NetworkLinkType,
  NetworkMode,
  NetworkRowState,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import {
  attemptResults,
  connectivities,
  linkStates,
  linkTypes,
  networkModes,
  networkRowStates,
} from '@platform/contract/machine/network-states';
import { textOfState } from '@platform/contract/machine/program-states';
import { knownState } from '../../../ui/server-contact.ts';
import { labelOf, type StatusLabel, type Tone } from '../../../ui/status-label.ts';
import { msOf } from '../../../ui/times.ts';

/** The network of a machine, as it was reported. */
export interface NetworkView {
  /** It is of an earlier time, and says nothing of now. */
  isPast: boolean;
  mode: StatusLabel;
  since: number | undefined;
  why: string;
  /** Empty: nothing is planned. */
  next: string;
  nextTime: number | undefined;
  internet: StatusLabel;
  /** When the internet was checked; undefined: not reported. */
  checkedOn: number | undefined;
  /** SSID of the hotspot while it runs; empty: it does not. */
  hotspot: string;
  /** Online only by a network of lower priority than another configured one. */
  isOnFallback: boolean;
  links: readonly LinkView[];
  /** Newest first. */
  attempts: readonly AttemptView[];
  /** In the order of the configuration; first the networks, then the settings of a radio. */
  rows: readonly RowView[];
}

/** What became of one configured network, or of a setting of the radio. */
export interface RowView {
  path: string;
  /** Name of the network, or the key of the setting. */
  name: string;
  isSetting: boolean;
  interface: string;
  state: StatusLabel;
  /** It can never act on this machine as it is. */
  hasNoEffect: boolean;
  text: string;
  code: string;
  /** ms since 1970; undefined: not known. */
  since: number | undefined;
  /** Undefined: it was not measured. */
  measured: number | undefined;
  lastSeen: number | undefined;
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
/** Beside the word "Internet". */
const internetTexts: Readonly<Record<number, string>> = {
  [NetworkConnectivity.FULL]: 'reachable',
  [NetworkConnectivity.NONE]: 'not reachable',
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

const rowTones: Readonly<Record<number, Tone>> = {
  [NetworkRowState.IN_USE]: 'good',
  [NetworkRowState.JOINING]: 'busy',
  [NetworkRowState.REFUSED]: 'bad',
  [NetworkRowState.FAILED]: 'bad',
  [NetworkRowState.NOT_STORED]: 'busy',
};

/** What can never act is a mistake of the configuration; what may come back is not. */
const rowTone = ({ state, hasNoEffect }: NetworkRow): Tone | undefined => (hasNoEffect ? 'warn' : rowTones[state]);

const rowView = (row: NetworkRow): RowView => ({
  path: row.path,
  name: row.name || (row.path.split('.').at(-1) ?? ''),
  isSetting: row.name === '',
  interface: row.interface,
  state: labelOf(textOfState(networkRowStates, row.state) ?? 'not known', rowTone(row)),
  hasNoEffect: row.hasNoEffect,
  text: row.text,
  code: row.code,
  since: row.state === NetworkRowState.NOT_KNOWN ? undefined : msOf(row.since),
  measured: msOf(row.measured),
  lastSeen: row.state === NetworkRowState.IN_USE ? undefined : msOf(row.lastSeen),
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
    isPast: false,
    mode: labelOf(textOfState(networkModes, report.mode), modeTones[report.mode]),
    since: msOf(report.since),
    why: report.why,
    next: report.next,
    nextTime: msOf(report.nextTime),
    internet: labelOf(
      internetTexts[report.connectivity] ?? textOfState(connectivities, report.connectivity),
      internetTones[report.connectivity],
    ),
    checkedOn: msOf(report.connectivityCheckedOn),
    hotspot: report.hotspotSsid,
    isOnFallback: report.isOnFallback,
    links: report.links.map(linkView),
    attempts: report.attempts.map(attemptView),
    rows: [...report.networks, ...report.settings].map(rowView),
  };

const quiet = ({ text }: StatusLabel): StatusLabel => ({ tone: 'quiet', text });

/** What was reported before: nothing of it is shown as good or as in use. */
export const pastNetwork = (network: NetworkView): NetworkView => ({
  ...network,
  isPast: true,
  mode: knownState(network.mode, true),
  internet: knownState(network.internet, true),
  links: network.links.map((link) => ({ ...link, state: quiet(link.state) })),
  rows: network.rows.map((row) => ({ ...row, state: quiet(row.state) })),
});
