import { errorText, Inbox, run, type Cell, type Log, anyChanged } from '@platform/kit';
import { machineEnvironment, serverName } from '@platform/contract/machine-server/machine-server';
import * as machine from '../state-machines/server-process.ts';
import { fileProblem, lackingResource } from '../os/file-problem.ts';
import type { Device, Position, RunningProcess, ProcessInfo } from '../os/ports.ts';
import { exitReason, isInBackground, notReadyReason, reportedLines } from '../state/exit-reason.ts';
import { nothingYet, type ServerStatus, type Wanted } from '../state/state.ts';
import { environmentMark, recordFile, writeRecord, type ServerRecord } from './record.ts';
import { adoptLeftover, awaitReady, lastLines, programOf, stderrFile, stdoutFile, watchStatus } from './watch.ts';
import type { Context } from '../health/context.ts';

/** Set for each server process that the agent starts, so that it is found even if its record is lost. */
export const rootMark = 'PLATFORM_SERVER_OF_AGENT';

const stdoutLimitBytes = 16 * 2 ** 20;

export interface ServerProcessParts extends Pick<Context, 'device' | 'clock' | 'log' | 'wanted' | 'actual'> {
  /** Counts the requested restarts; each new value is one. */
  restarts: Cell<number>;
  /** While false, no server starts (wait_for_update_check). */
  mayStart: Cell<boolean>;
  credentialsFile: () => string;
  /** Checksum of the content of that file: a server that was started with another one is restarted. */
  credentialsMark: string;
  /** A time that is certainly in the past, ms since 1970; left out: the machine server knows it itself. */
  timeFloor?: () => number;
  authorityFile?: string;
  /** Absolute path; the value of the mark. */
  root: string;
  /** Counts the start of a version on trial. Returns the version to start. */
  beginStart: () => Promise<string | null>;
  /** The server stopped on request, which does not count against a version on trial. */
  endedAsAsked: () => Promise<void>;
  /** The server ended without a request, or the agent ended it because it was not ready. */
  exited: (id: string, how: { reason: string; lines: readonly string[] }) => Promise<void>;
  /** Masks secrets in the output of the server. */
  mask: (text: string) => string;
  /** The version in use. */
  linked: () => Promise<string | null>;
  /** Set once the agent knows whether a server already runs. */
  isSupervising: Cell<boolean>;
  /** On abort, return and leave the server running: the next agent adopts it. */
  leave: AbortSignal;
}

/** The state of the supervision; `process` and `watch` belong to the last started or adopted process. */
interface Supervision {
  readonly parts: ServerProcessParts;
  readonly inbox: Inbox<machine.Event>;
  readonly publish: (change: Partial<ServerStatus>) => void;
  state: machine.State;
  process: RunningProcess | undefined;
  watch: AbortController;
}

/** Supervises the machine server until `signal`, then stops it and returns. */
export async function superviseServer(parts: ServerProcessParts, signal: AbortSignal): Promise<void> {
  const { clock, log, wanted, actual } = parts;
  const inbox = new Inbox<machine.Event>();
  const end = new AbortController();
  parts.leave.addEventListener('abort', () => end.abort(parts.leave.reason), { once: true });
  if (parts.leave.aborted) end.abort(parts.leave.reason);
  const publish = (change: Partial<ServerStatus>) =>
    actual.update((a) => (isSame(a.server, change) ? a : { ...a, server: { ...a.server, ...change } }));
  const goal = (): machine.Goal => ({
    run: signal.aborted ? 'ended' : wanted.get().settings.isServerDisabled ? 'disabled' : 'yes',
    hasProgram: actual.get().install.installed !== null && parts.mayStart.get(),
  });
  const watch = new AbortController();
  const s: Supervision = { parts, inbox, publish, state: machine.initial(goal()), process: undefined, watch };

  const leftover = await adoptLeftover(parts, publish);
  if (leftover) {
    s.state = machine.adopted(goal(), clock.now());
    follow(s, leftover.process, leftover.record);
    if (leftover.record.credentials !== parts.credentialsMark) {
      log.info('the credentials of this machine have changed: the machine server is started again');
      inbox.push({ is: 'restart' });
    }
  }
  publish({ at: s.state.at });
  parts.isSupervising.set(true);

  const machineRun = run<machine.State, machine.Event, machine.Effect>(
    {
      initial: s.state,
      deadline: (state) => machine.deadline(state, limitsOf(wanted.get())),
      step: (state, event, now) => machine.step(state, event, now, limitsOf(wanted.get())),
      perform: async (effect) => (effect.do === 'start' ? start(s) : s.process?.signal(effect.name)),
    },
    inbox,
    (state) => {
      s.state = state;
      publish({ at: state.at, failures: state.failures });
      if (state.at === 'stopped' && state.goal.run === 'ended') end.abort();
    },
    { clock, log },
    end.signal,
  );
  await Promise.all([
    machineRun,
    pushGoals(parts, goal, inbox, signal, end.signal),
    pushRestarts(parts, inbox, end.signal),
  ]);
  s.watch.abort();
}

const limitsOf = ({ settings }: Wanted): machine.Limits => ({
  ...machine.standardLimits,
  startTimeout: settings.startTimeoutMs,
});

async function start(s: Supervision): Promise<machine.Event | void> {
  const { parts, publish } = s;
  const { device, log } = parts;
  try {
    const id = await parts.beginStart();
    if (id === null) return { is: 'notStarted', error: 'no version is installed' };
    await reportForeignServers(parts, publish);
    const { from, errorsFrom } = await prepareOutputs(device, log);
    const { serverEnv, debug } = parts.wanted.get().settings;
    const started = await device.processes.start({
      program: programOf(id),
      args: ['-config', parts.credentialsFile(), '-data', `${parts.root}/server`],
      env: {
        ...serverEnv,
        [machineEnvironment.agentHandlesNeedsRestart]: 'true',
        ...(parts.timeFloor && { [machineEnvironment.timeFloor]: String(Math.floor(parts.timeFloor())) }),
        ...(parts.authorityFile !== undefined && { [machineEnvironment.certificateAuthority]: parts.authorityFile }),
        ...(debug && { [machineEnvironment.debug]: 'true' }),
      },
      stdoutFile,
      stderrFile,
    });
    const environment = environmentMark(serverEnv);
    const record: ServerRecord = { ...started.id, id, from, credentials: parts.credentialsMark, environment };
    await storeRecord(parts, record);
    log.info('the machine server was started', { pid: started.id.pid, version: id });
    publish({ lacks: undefined });
    follow(s, started, record, errorsFrom);
  } catch (error) {
    const lacks = lackingResource(error);
    const problem = lacks === 'files' ? fileProblem(error) : errorText(error);
    publish({ lastExit: `not started: ${problem}`, lacks });
    if (lacks === undefined) {
      log.error('the machine server could not be started', { error });
      return { is: 'notStarted', error: problem };
    }
    log.warn(`the machine server could not be started: ${fileProblem(error)}`, { error });
    await parts.endedAsAsked().catch(() => {}); // its start was counted before the machine rejected it
    return { is: 'notStarted', error: problem, lacksResource: true };
  }
}

/** Makes room in the output files. Returns where the output of the next process begins. */
async function prepareOutputs({ lines }: Device, log: Log): Promise<{ from: Position; errorsFrom: Position }> {
  for (const file of [stdoutFile, stderrFile]) {
    if ((await lines.makeRoom(file)) === 'memory')
      log.warn('the disk is full: lines of the machine server are kept in memory', { file });
  }
  const from = await lines.trim(stdoutFile, await lines.end(stdoutFile), stdoutLimitBytes);
  return { from, errorsFrom: await lines.end(stderrFile) };
}

/** A full disk must not stop the supervision: without its record, the server is found by its mark. */
const storeRecord = ({ device, log }: ServerProcessParts, record: ServerRecord): Promise<void> =>
  writeRecord(device.disk, record).catch((error: unknown) => log.warn('record not written', { error }));

/** Follows one process from its start (or adoption) to its end. Its errors begin at `errorsFrom`. */
function follow(s: Supervision, process: RunningProcess, record: ServerRecord, errorsFrom?: Position): void {
  const { device, clock, log } = s.parts;
  s.process = process;
  s.watch = new AbortController();
  const ageMs = errorsFrom ? 0 : device.processes.ageMs?.(process.id);
  s.publish({
    running: record.id,
    url: null,
    since: clock.now(),
    startedAt: ageMs === undefined ? null : clock.now() - ageMs,
    isRestartAllowed: undefined,
    environment: record.environment,
  });
  untilReady(s, record, s.watch.signal).catch((error: unknown) => log.error('readiness cannot be seen', { error }));
  void untilExit(s, process, record, errorsFrom, s.watch);
}

async function untilReady(s: Supervision, record: ServerRecord, stop: AbortSignal): Promise<void> {
  const { parts, publish } = s;
  const url = await awaitReady(parts, record, stop);
  if (url === undefined || stop.aborted) return;
  parts.log.info('the machine server is ready', { url, pid: record.pid });
  publish({ url });
  await storeRecord(parts, { ...record, url });
  s.inbox.push({ is: 'ready' });
  publish({ conflict: '', isInBackground: false });
  await watchStatus(parts, record, url, publish, stop);
}

async function untilExit(
  s: Supervision,
  process: RunningProcess,
  record: ServerRecord,
  errorsFrom: Position | undefined,
  stop: AbortController,
): Promise<void> {
  const { parts, publish } = s;
  const { device, log, actual } = parts;
  const exit = await process.exited;
  if (parts.leave.aborted) return; // the next agent handles the exit
  stop.abort();
  process.signal('KILL'); // its child processes must not survive it
  const isTooSlow = s.state.at === 'stopping' && s.state.next === 'backOff';
  const isRequested = s.state.at === 'stopping' && !isTooSlow;
  const before = actual.get().server;
  const how = isTooSlow ? notReadyReason(limitsOf(parts.wanted.get()).startTimeout, exit) : exitReason(exit);
  const readLines = async () => reportedLines(await lastLines(device, errorsFrom, record.from), parts.mask);
  let { conflict } = before;
  let lines: string[] = [];
  if (isRequested) {
    log.info('the machine server has ended', { how, pid: process.id.pid });
  } else {
    lines = await readLines();
    conflict = (await findPortConflict(device, lines)) ?? conflict;
    const message = isTooSlow ? 'the machine server was not ready in time' : 'the machine server ended by itself';
    log.error(message, { how, pid: process.id.pid, lastLines: lines, conflict });
  }
  publish({
    ...nothingYet.server,
    at: s.state.at,
    lastExit: how,
    restarts: before.restarts + (isRequested || isTooSlow ? 0 : 1),
    failures: before.failures,
    isInBackground: !isRequested && isInBackground(exit),
    conflict,
  });
  const { quarantined } = actual.get().install;
  // A version that is rolled back is stopped on request, but its output shows the reason, too.
  if (isRequested && before.url === null && quarantined.some((entry) => entry.id === record.id)) {
    const reason = `it never got ready; the agent ended it (${how})`;
    await parts.exited(record.id, { reason, lines: await readLines() });
  } else if (!isRequested) await parts.exited(record.id, { reason: how, lines });
  await device.disk.remove(recordFile).catch((error: unknown) => log.warn('record not removed', { error }));
  if (s.state.at === 'stopping' && s.state.next === 'start') await parts.endedAsAsked();
  s.inbox.push({ is: 'exited' });
}

/** An unchanged status must not wake its readers. */
const isSame = (status: ServerStatus, change: Partial<ServerStatus>): boolean =>
  Object.entries(change).every(([key, value]) => status[key as keyof ServerStatus] === value);

/** Sends each new goal to the state machine, the last one when `signal` comes. */
async function pushGoals(
  { wanted, actual, mayStart }: ServerProcessParts,
  goal: () => machine.Goal,
  inbox: Inbox<machine.Event>,
  signal: AbortSignal,
  ended: AbortSignal,
): Promise<void> {
  let last = '';
  while (!ended.aborted) {
    const now = goal();
    if (JSON.stringify(now) !== last) inbox.push({ is: 'wanted', goal: now });
    last = JSON.stringify(now);
    if (now.run === 'ended') return;
    await anyChanged([wanted, actual, mayStart], AbortSignal.any([signal, ended]));
  }
}

async function pushRestarts(
  { restarts }: ServerProcessParts,
  inbox: Inbox<machine.Event>,
  ended: AbortSignal,
): Promise<void> {
  for (let last = restarts.get(); !ended.aborted;) {
    if (restarts.get() === last) await restarts.changed(ended);
    if (restarts.get() !== last) inbox.push({ is: 'restart' });
    last = restarts.get();
  }
}

const who = ({ pid, command }: ProcessInfo): string => `process ${pid} (${command})`;

/** A foreign machine server is reported and left running: a user may need it. */
async function reportForeignServers(
  { device, log }: { device: Device; log: Log },
  publish: (change: Partial<ServerStatus>) => void,
): Promise<void> {
  const foreign = await device.processes.foreignProcesses(serverName);
  if (foreign.length === 0) return;
  const conflict = `Another machine server runs that this agent has not started: ${foreign.map(who).join(', ')}.`;
  log.warn('a foreign machine server is running', { processes: foreign });
  publish({ conflict });
}

/** How programs report that a port is in use: Node, Go, libc, each with the address before or after it. */
const taken = /EADDRINUSE|address already in use/i;
const port = /:(\d{2,5})\b/g;

/** Which process uses the port that the last lines of a server report as in use. */
async function findPortConflict(device: Device, lines: readonly string[]): Promise<string | undefined> {
  const line = lines.findLast((l) => taken.test(l));
  for (const [, digits] of (line ?? '').matchAll(port)) {
    const listener = await device.processes.listener(Number(digits));
    if (listener) return `Port ${digits} is used by ${who(listener)}.`;
  }
  return undefined;
}
