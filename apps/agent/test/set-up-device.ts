// A device without credentials, for stories in other folders: the portal is the real process of the endpoints, the
// provisioning is the agent's own over a simulated radio, and the real agent runs beside it with the same files.
// Usage: node set-up-device.ts FOLDER [FRAGMENT]. Prints {"portal": url}, then a line for each state of the network.
import path from 'node:path';
import { Cell, createLog } from '@platform/kit';
import { spawnGroup, stderrSink, systemClock as clock } from '@platform/kit/node';
import { fileDisk } from '../src/os/file-disk.ts';
import { eachChange } from '../src/composition/sync-loops.ts';
import { system, watchSmallFile } from '../src/composition/system.ts';
import type { Condition } from '../src/health/conditions.ts';
import { runtimeEnvironment } from '../src/install/unit.ts';
import { Credentials } from '../src/link/credentials.ts';
import { SetUpCode } from '../src/link/set-up-code.ts';
import { setUpConnections } from '../src/link/set-up-connection.ts';
import type { Credentials as Given } from '../src/state-machines/provisioning-state.ts';
import { childEndpoints } from '../src/network/hotspot/hotspot-endpoints.ts';
import type { ProvisioningEndpoints } from '../src/network/endpoints/provisioning-view.ts';
import type { NetworkSettings } from '../src/network/settings/network-settings.ts';
import type { NetworkStatus } from '../src/network/rows/network-status.ts';
import { followCredentialsProblem, noProblem } from '../src/network/views/credentials-problem.ts';
import { Provisioning } from '../src/network/provisioning/provisioning.ts';
import { SimDevice } from '../src/os/sim/device.ts';
import { SimNetwork } from '../src/os/sim/network.ts';
import { listenerOf } from '../src/os/linux/kernel/process-table.ts';
import { posixPrograms } from '../src/os/posix/programs.ts';
import { freePort } from './endpoints-rig.ts';
import { NetworkWorld } from './network-world.ts';
import { mainFile } from './running-agent.ts';

const folder = process.argv[2] ?? '';
const [root, file] = [path.join(folder, 'agent'), path.join(folder, 'platform.json')];
const log = createLog({ name: 'device', clock, level: 'info', sink: stderrSink('text') });
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());

// The agent itself: it waits for the credentials file.
const agent = await spawnGroup({
  command: process.execPath,
  args: [mainFile, 'run', '--config', file, '--root', root],
  logFile: path.join(folder, 'agent.log'),
});

// Its network part, over a radio that does not exist.
const conditions = new Cell<readonly Condition[]>([]);
const connect = setUpConnections({ root, clock, system });
const codeFile = path.join(folder, 'set-up-code.json');
const setUpCode = new SetUpCode({
  file: codeFile,
  conditions,
  connect,
  version: '9.9.9',
  fragmentId: process.argv[3] ?? '',
  clock,
  log,
});
const credentials = new Credentials({
  file,
  copy: path.join(folder, 'last-good.json'),
  setUpCode,
  conditions,
  clock,
  log,
});
await credentials.reload();
const ports = { portal: await freePort(), rpc: await freePort() };
const child = childEndpoints({
  command: [process.execPath, mainFile, 'endpoints'],
  env: runtimeEnvironment,
  processes: { listener: listenerOf },
  programs: posixPrograms(10_000),
  memoryLimitBytes: 256 * 1024 * 1024,
  clock,
  log,
  ports,
});
const endpoints: ProvisioningEndpoints = {
  serve: (of, signal) => child.serve({ ...of, address: '127.0.0.1' }, signal),
};
const network = new SimNetwork(clock);
network.setAccessPoint('Farm House');
const given = new Cell<Given>('none');
const credentialsProblem = noProblem();
const update = (): void => {
  given.set(credentials.found.get() ? 'given' : 'none');
};
const status = new Cell<NetworkStatus | undefined>(undefined);
const provisioning = new Provisioning({
  network,
  endpoints,
  bluetooth: new NetworkWorld().bluetooth,
  settings: new Cell<NetworkSettings>(new NetworkWorld().settings.get()),
  credentials: given,
  credentialsProblem,
  takeCredentials: (text) => credentials.take(text),
  isReached: new Cell(false),
  isChanging: new Cell(false),
  isOfflineByHotspot: new Cell(false),
  status,
  reboot: () => Promise.resolve(),
  hostname: () => 'barn',
  agentVersion: '9.9.9',
  disk: fileDisk(system.files(folder)),
  files: new SimDevice(clock).session().device.files,
  forceWatch: watchSmallFile(path.join(root, 'etc'), clock),
  clock,
  log,
});
const { found, pendingCode } = credentials;
const unproven = new Cell<object | undefined>(undefined);
const problemParts = { problem: credentialsProblem, conditions, found, pendingCode, unproven, giveUp: () => {} };
const show = (): void => void process.stdout.write(`${JSON.stringify({ mode: status.get()?.mode ?? '' })}\n`);
process.stdout.write(`${JSON.stringify({ portal: `http://127.0.0.1:${ports.portal}` })}\n`);
await Promise.all([
  provisioning.run(stop.signal),
  credentials.redeem(stop.signal),
  followCredentialsProblem({ ...problemParts, network: status, clock }, stop.signal),
  eachChange(credentials.found, update, stop.signal),
  eachChange(status, show, stop.signal),
]);
await agent.stop({ termMs: 10_000 });
