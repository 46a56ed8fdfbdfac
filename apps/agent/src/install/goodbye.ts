import path from 'node:path';
import { parseCredentials } from '@platform/contract/machine-server/machine-server';
import { Cell, within, type Clock } from '@platform/kit';
import { readText, useProxiesOf } from '@platform/kit/node';
import { thisHost } from '../os/host.ts';
import { connectCloud } from '../link/cloud.ts';
import { connectTransport } from '../link/transport.ts';
import { unitEnvironmentFile } from './unit.ts';
import { proxiesIn } from './proxies.ts';
import { onceFetch, trustedBy } from '../link/tolerant-fetch.ts';
import type { System } from '../os/ports.ts';

const longestMs = 5_000;

/**
 * Reports to the management server that the agent of this machine was removed; otherwise the machine would only appear
 * offline. It waits at most 5 s and never fails.
 *
 * @returns whether the server has received the report.
 */
export async function sayGoodbye(
  { root, credentialsFile }: { root: string; credentialsFile: string },
  { system, clock }: { system: System; clock: Clock },
): Promise<boolean> {
  const text = await readText(credentialsFile).catch(() => '');
  const credentials = parseCredentials(text);
  if (!credentials.ok) return false;
  // Use the agent's proxies: the user who removes it may have another environment.
  const proxies = proxiesIn(await readText(path.join(root, unitEnvironmentFile)).catch(() => ''));
  for (const [name, value] of Object.entries(proxies)) process.env[name] ??= value;
  useProxiesOf(process.env);
  const { appAddress, partId } = credentials.value;
  const send = await onceFetch(trustedBy(credentials.value), { root, clock, system });
  const cloud = connectCloud(connectTransport(appAddress, { clock, fetch: send }), credentials.value, clock, {
    isReached: new Cell(false),
  });
  const { platform, distro, tags } = thisHost();
  const request = { id: partId, hostInfo: { platform, distro: distro(), tags: [...tags] }, uninstalled: true };
  try {
    await within(longestMs, { what: 'the last report', clock }, (signal) =>
      cloud.deviceAgentConfig(request, 0, signal),
    );
    return true;
  } catch {
    return false;
  }
}
