import { actedOn } from '@platform/contract/config/effect';
import { PlatformError } from '@platform/contract/errors/errors';
import { Cell, createLog, errorText, type Level, type Log, type Sink } from '@platform/kit';
import { ConfigReceiver, type OwnLayers } from '../config/config-receiver.ts';
import { serveControl } from '../control/serve-control.ts';
import type { AgentView } from '../control/view.ts';
import { HangDetector } from '../health/hang-detector.ts';
import { initialHealth, memoryLimits, watchdog } from '../health/watchdog.ts';
import { markOf, type Credentials, type FoundCredentials } from '../link/credentials.ts';
import type { ReportedFiles } from '../os/managed-files.ts';
import { managedFilesOnDisk } from '../os/managed-files-on-disk.ts';
import type { Device, FileWatch } from '../os/ports.ts';
import { noSupervisor, type Supervisor } from '../os/supervisor.ts';
import { nothingYet } from '../state/state.ts';
import type { Operator } from '../versions/operator.ts';
import { interruptTrial } from '../versions/trial-steps.ts';
import { trackFailing, optionalTask } from './optional-task.ts';
import type { Ending } from './lifetime.ts';
import { outerCells, type OuterCells } from './run-agent.ts';
import { eachChange } from './sync-loops.ts';
import type { Context } from '../health/context.ts';

/**
 * What exists as long as the agent runs, with and without credentials. Until the management server answered,
 * `wanted` is the cached configuration or the defaults; revision 0 means that the agent does not know the desired configuration.
 */
export interface AlwaysOn extends OuterCells, Pick<Context, 'conditions' | 'root' | 'clock'> {
  /** Not watched by the hang detector. */
  device: Device;
  credentials: Credentials;
  /** Counts the orders of operators to start provisioning. */
  provisioningOrders: Cell<number>;
  /** Names of the optional tasks that fail now. */
  failing: Cell<readonly string[]>;
  /** One for all parts: its record has one writer. */
  managedFiles: ReportedFiles;
  version: string;
  layers: OwnLayers;
  /** Start of this process, monotonic ms. */
  startedAt: number;
  /** Local, and sent to the management server while the linked tasks run. */
  log: Log;
}

interface AlwaysOnOptions extends Omit<
  AlwaysOn,
  keyof OuterCells | 'startedAt' | 'failing' | 'provisioningOrders' | 'managedFiles' | 'log'
> {
  /** Local log. */
  sink: Sink;
  /** Watches the credentials file. */
  watch: FileWatch;
  supervisor?: Supervisor;
  ownMemory?: () => number | undefined;
  memoryLimitBytes?: number;
}

/** A task that runs with and without credentials, and without which the agent works. */
export interface AlwaysOnTask {
  name: string;
  work: (of: AlwaysOn, signal: AbortSignal) => Promise<void>;
}

/** A run of the linked tasks: those that need credentials. */
export interface LinkedRun {
  found: FoundCredentials;
  /** Aborts when the machine has other credentials. */
  replaced: AbortSignal;
  control: (view: AgentView) => void;
}

/**
 * Runs the agent until `signal` or until another version takes over: control socket and `tasks` all the time, `linked`
 * once for each credentials.
 *
 * @throws the error of a linked task
 */
export async function runAlwaysOn(
  given: AlwaysOnOptions,
  tasks: readonly AlwaysOnTask[],
  linked: (of: AlwaysOn, run: LinkedRun, signal: AbortSignal) => Promise<Ending>,
  signal: AbortSignal,
): Promise<Ending> {
  const level = new Cell<Level>('info');
  const of = openAlwaysOn(given, level);
  const { credentials, device, wanted, conditions, failing, clock, log } = of;
  await credentials.reload();
  const handover = new AbortController();
  const handOver = (): void => handover.abort(new Error('a new version takes over'));
  const view = new Cell<AgentView>(viewWithoutCredentials(of, handOver));
  const end = new AbortController();
  const control = {
    root: of.root,
    open: device.openControl,
    view,
    reloadCredentials: () => credentials.reload(),
    provision: () => {
      if (!device.host.abilities.managesNetworks) return false;
      of.provisioningOrders.update((n) => n + 1);
      return true;
    },
    disk: device.disk,
    clock,
    log: log.child('control'),
  };
  const loops = [
    serveControl(control, end.signal),
    credentials.follow(given.watch, end.signal),
    trackFailing({ ...of, disk: device.disk }, end.signal),
    eachChange(wanted, () => level.set(wanted.get().settings.debug ? 'debug' : 'info'), end.signal),
    ...tasks.map(({ name, work }) =>
      optionalTask(
        { name, work: (until) => work(of, until), conditions, failing, clock, log: log.child(name) },
        end.signal,
      ),
    ),
  ];
  try {
    if (!credentials.found.get()) {
      const isReady = await waitForCredentials(of, given, AbortSignal.any([signal, handover.signal]));
      if (handover.signal.aborted) return 'handover';
      if (signal.aborted && isReady) await noteStop(of);
    }
    for (let found = credentials.found.get(); found && !signal.aborted; found = credentials.found.get()) {
      const ending = await untilReplaced(of, found, (replaced) =>
        linked(of, { found, replaced, control: (shown) => view.set(shown) }, signal),
      );
      of.isReached.set(false);
      if (ending !== 'credentials') return ending;
    }
    return 'stopped';
  } finally {
    end.abort();
    await Promise.all(loops);
  }
}

const ownLayers = ({ layers, device: { host } }: Pick<AlwaysOn, 'layers' | 'device'>): OwnLayers => ({
  ...layers,
  acting: { platform: host.platform, actsOn: actedOn(host.platform, host.abilities) },
});

function openAlwaysOn(given: AlwaysOnOptions, level: Cell<Level>): AlwaysOn {
  const { sink, clock } = given;
  const outer = outerCells(ownLayers(given));
  const local: Sink = (line) => sink(outer.mask.line(line));
  const log = createLog({ name: 'agent', clock, level, sink: (line) => (outer.lines.get() ?? local)(line) });
  return {
    ...given,
    ...outer,
    failing: new Cell<readonly string[]>([]),
    provisioningOrders: new Cell(0),
    managedFiles: managedFilesOnDisk(given.root),
    startedAt: clock.now(),
    log,
  };
}

/** Runs `linked` and aborts its signal when other credentials are in use. */
async function untilReplaced(
  { credentials: { found } }: AlwaysOn,
  used: FoundCredentials,
  linked: (replaced: AbortSignal) => Promise<Ending>,
): Promise<Ending> {
  const replaced = new AbortController();
  const done = new AbortController();
  const abortIfOther = (): void => {
    const now = found.get();
    if (now && markOf(now.credentials) !== markOf(used.credentials)) replaced.abort();
  };
  const following = eachChange(found, abortIfOther, done.signal);
  try {
    return await linked(replaced.signal);
  } finally {
    done.abort();
    await following;
  }
}

/** A requested stop does not count against a version on trial. */
const noteStop = ({ device, log }: AlwaysOn): Promise<void> =>
  interruptTrial({ files: device.files, program: 'agent' }).catch((error: unknown) =>
    log.warn('the end of a start was not noted', { error }),
  );

/** Reports to the supervisor that the agent works, until there are credentials. @returns whether it was ready */
async function waitForCredentials(of: AlwaysOn, given: AlwaysOnOptions, signal: AbortSignal): Promise<boolean> {
  const { credentials, conditions, device, wanted, clock, log, mask } = of;
  const { supervisor = noSupervisor, ownMemory = () => undefined, memoryLimitBytes = memoryLimits.built } = given;
  const hide = (secrets: readonly string[]) => mask.hide(secrets.toSorted((a, b) => b.length - a.length));
  // The networks of an earlier configuration stay in effect.
  await new ConfigReceiver({ disk: device.disk, wanted, layers: ownLayers(of), conditions, hide, log }).loadCache();
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const notify = (): void => {
    const problem = conditions.get().find(({ code }) => code === 'CREDENTIALS_MISSING')?.message;
    if (problem !== undefined) supervisor.notify(`STATUS=${problem.replaceAll(/[\r\n]/g, ' ')}`);
  };
  const watched = {
    supervisor,
    hangDetector: new HangDetector(clock),
    health: new Cell(initialHealth),
    actual: new Cell(nothingYet),
    isSupervising: new Cell(true),
  };
  const watching = watchdog({ ...watched, ownMemory, memoryLimitBytes, clock, log }, until);
  const notifying = eachChange(conditions, notify, until);
  const waiting = async (): Promise<void> => {
    while (!credentials.found.get() && !signal.aborted) await credentials.found.changed(signal);
  };
  try {
    await Promise.race([waiting(), watching]);
  } finally {
    over.abort();
    await Promise.all([notifying, watching.catch(() => {})]);
  }
  if (signal.aborted) log.info('platform agent ends', { because: errorText(signal.reason) });
  return watched.health.get().isReady;
}

/** What the control socket shows while there are no credentials. */
function viewWithoutCredentials(of: AlwaysOn, handOver: () => void): AgentView {
  const { device, root, version, wanted, isReached, network, systemStatus, conditions, startedAt } = of;
  return {
    wanted,
    actual: new Cell(nothingYet),
    isReached,
    network,
    systemStatus,
    conditions,
    self: { partId: '', agentVersion: version, startedAt, host: device.host },
    appAddress: '',
    root,
    spool: undefined,
    clock: of.clock,
    sinceOf: (noted) => noted,
    operator: operatorWithoutCredentials(of),
    handOver,
  };
}

function operatorWithoutCredentials({ credentials: { file } }: AlwaysOn): Operator {
  const refuse = async (): Promise<never> => {
    throw new PlatformError('CREDENTIALS_MISSING', { file, problem: 'updates need them' });
  };
  return { checkNow: refuse, rollback: refuse, pin: refuse, clearQuarantine: refuse };
}
