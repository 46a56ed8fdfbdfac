import type { Transport } from '@connectrpc/connect';
import type { MachineCredentials } from '@platform/contract/machine';
import { resolveAgentConfig } from '@platform/contract/agent-config';
import { Cell, converge, createLog, errorText, type Clock, type Level, type Log, type Sink } from '@platform/kit';
import type { AgentView } from './control/view.ts';
import { superviseServer } from './loops/server-process.ts';
import { stderrFile } from './loops/server-watch.ts';
import { followRelease, holdFirstStart, serverVersion } from './loops/server-version.ts';
import type { Device, Disk } from './os/ports.ts';
import { newborn, tellStatus, watchdog, type Vitals } from './loops/watchdog.ts';
import { nobody, type Supervisor } from './os/supervisor.ts';
import { Pulse, watchedDevice } from './pulse.ts';
import { settingsOf } from './settings.ts';
import { nothingYet, type Actual, type Release, type Wanted } from './state.ts';
import { connectCloud } from './sync/cloud.ts';
import { Intake, type OwnLayers } from './sync/intake.ts';
import { followStderr, sendLines, storeLines } from './sync/logs.ts';
import { poll, pollRestart, tellConnection } from './sync/poll.ts';
import { report } from './sync/report.ts';
import { requestOf, type Self } from './sync/request.ts';
import { checksum } from './sync/spool-record.ts';
import { Spool, standardSpoolLimits } from './sync/spool.ts';

export interface AgentParts {
  device: Device;
  transport: Transport;
  credentials: MachineCredentials;
  /** Handed to the machine server. */
  credentialsFile: string;
  root: string;
  layers: OwnLayers;
  version: string;
  clock: Clock;
  /** Local log; what goes to the cloud is written here, too. */
  sink: Sink;
  random: () => number;
  newId: () => string;
  /** Who started this agent and has to hear that it lives; left out: nobody. */
  supervisor?: Supervisor;
  /** What has been proven of this agent so far, for whoever wants to know. */
  vitals?: Cell<Vitals>;
  /** Bytes of memory of this process's own; left out: not watched. */
  ownMemory?: () => number | undefined;
  /** Shows this agent to people on the machine and takes their wishes, until the signal. */
  control?: (view: AgentView, parts: { disk: Disk; clock: Clock; log: Log }, signal: AbortSignal) => Promise<void>;
}

const drainMs = 3_000;

/**
 * The whole agent. Returns after `signal` when the machine server was stopped and the last lines were sent or stored.
 * No loop waits for another: they share two cells.
 */
export async function runAgent(parts: AgentParts, signal: AbortSignal): Promise<void> {
  const { clock, credentials, layers, random, sink } = parts;
  const pulse = new Pulse(clock);
  const device = watchedDevice(parts.device, pulse);
  const wanted = new Cell<Wanted>(wantedBefore(layers));
  const actual = new Cell<Actual>(nothingYet);
  const release = new Cell<Release | undefined>(undefined);
  const restarts = new Cell(0);
  const mayStart = new Cell(false);
  const isReached = new Cell(false);

  const level = new Cell<Level>('info');
  const setLevel = () => level.set(wanted.get().settings.debug ? 'debug' : 'info');
  const spool = await Spool.open(device.disk, standardSpoolLimits, parts.newId);
  const local = createLog({ name: 'agent.local', clock, level, sink });
  const log = createLog({
    name: 'agent',
    clock,
    level,
    sink: (line) => {
      sink(line);
      void spool.append(line);
    },
  });

  const intake = new Intake({ disk: device.disk, wanted, layers, log: log.child('config') });
  await intake.loadCache();
  setLevel();
  const self: Self = {
    partId: credentials.partId,
    agentVersion: parts.version,
    startedAt: clock.now(),
    host: device.host,
  };
  log.info('platform agent started', {
    version: parts.version,
    part: credentials.partId,
    cloud: credentials.appAddress,
    isSupervisedBySystemd: device.host.isSupervisedBySystemd,
  });

  const cloud = connectCloud(parts.transport, credentials, clock, isReached);
  const broken = new AbortController(); // a loop that throws ends the process; what starts the agent starts it again
  const early = AbortSignal.any([signal, broken.signal]);
  const lateStop = new AbortController();
  const late = lateStop.signal;
  const loop = async (name: string, work: Promise<void>): Promise<void> => {
    try {
      await work;
    } catch (error) {
      log.error('a part of the agent failed', { loop: name, error });
      if (!broken.signal.aborted) broken.abort(error);
    }
  };

  const version = serverVersion({ device, wanted, actual, restarts, clock, log: log.child('version') });
  const versionLog = log.child('version');
  const request = () => requestOf(self, actual.get(), clock.now());
  const storing = loop('store', storeLines(spool, { clock, local }, late));
  const view: AgentView = {
    self,
    appAddress: credentials.appAddress,
    root: parts.root,
    wanted,
    actual,
    isReached,
    spool,
    operator: undefined,
  };
  const control = parts.control?.(view, { disk: device.disk, clock, log: log.child('control') }, late);
  const lateLoops = [
    ...(control ? [loop('control', control)] : []),
    loop('stderr', followStderr(spool, stderrFile, { device, clock, local }, late)),
    loop('send', sendLines(spool, { cloud, host: device.host.hostname, clock, local }, late)),
    loop('report', report({ cloud, intake, self, wanted, actual, clock, log: local }, late)),
  ];
  const earlyLoops = [
    loop('level', eachChange(wanted, setLevel, early)),
    loop('release', followRelease(wanted, release, early)),
    loop('poll', poll({ cloud, intake, request, clock, log: local, random }, early)),
    loop('restart', pollRestart({ cloud, restarts, clock, log: log.child('restart'), random }, early)),
    loop('connection', tellConnection(isReached, { clock, log }, early)),
    loop('hold', holdFirstStart({ wanted, actual, mayStart, clock, log }, early)),
    loop('version', converge(version, release, { clock, log: versionLog }, early)),
  ];
  const isSupervising = new Cell(false);
  const vitals = parts.vitals ?? new Cell(newborn);
  const watching = { supervisor: parts.supervisor ?? nobody, pulse, vitals, actual, isSupervising };
  lateLoops.push(
    loop('watchdog', watchdog({ ...watching, ownMemory: parts.ownMemory ?? (() => undefined), clock, log }, late)),
    loop('status', tellStatus(watching, late)),
  );
  const { credentialsFile, root } = parts;
  const credentialsMark = checksum(new TextEncoder().encode(JSON.stringify(credentials)));
  await loop(
    'server',
    superviseServer(
      {
        device,
        clock,
        log: log.child('server'),
        wanted,
        actual,
        restarts,
        mayStart,
        credentialsFile,
        credentialsMark,
        root,
        isSupervising,
        leave: broken.signal, // an agent that fails is no reason to stop a server that works
      },
      signal,
    ),
  );
  watching.supervisor.tell('STOPPING=1');
  await Promise.all(earlyLoops);
  log.info('platform agent ends', {
    because: signal.aborted ? errorText(signal.reason) : errorText(broken.signal.reason),
  });
  await drained(spool, isReached, clock);
  lateStop.abort();
  await Promise.all(lateLoops);
  await storing;
  await spool.saveState().catch(() => {});
  if (broken.signal.aborted) throw broken.signal.reason;
}

/** Before anything was heard from the cloud: the defaults, and what this machine itself says. */
function wantedBefore(layers: OwnLayers): Wanted {
  const { config } = resolveAgentConfig({ commandLine: layers.commandLine, manufacturer: layers.manufacturer });
  return {
    revision: 0,
    settings: settingsOf(config, layers),
    corrections: [],
    server: undefined,
    agent: undefined,
    isFresh: false,
  };
}

async function eachChange(cell: Cell<unknown>, f: () => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    f();
    await cell.changed(signal);
  }
}

/** Gives the last lines a moment to reach the cloud, if it can be reached at all. */
async function drained(spool: Spool, isReached: Cell<boolean>, clock: Clock): Promise<void> {
  const end = clock.now() + drainMs;
  while (clock.now() < end) {
    const isEmpty = spool.isIdle && (await spool.next(1)).length === 0;
    if (isEmpty) return;
    if (!isReached.get() && spool.isIdle) return;
    await clock.sleep(100);
  }
}
