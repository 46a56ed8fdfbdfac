import { formatDuration } from '@platform/kit';
import {
  type Machine,
  NetworkAttemptResult,
  NetworkAttemptResultSchema,
  NetworkConnectivitySchema,
  type NetworkLink,
  NetworkLinkStateSchema,
  NetworkLinkTypeSchema,
  NetworkModeSchema,
  type NetworkRow,
  NetworkRowState,
  NetworkRowStateSchema,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import {
  attemptResults,
  connectivities,
  networkModes,
  networkRowStates,
} from '@platform/contract/machine/network-states';
import { textOfState } from '@platform/contract/machine/program-states';
import { ago, enumWord, isoTime, printable } from '../output.ts';

/** The network of a machine with its wire names; null: not reported. */
export function networkJson({ report }: Machine): Record<string, unknown> | null {
  const network = report?.network;
  if (!network) return null;
  return {
    mode: enumWord(NetworkModeSchema, network.mode),
    since: isoTime(network.since),
    why: network.why,
    next: network.next,
    next_time: isoTime(network.nextTime),
    has_link: network.hasLink,
    connectivity: enumWord(NetworkConnectivitySchema, network.connectivity),
    connectivity_checked_on: isoTime(network.connectivityCheckedOn),
    is_cloud_reached: network.isCloudReached,
    is_on_fallback: network.isOnFallback,
    hotspot_ssid: network.hotspotSsid,
    hotspot_waiting: network.hotspotWaiting,
    hotspot_waiting_for: network.hotspotWaitingFor,
    links: network.links.map((link) => ({
      interface: link.interface,
      type: enumWord(NetworkLinkTypeSchema, link.type),
      state: enumWord(NetworkLinkStateSchema, link.state),
      ssid: link.ssid,
      signal_percent: link.signalPercent,
      addresses: link.addresses,
      has_default_route: link.hasDefaultRoute,
      is_hotspot: link.isHotspot,
      since: isoTime(link.since),
      why: link.why,
    })),
    attempts: network.attempts.map(({ network: name, interface: device, time, result, reason }) => ({
      network: name,
      interface: device,
      time: isoTime(time),
      result: enumWord(NetworkAttemptResultSchema, result),
      reason,
    })),
    networks: network.networks.map(rowJson),
    settings: network.settings.map(rowJson),
  };
}

const rowJson = (row: NetworkRow): Record<string, unknown> => ({
  path: row.path,
  name: row.name,
  state: enumWord(NetworkRowStateSchema, row.state),
  interface: row.interface,
  text: row.text,
  code: row.code,
  since: isoTime(row.since),
  measured: isoTime(row.measured),
  last_seen: isoTime(row.lastSeen),
  has_no_effect: row.hasNoEffect,
});

/** "Barn: out of range since 3 h ago, last seen 3 h ago: stored, not seen any more". */
function rowText(row: NetworkRow, nowMs: number): string {
  const isKnown = row.state !== NetworkRowState.NOT_KNOWN;
  const facts = [
    `${textOfState(networkRowStates, row.state) ?? 'not known'}${isKnown && row.since ? ` since ${ago(row.since, nowMs)}` : ''}`,
    ...(row.hasNoEffect ? ['no effect here'] : []),
    ...(row.lastSeen && row.state !== NetworkRowState.IN_USE ? [`last seen ${ago(row.lastSeen, nowMs)}`] : []),
  ];
  return `${row.name || row.path.split('.').at(-1)}: ${facts.join(', ')}: ${row.text}${row.code === '' ? '' : ` (${row.code})`}`;
}

/** "Barn on wlan0 (65 %), 10.0.0.7/24". */
function linkText({ interface: device, ssid, signalPercent, addresses }: NetworkLink): string {
  const signal = signalPercent > 0 ? ` (${signalPercent} %)` : '';
  return [`${ssid === '' ? device : `${ssid} on ${device}`}${signal}`, ...addresses.slice(0, 1)].join(', ');
}

/** The link in use, what is tried next, and the newest failure if it is the newest attempt. Empty: not reported. */
export function networkText({ report }: Machine, nowMs: number): string {
  const network = report?.network;
  if (!network) return '';
  const link = network.links.find(({ hasDefaultRoute }) => hasDefaultRoute);
  const [last] = network.attempts;
  const isFailed = last !== undefined && last.result !== NetworkAttemptResult.OK;
  const nextMs = network.nextTime ? Number(network.nextTime.seconds) * 1000 - nowMs : 0;
  const lines = [
    [
      textOfState(networkModes, network.mode) ?? 'not reported',
      ...(link ? [linkText(link)] : ['no link in use']),
      [
        textOfState(connectivities, network.connectivity) ?? 'not reported',
        ...(network.connectivityCheckedOn ? [`(checked ${ago(network.connectivityCheckedOn, nowMs)})`] : []),
      ].join(' '),
      ...(network.hotspotSsid === '' ? [] : [`hotspot ${network.hotspotSsid}`]),
      ...(network.isOnFallback ? ['a network of lower priority'] : []),
      ...(network.since ? [`since ${ago(network.since, nowMs)}`] : []),
    ].join(', '),
    network.why,
    network.next && `next: ${network.next}${nextMs > 0 ? ` (in ${formatDuration(nextMs / 1000)})` : ''}`,
    isFailed &&
      `last attempt: ${last.network}, ${ago(last.time, nowMs)}: ${textOfState(attemptResults, last.result) ?? 'failed'}`,
  ];
  lines.push(...[...network.networks, ...network.settings].map((row) => printable(rowText(row, nowMs))));
  return lines.filter((line) => line !== '' && line !== false).join('\n');
}
