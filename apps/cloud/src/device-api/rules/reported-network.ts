import { readReportedDefaults } from '@platform/contract/config/device-defaults';
import type {
  AgentReport,
  DeviceDefaults,
  HostFacts,
  NetworkReport,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';

/** More than any agent of ours sends. */
const mostLinks = 16;
const mostAddresses = 8;
const mostAttempts = 10;
const mostWaiting = 10;
const mostText = 500;
/** A network name has at most 32 bytes; an interface name and an address are shorter than this. */
const mostName = 64;

const name = (value: string): string => value.slice(0, mostName);
const text = (value: string): string => value.slice(0, mostText);

/** The report as it is stored: what a machine reports about its network and itself is cut to limits, so that lists stay small. */
export const boundedReport = (report: AgentReport): AgentReport => ({
  ...report,
  ...(report.network && { network: boundedNetwork(report.network) }),
  ...(report.facts && { facts: boundedFacts(report.facts) }),
  ...(report.deviceDefaults && { deviceDefaults: boundedDefaults(report.deviceDefaults) }),
});

/** What cannot be read is left out: the form says that it does not know it. */
const boundedDefaults = (defaults: DeviceDefaults): DeviceDefaults => ({
  ...defaults,
  ...(readReportedDefaults(defaults.agentJson) === undefined && { agentJson: '{}', isCut: true }),
  file: text(defaults.file),
  problem: text(defaults.problem),
});

const boundedFacts = (facts: HostFacts): HostFacts => ({
  ...facts,
  model: text(facts.model),
  serial: text(facts.serial),
  architecture: text(facts.architecture),
  distribution: text(facts.distribution),
  kernel: text(facts.kernel),
  timeZone: name(facts.timeZone),
});

const boundedNetwork = (network: NetworkReport): NetworkReport => ({
  ...network,
  why: text(network.why),
  next: text(network.next),
  hotspotSsid: name(network.hotspotSsid),
  hotspotWaiting: network.hotspotWaiting.slice(0, mostWaiting).map(name),
  hotspotWaitingFor: text(network.hotspotWaitingFor),
  links: network.links.slice(0, mostLinks).map((link) => ({
    ...link,
    interface: name(link.interface),
    ssid: name(link.ssid),
    why: text(link.why),
    signalPercent: Math.min(100, link.signalPercent),
    addresses: link.addresses.slice(0, mostAddresses).map(name),
  })),
  attempts: network.attempts.slice(0, mostAttempts).map((attempt) => ({
    ...attempt,
    network: name(attempt.network),
    interface: name(attempt.interface),
    reason: text(attempt.reason),
  })),
});
