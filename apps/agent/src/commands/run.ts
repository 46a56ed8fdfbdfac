import type { Abilities } from '@platform/contract/config/effect';
import { mkdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import { Cell, createLog, errorText, type Clock, type Log, type Sink } from '@platform/kit';
import {
  lockFolder,
  onSignals,
  spareLock,
  stderrSink,
  systemClock,
  Usage,
  unusableRemedy,
  unusableText,
  useProxiesOf,
  type UnusableProxy,
} from '@platform/kit/node';
import { readLayers } from './layers.ts';
import { reboot, system, watchSmallFile } from '../composition/system.ts';
import { peerValidity } from '../os/peer-certificate.ts';
import { createWeb } from '../os/web.ts';
import { childEnvironment } from '../os/environment.ts';
import { thisMachine, type ThisMachine, previousRunInJournal } from '../composition/this-machine.ts';
import type { MachineCredentials } from '@platform/contract/machine-server/machine-server';
import type { Device, Disk, Host } from '../os/ports.ts';
import { readKeptExit } from '../supervisor/exit-file.ts';
import { RequestTrace } from '../os/request-trace.ts';
import { runAlwaysOn, type AlwaysOn, type AlwaysOnTask, type LinkedRun } from '../composition/always-on.ts';
import type { Ending } from '../composition/lifetime.ts';
import { runAgent, type AgentParts } from '../composition/run-agent.ts';
import { keepAuthority } from '../link/authority-file.ts';
import { Credentials } from '../link/credentials.ts';
import { fragmentOf } from '../config/own-fragment.ts';
import { SetUpCode, setUpCodeFile } from '../link/set-up-code.ts';
import { setUpConnections } from '../link/set-up-connection.ts';
import { newId, newRunId } from '../os/fresh-id.ts';
import { connectTransport } from '../link/transport.ts';
import type { Condition } from '../health/conditions.ts';
import type { PreviousRun } from '../health/previous-run.ts';
import type { HeardTime } from '../clock/device-time.ts';
import { openProvenTime } from '../clock/proven-time.ts';
import { tolerantFetch, trustedBy } from '../link/tolerant-fetch.ts';
import { deviceFetch } from '../versions/device-fetch.ts';
import { reportExpiredMetadata } from '../versions/trust/expired.ts';
import { childFetcher } from '../versions/fetch-child.ts';
import { setCondition, type ConditionSet } from '../health/condition-set.ts';
import type { Fetcher } from '../versions/fetch-ports.ts';
import { isRestarted } from '../versions/managed-programs.ts';
import { selfIdOf, version } from '../versions/own-version.ts';
import { systemUnit } from '../install/system-unit.ts';
import type { Io } from './command.ts';
import { checkExecutable } from './exec-check.ts';
import { exitCodes } from './exit-codes.ts';
import type { AgentOptions } from './run-options.ts';
import { printVersion } from './version.ts';
import type { Context } from '../health/context.ts';

/** Runs the agent until a signal. */
export async function run(given: AgentOptions, io: Io): Promise<number> {
  if (given.version) return printVersion({}, io);
  const unusable = useProxiesOf(process.env);
  const credentialsFile = path.resolve(given.config);
  const root = path.resolve(given.root);
  const layers = await readLayers(given);
  await checkExecutable(root);
  await makeFolders(root);
  await using lock = await lockFolder(path.join(root, 'state', 'agent.lock'), {
    spare: await spareLock(root, 'agent'),
  });

  const sink = stderrSink(given.logFormat);
  const clock = systemClock;
  const log = createLog({ name: 'agent.os', clock, level: given.debug ? 'debug' : 'info', sink });
  const signals = onSignals();
  const trace = new RequestTrace();
  const machine = await thisMachine({
    root,
    env: process.env,
    orphaned: () => process.exit(exitCodes.broken), // like a crash: the server stays, the next agent adopts it
    trace,
    clock,
    log,
  });
  if (lock.takenOver) log.warn('an earlier agent ended without letting go of its folder', { root });
  const again = new AbortController();
  const stop = AbortSignal.any([signals, again.signal, ...(machine.stopped ? [machine.stopped] : [])]);
  const restartSelf = (): void => again.abort(new Error('an operator ordered a restart'));
  const { supervisor, ownMemory, memoryLimitBytes } = machine;
  const supervised = { supervisor, ownMemory, memoryLimitBytes };
  const copy = path.join(root, 'state', 'credentials.last-good');
  const conditions = new Cell<readonly Condition[]>([]);
  if (unusable.length > 0) reportUnusableProxies(unusable, conditions, log);
  machine.device.host.abilities = abilitiesOf(given.manageNetworks, machine.device.host);
  const connect = setUpConnections({ root, clock, system });
  const fragmentId = fragmentOf(layers);
  const setUpCode = new SetUpCode({ file: setUpCodeFile(root), conditions, connect, version, fragmentId, clock, log });
  await setUpCode.load();
  const credentials = new Credentials({ file: credentialsFile, copy, setUpCode, conditions, clock, log });
  void machine.forgetStart({ clock, log }, stop);
  const always = { device: machine.device, credentials, conditions, root, version, layers, clock, sink, ...supervised };
  const runId = newRunId();
  const linked = (of: AlwaysOn, part: LinkedRun) =>
    runLinked({ machine, trace, sink, log, runId, supervised, restartSelf }, of, part, stop);
  const watch = watchSmallFile(credentialsFile, clock);
  await runAlwaysOn({ ...always, watch }, alwaysOnTasks(machine.device.host.abilities), linked, stop);
  return exitCodes.done;
}

/** The tasks that run with and without credentials: the network and the operating system of this machine. */
const alwaysOnTasks = ({ managesNetworks, managesSystem }: Abilities): readonly AlwaysOnTask[] => [
  { name: 'set-up code', work: ({ credentials }, signal) => credentials.redeem(signal) },
  ...(managesNetworks ? [networkTask] : []),
  ...(managesSystem ? [systemTask] : []),
];

const networkTask: AlwaysOnTask = {
  name: 'network',
  work: async (of, signal) => (await import('../composition/network.ts')).manageNetworks(of, signal),
};

const systemTask: AlwaysOnTask = {
  name: 'system configuration',
  work: async (of, signal) => (await import('../composition/system-configuration.ts')).manageSystem(of, signal),
};

/** An agent that a user tries out must change neither the networks nor the operating system of its machine. */
function abilitiesOf(option: AgentOptions['manageNetworks'], host: Host): Abilities {
  const isLinux = host.platform.startsWith('linux/');
  const isService = isLinux && host.isSupervisedBySystemd && process.getuid?.() === 0;
  return {
    managesNetworks: isLinux && (option === 'always' || (option === 'auto' && isService)),
    managesSystem: isService,
  };
}

interface Process {
  machine: ThisMachine;
  trace: RequestTrace;
  sink: Sink;
  log: Log;
  runId: Uint8Array;
  restartSelf: () => void;
  supervised: Pick<AgentParts, 'supervisor' | 'ownMemory' | 'memoryLimitBytes'>;
}

/** Runs everything that needs credentials, until the signal or until the machine has others. */
async function runLinked(
  { machine, trace, sink, log, runId, supervised, restartSelf }: Process,
  of: AlwaysOn,
  { found, replaced, control }: LinkedRun,
  stop: AbortSignal,
): Promise<Ending> {
  const { credentials, conditions, root, layers, startedAt, clock } = of;
  const local = { machine, root, conditions, trace, clock, log };
  const connected = await connectedParts(found.credentials, credentials.file, local);
  return runAgent(
    {
      ...connected,
      ...supervised,
      refused: (isRefused) => credentials.refused(isRefused),
      runId,
      split: (code) => void credentials.split(code),
      replaced,
      outer: of,
      ...(machine.device.host.abilities.managesSystem && { reboot }),
      ...(isRestarted(machine.device) && { restartSelf }),
      credentialsFile: () => credentials.found.get()?.file ?? found.file,
      conditions,
      trace,
      root,
      layers,
      version,
      startedAt,
      clock,
      sink,
      random: Math.random,
      newId: () => newId(),
      control,
    },
    stop,
  );
}

interface Local extends Pick<Context, 'conditions' | 'clock' | 'log'> {
  machine: ThisMachine;
  root: string;
  trace: RequestTrace;
}

/** What the tasks that need credentials share: connections, downloads, its own version and unit. */
async function connectedParts(
  credentials: MachineCredentials,
  credentialsFile: string,
  { machine: { device }, root, conditions, trace, clock, log }: Local,
) {
  const { appAddress, authority } = credentials;
  const authorityFile = await keepAuthority(root, authority, log);
  const { web, ...link } = await openLink(credentials, { disk: device.disk, trace, clock });
  const linked = { ...device, web };
  const late = reportExpiredMetadata(conditions);
  const selfId = selfIdOf(await realpath(root), await realpath(process.execPath));
  // Only the built program can start itself again; from source, this process fetches.
  const fetcher =
    selfId === undefined
      ? ownFetcher({ device: linked, appAddress, system, late, clock, log })
      : childFetcher({ ...fetchCommand(root), appAddress, authority, late, log: trace.over(log) });
  const isUnit = selfId !== undefined && device.host.isSupervisedBySystemd && process.getuid?.() === 0;
  const unitPlace = isUnit ? await systemUnit({ root, credentialsFile }, system) : undefined;
  const runHistory = { bootId: device.host.bootId, previousRun: () => previousRun(device) };
  return {
    ...link,
    ...(authorityFile !== undefined && { authorityFile }),
    credentials,
    device: linked,
    runHistory,
    selfId,
    fetcher,
    unitPlace,
  };
}

function reportUnusableProxies(unusable: readonly UnusableProxy[], conditions: ConditionSet, log: Log): void {
  const problem = unusable.map(unusableText).join(' ');
  setCondition(conditions, 'PROXY_UNSUPPORTED', { problem, remedy: unusableRemedy });
  log.warn('a proxy cannot be used', { proxies: unusable });
}

/** Requests to the management server and to download servers; they prove the time where the clock does not. */
async function openLink(
  credentials: MachineCredentials,
  { disk, trace, clock }: { disk: Disk; trace: RequestTrace; clock: Clock },
) {
  const heardTime = new Cell<HeardTime | undefined>(undefined);
  const refuted = new Cell<number | undefined>(undefined);
  const proven = await openProvenTime(disk, clock);
  const trusted = trustedBy(credentials);
  const send = tolerantFetch({ clock, system, proven, trusted, refuted: (time) => refuted.set(time) });
  const transport = connectTransport(credentials.appAddress, {
    clock,
    trace,
    onDate: (ms) => heardTime.set({ wall: refuted.get() ?? ms, isClockRefuted: refuted.get() !== undefined }),
    validityOf: (url) => peerValidity(url, clock),
    fetch: send,
  });
  return { transport, web: createWeb(send, { trace, clock }), heardTime, timeFloor: proven.floor };
}

const fetchCommand = (root: string) => ({
  command: process.execPath,
  args: ['fetch'],
  env: childEnvironment(process.env),
  root,
});

const ownFetcher = (parts: Parameters<typeof deviceFetch>[1]): Fetcher => ({
  fetch: (task, tell, signal) => deviceFetch(task, parts, tell, signal),
});

/** From the supervisor's record, where there is one; else from the journal of systemd. */
const previousRun = (device: Device): Promise<PreviousRun> =>
  device.host.isKept === true ? readKeptExit(device.disk) : previousRunInJournal(process.env);

async function makeFolders(root: string): Promise<void> {
  try {
    for (const name of ['state', 'log', 'spool', 'cache', 'versions', 'bin', 'server']) {
      await mkdir(path.join(root, name), { recursive: true });
    }
  } catch (error) {
    throw new Usage(
      `The folder ${root} cannot be used: ${errorText(error)}. Run the agent as a user who may write there, or name another with --root.`,
      2,
    );
  }
}
