import { Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { conditionOf } from '@platform/contract/conditions/conditions';
import { parseCredentials } from '@platform/contract/machine-server/machine-server';
import { Cell, type Clock } from '@platform/kit';
import { thisHost } from '../os/host.ts';
import { type Cloud, connectCloud } from '../link/cloud.ts';
import { connectTransport } from '../link/transport.ts';
import { version } from '../versions/own-version.ts';
import { onceFetch, trustedBy } from '../link/tolerant-fetch.ts';
import type { System } from '../os/ports.ts';
import type { MigrationRequest } from './decision.ts';

interface Of {
  credentialsText: string;
  root: string;
}
interface Host {
  system: System;
  clock: Clock;
}

async function connect({ credentialsText, root }: Of, { system, clock }: Host): Promise<Cloud> {
  const parsed = parseCredentials(credentialsText);
  if (!parsed.ok) throw new Error(parsed.problem);
  const send = await onceFetch(trustedBy(parsed.value), { root, clock, system });
  const transport = connectTransport(parsed.value.appAddress, { clock, fetch: send });
  return connectCloud(transport, parsed.value, clock, { isReached: new Cell(false) });
}

const never = new AbortController().signal;

/**
 * Asks the management server whether it offers this program.
 *
 * @param running - version of the other agent: an older server takes the request for one of its checks.
 * @throws if it cannot be reached
 */
export async function askRequest({ running, ...of }: Of & { running: string }, host: Host): Promise<MigrationRequest> {
  const cloud = await connect(of, host);
  const { platform, distro } = thisHost();
  const { migrationRequested } = await cloud.deviceAgentConfig(
    {
      id: cloud.partId,
      hostInfo: { platform, distro: distro() },
      versionInfo: { agentRunning: running, agentInstalled: version },
      asksMigration: true,
    },
    0,
    never,
  );
  if (migrationRequested === undefined) return 'unknown';
  return migrationRequested ? 'open' : 'closed';
}

/** Reports the failure to the management server, which then stops offering this program. */
export async function reportFailure({ problem, ...of }: Of & { problem: string }, host: Host): Promise<void> {
  const cloud = await connect(of, host);
  const { code, message, remedy } = conditionOf('MIGRATION_FAILED', { problem });
  const { platform, distro, tags } = thisHost();
  await cloud.deviceAgentConfig(
    {
      id: cloud.partId,
      hostInfo: { platform, distro: distro(), tags: [...tags] },
      versionInfo: { agentRunning: version },
      report: { platform, conditions: [{ code, severity: Severity.ERROR, message, remedy }] },
    },
    0,
    never,
  );
}
