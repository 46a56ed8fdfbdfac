// Prints the connection error for each URL given.
import { Cell } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { peerValidity } from '../src/os/peer-certificate.ts';
import { useProxiesOf } from '@platform/kit/node';
import { connectCloud, isRefused } from '../src/link/cloud.ts';
import { connectTransport } from '../src/link/transport.ts';
import { linkProblemIn } from '../src/link/link.ts';

useProxiesOf(process.env);
for (const appAddress of process.argv.slice(2)) {
  const transport = connectTransport(appAddress, {
    clock: systemClock,
    validityOf: (url) => peerValidity(url, systemClock),
  });
  const credentials = { appAddress, partId: 'p', entity: 'p', type: 'robot-secret' as const, payload: 's' };
  const cloud = connectCloud(transport, credentials, systemClock, { isReached: new Cell(false) });
  const outcome = await cloud.deviceAgentConfig({ id: 'p' }, 0, new AbortController().signal).then(
    () => 'answered',
    (error: unknown) => (isRefused(error) ? 'CLOUD_REFUSES_MACHINE' : (linkProblemIn(error)?.code ?? String(error))),
  );
  process.stdout.write(`${outcome}\n`);
}
process.exit(0);
