import type { ConditionCode } from '@platform/contract/conditions/conditions';
import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  type AgentReport,
  type AgentReportSchema,
  ConfigSlice,
  SliceState,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';

import { isProvenUrl } from '@platform/contract/provisioning/proven-url';
import { noticedCondition } from './noticed-condition.ts';

type Host = { readonly [key: string]: unknown };

const slices = [
  ConfigSlice.SETTINGS,
  ConfigSlice.VERSIONS,
  ConfigSlice.NETWORK,
  ConfigSlice.SYSTEM,
  ConfigSlice.SERVER,
] as const;

/** Versions that the other agent is offered, or URLs; empty: none. */
export interface Offers {
  agent: string;
  server: string;
}

/**
 * Converts the facts in checks of another product's agent to a report, so that clients can show it. It contains no
 * states and nothing in effect.
 *
 * @param offers - what the server offers it; undefined: not read.
 * @param left - the last report of our agent, which may have tried to take over.
 */
export function otherAgentReport(
  host: Host,
  left: AgentReport | undefined,
  offers: Offers | undefined,
): MessageInitShape<typeof AgentReportSchema> {
  const text = (key: string): string => (typeof host[key] === 'string' ? host[key] : '');
  const received = typeof host['revision'] === 'number' ? BigInt(host['revision']) : 0n;
  const program = (running: string, installed: string, wantedVersion = '') => ({
    wantedVersion,
    runningVersion: text(running),
    installedVersion: text(installed),
    restartNeeded: text(installed) !== '' && text(running) !== '' && text(installed) !== text(running),
  });
  const reason =
    received === 0n
      ? 'The agent of another product has received no configuration yet.'
      : `The agent of another product has received revision ${received}; it does not report what is in effect.`;
  return {
    agent: program('agent_version', 'agent_installed', offers?.agent),
    server: program('server_version', 'server_installed', offers?.server),
    platform: text('platform'),
    os: text('distro'),
    supervisedBySystemd: true,
    restartAllowed: true,
    slices: slices.map((slice) => ({
      slice,
      state: SliceState.NOT_REPORTED,
      appliedRevision: received,
      reason,
    })),
    conditions: left?.conditions.filter(({ code }) => code === ('MIGRATION_FAILED' satisfies ConditionCode)) ?? [],
  };
}

/** The condition while nothing is published that the other agent could run. */
export const noReleaseCondition = () => noticedCondition('OTHER_AGENT_NO_RELEASE', {});

/** The URL by which the other agent reaches this server if ours could not trust its release keys there. */
export function unprovenUrl(host: Host): string | undefined {
  const url = host['server_url'];
  return typeof url === 'string' && URL.canParse(url) && !isProvenUrl(url) ? url : undefined;
}

/** The condition after a requested migration if the other agent has downloaded our file and still runs. */
export function migrationCondition(host: Host, version: string | undefined) {
  if (version === undefined || host['agent_installed'] !== version || host['agent_version'] === version)
    return undefined;
  return noticedCondition('MIGRATION_WAITING', { version });
}
