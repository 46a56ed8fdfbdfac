import { Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { PlatformError } from '@platform/contract/errors';
import { parseCredentials } from '@platform/contract/machine';
import { Cell, type Clock } from '@platform/kit';
import { thisHost } from '../os/host.ts';
import { connectCloud } from '../link/cloud.ts';
import { connectTransport } from '../link/http.ts';
import { version } from '../versions/version.ts';
import { onceFetch, trustedBy } from '../link/tolerant-fetch.ts';
import type { System } from '../os/ports.ts';

/** Reports the failure to the management server, which then stops offering this program. */
export async function reportFailure(
  { credentialsText, problem, root }: { credentialsText: string; problem: string; root: string },
  { system, clock }: { system: System; clock: Clock },
): Promise<void> {
  const parsed = parseCredentials(credentialsText);
  if (!parsed.ok) throw new Error(parsed.problem);
  const { appAddress, partId } = parsed.value;
  const send = await onceFetch(trustedBy(parsed.value), { root, clock, system });
  const cloud = connectCloud(connectTransport(appAddress, { clock, fetch: send }), parsed.value, clock, {
    isReached: new Cell(false),
  });
  const { code, what, remedy } = new PlatformError('MIGRATION_FAILED', { problem });
  const { platform, distro, tags } = thisHost();
  await cloud.deviceAgentConfig(
    {
      id: partId,
      hostInfo: { platform, distro: distro(), tags: [...tags] },
      versionInfo: { agentRunning: version },
      report: { platform, conditions: [{ code, severity: Severity.ERROR, message: what, remedy }] },
    },
    0,
    new AbortController().signal,
  );
}
