import { errorText, Inbox, run, type Cell, type Clock, type Log } from '@platform/kit';
import { machineEnvironment } from '@platform/contract/machine';
import * as machine from '../machines/server-process.ts';
import type { Device, Position, RunningProcess } from '../os/ports.ts';
import { exitReason, isInBackground, notReadyReason, reportedLines } from '../state/exit-reason.ts';
import { nothingYet, type Actual, type ServerStatus, type Wanted } from '../state/state.ts';
import { environmentMark, recordFile, writeRecord, type ServerRecord } from './record.ts';
import { findPortConflict, reportForeignServers } from './conflicts.ts';
import { adoptLeftover, awaitReady, lastLines, programOf, stderrFile, stdoutFile, watchStatus } from './watch.ts';

/** Set for each server process that the agent starts, so that it is found even if its record is lost. */
export const rootMark = 'PLATFORM_SERVER_OF_AGENT';

const stdoutLimitBytes = 16 * 2 ** 20;

export interface ServerProcessParts {
  device: Device;
  clock: Clock;
  log: Log;
  wanted: Cell<Wanted>;
  actual: Cell<Actual>;
  /** Counts the requested restarts; each new value is one. */
  restarts: Cell<number>;
  /** While false, no server starts (wait_for_update_check). */
  mayStart: Cell<boolean>;
  credentialsFile: string;
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

/** Supervises the machine server until `signal`, then stops it and returns. */
export async function superviseServer(parts: ServerProcessParts, signal: AbortSignal): Promise<void> {
  const { device, clock, log, wanted, actual } = parts;
  const inbox = new Inbox<machine.Event>();
  const end = new AbortController();
  parts.leave.addEventListener('abort', () => end.abort(parts.leave.reason), { once: true });
  if (parts.leave.aborted) end.abort(parts.leave.reason);
  let process: RunningProcess | undefined;
  let watch = new AbortController(); // for the running process

  const publish = (change: Partial<ServerStatus>) =>
    actual.update((a) => (isSame(a.server, change) ? a : { ...a, server: { ...a.server, ...change } }));
  const limits = (): machine.Limits => ({
    ...machine.standardLimits,
    startTimeout: wanted.get().settings.startTimeoutMs,
  });
  const goal = (): machine.Goal => ({
    run: signal.aborted ? 'ended' : wanted.get().settings.isServerDisabled ? 'disabled' : 'yes',
    hasProgram: actual.get().install.installed !== null && parts.mayStart.get(),
  });

  /** A full disk must not stop the supervision: without its record, the server is found by its mark. */
  const keep = (record: ServerRecord): Promise<void> =>
    writeRecord(device.disk, record).catch((error: unknown) => log.warn('record not written', { error }));

  const untilReady = async (record: ServerRecord, stop: AbortSignal): Promise<void> => {
    const url = await awaitReady(parts, record, stop);
    if (url === undefined || stop.aborted) return;
    log.info('the machine server is ready', { url, pid: record.pid });
    publish({ url });
    await keep({ ...record, url });
    inbox.push({ is: 'ready' });
    publish({ conflict: '', isInBackground: false });
    await watchStatus(parts, record, url, publish, stop);
  };

  const untilExit = async (
    p: RunningProcess,
    { id, from }: ServerRecord,
    errorsFrom: Position | undefined,
    stop: AbortController,
  ): Promise<void> => {
    const exit = await p.exited;
    if (parts.leave.aborted) return; // the next agent handles the exit
    stop.abort();
    p.signal('KILL'); // its child processes must not survive it
    const isTooSlow = state.at === 'stopping' && state.next === 'backOff';
    const isAsked = state.at === 'stopping' && !isTooSlow;
    const before = actual.get().server;
    const how = isTooSlow ? notReadyReason(limits().startTimeout, exit) : exitReason(exit);
    let { conflict } = before;
    let lines: string[] = [];
    if (isAsked) {
      log.info('the machine server has ended', { how, pid: p.id.pid });
    } else {
      lines = reportedLines(await lastLines(device, errorsFrom, from), parts.mask);
      conflict = (await findPortConflict(device, lines)) ?? conflict;
      const message = isTooSlow ? 'the machine server was not ready in time' : 'the machine server ended by itself';
      log.error(message, { how, pid: p.id.pid, lastLines: lines, obstacle: conflict });
    }
    publish({
      ...nothingYet.server,
      at: state.at,
      lastExit: how,
      restarts: before.restarts + (isAsked || isTooSlow ? 0 : 1),
      failures: before.failures,
      isInBackground: !isAsked && isInBackground(exit),
      conflict,
    });
    const { quarantined } = actual.get().install;
    // A version that is rolled back is stopped on request, but its output shows the reason, too.
    if (isAsked && before.url === null && quarantined.some((bad) => bad.id === id)) {
      lines = reportedLines(await lastLines(device, errorsFrom, from), parts.mask);
      await parts.exited(id, { reason: `it never got ready; the agent ended it (${how})`, lines });
    } else if (!isAsked) await parts.exited(id, { reason: how, lines });
    await device.disk.remove(recordFile).catch((error: unknown) => log.warn('record not removed', { error }));
    if (state.at === 'stopping' && state.next === 'start') await parts.endedAsAsked();
    inbox.push({ is: 'exited' });
  };

  /** Follows one process from its start (or adoption) to its end. Its errors begin at `errorsFrom`. */
  const follow = (p: RunningProcess, record: ServerRecord, errorsFrom?: Position): void => {
    process = p;
    watch = new AbortController();
    const ageMs = errorsFrom ? 0 : device.processes.ageMs?.(p.id);
    publish({
      running: record.id,
      url: null,
      since: clock.now(),
      startedAt: ageMs === undefined ? null : clock.now() - ageMs,
      isRestartAllowed: undefined,
      environment: record.environment,
    });
    untilReady(record, watch.signal).catch((error: unknown) => log.error('readiness cannot be seen', { error }));
    void untilExit(p, record, errorsFrom, watch);
  };

  const start = async (): Promise<machine.Event | void> => {
    try {
      const { lines, processes } = device;
      const id = await parts.beginStart();
      if (id === null) return { is: 'notStarted', error: 'no version is installed' };
      await reportForeignServers(parts, publish);
      for (const file of [stdoutFile, stderrFile]) {
        if ((await lines.makeRoom(file)) === 'memory')
          log.warn('the disk is full: lines of the machine server are kept in memory', { file });
      }
      const from = await lines.trim(stdoutFile, await lines.end(stdoutFile), stdoutLimitBytes);
      const errorsFrom = await lines.end(stderrFile);
      const { serverEnv, debug } = wanted.get().settings;
      const started = await processes.start({
        program: programOf(id),
        args: ['-config', parts.credentialsFile, '-data', `${parts.root}/server`],
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
      const record: ServerRecord = {
        ...started.id,
        id,
        from,
        credentials: parts.credentialsMark,
        environment: environmentMark(serverEnv),
      };
      await keep(record);
      log.info('the machine server was started', { pid: started.id.pid, version: id });
      follow(started, record, errorsFrom);
    } catch (error) {
      log.error('the machine server could not be started', { error });
      publish({ lastExit: `not started: ${errorText(error)}` });
      return { is: 'notStarted', error: errorText(error) };
    }
  };

  const perform = async (effect: machine.Effect): Promise<machine.Event | void> => {
    if (effect.do === 'start') return start();
    process?.signal(effect.name);
  };

  let state = machine.initial(goal());
  const leftover = await adoptLeftover(parts, publish);
  if (leftover) {
    state = machine.adopted(goal(), clock.now());
    follow(leftover.process, leftover.record);
    if (leftover.record.credentials !== parts.credentialsMark) {
      log.info('the credentials of this machine have changed: the machine server is started again');
      inbox.push({ is: 'restart' });
    }
  }
  publish({ at: state.at });
  parts.isSupervising.set(true);

  const machineRun = run<machine.State, machine.Event, machine.Effect>(
    {
      initial: state,
      deadline: (s) => machine.deadline(s, limits()),
      step: (s, e, now) => machine.step(s, e, now, limits()),
      perform,
    },
    inbox,
    (s) => {
      state = s;
      publish({ at: s.at, failures: s.failures });
      if (s.at === 'stopped' && s.goal.run === 'ended') end.abort();
    },
    { clock, log },
    end.signal,
  );
  await Promise.all([
    machineRun,
    pushGoals(parts, goal, inbox, signal, end.signal),
    pushRestarts(parts, inbox, end.signal),
  ]);
  watch.abort();
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
    const turn = new AbortController();
    const over = AbortSignal.any([turn.signal, signal, ended]);
    await Promise.race([wanted.changed(over), actual.changed(over), mayStart.changed(over)]);
    turn.abort();
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
