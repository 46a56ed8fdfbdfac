import { Cell, type Clock, type Log, type Reconciler } from '@platform/kit';
import type { PreviousRun } from '../health/previous-run.ts';
import type { AgentHealth } from '../health/watchdog.ts';
import type { Device } from '../os/ports.ts';
import { Attempts } from './last-updates.ts';
import { Exits } from './trial-exits.ts';
import { fetchRelease } from './fetch-release.ts';
import type { Program } from './layout.ts';
import { noGoal, readPins, setGoal, type Pins } from './pins.ts';
import { type Goal, plan, type Have, type Step } from './plans/update-plan.ts';
import type { Fetcher, Patches } from './fetch-ports.ts';
import { sourcesOn, type Sources } from './sources.ts';
import { programStore, type ProgramStore } from './program-store.ts';
import type { Trust } from './trust/trust.ts';
import {
  type MaintenanceClock,
  failureOf,
  initialState,
  publishStatus,
  type ProgramVersionParts,
  type VersionState,
} from './reconciler-state.ts';
import type { UnitRenewal } from './unit-renewal.ts';
import { downloadDesired } from './download-step.ts';
import { observeVersion } from './observe-program.ts';
import type { Context } from '../health/context.ts';

const hourMs = 3_600_000;

export interface UpdatesParts extends Pick<Context, 'device' | 'wanted' | 'actual' | 'isReached' | 'log' | 'random'> {
  /** Id of this agent's version. Null: it was not started from bin/ and never replaces itself. */
  selfId: string | null;
  /** Version of this agent. */
  version: string;
  /** Start of this agent, monotonic ms. */
  startedAt: number;
  /** Counts the requested restarts of the server. */
  restarts: Cell<number>;
  health: Cell<AgentHealth>;
  /** The agent itself turned the radio into a hotspot. */
  isOfflineByHotspot: Cell<boolean>;
  /** Optional tasks that fail with this version of the agent, but not with the one before. */
  blamed: Cell<readonly string[]>;
  /** Undefined: any file that the management server names is used. */
  trust: Trust | undefined;
  /** Undefined: files are always downloaded whole. */
  patches: Patches | undefined;
  /** Follows the version of the agent. Undefined: no unit of ours starts it. */
  unit: UnitRenewal | undefined;
  /** Replaces the download in this process. */
  fetcher: Fetcher | undefined;
  /** How the previous agent ended. */
  previousRun: () => Promise<PreviousRun>;
  /** Version of the previous agent if it crashed; undefined: it did not. */
  crashed: string | undefined;
  /** Masks secrets in the output of programs. */
  mask: (text: string) => string;
  /** Ends this agent so that the version in bin/ starts next. The server keeps running. */
  leave: (why: Leave) => void;
  /** The system clock. The gate and systemd use it, too, and their times are compared with it. */
  clock: Clock;
  /** The clock with the best known time. */
  timedClock: Clock;
  maintenance: MaintenanceClock;
}

export type Leave = 'handover' | 'reverted';

/** One of the two programs, with its desired state and its reconciler. */
export interface ManagedProgram {
  program: Program;
  store: ProgramStore;
  goal: Cell<Goal>;
  version: ProgramVersion;
  log: Log;
}

interface SharedRecords {
  pins: Cell<Pins>;
  /** Ids of the versions that an operator waits for. */
  urgent: Cell<Partial<Record<Program, string>>>;
  attempts: Attempts;
  exits: Exits;
  sources: Sources;
  /** The last connection to the management server. */
  reach: Reach;
}

export interface Reach {
  /** When it was lost, monotonic ms. */
  lastAt: number;
  /** This run of the agent has not reached the management server yet. */
  isFirst: boolean;
}

/** Both programs, and the records that they share. */
export interface ManagedPrograms extends SharedRecords {
  agent: ManagedProgram;
  server: ManagedProgram;
}

export async function openPrograms(parts: UpdatesParts): Promise<ManagedPrograms> {
  const { device, clock, log } = parts;
  const { disk, web } = device;
  const shared: SharedRecords = {
    pins: new Cell<Pins>(await readPins(disk, log)),
    urgent: new Cell<Partial<Record<Program, string>>>({}),
    attempts: await Attempts.open(disk, log),
    exits: await Exits.open(disk, log),
    sources: sourcesOn(disk, web, clock),
    reach: { lastAt: -Infinity, isFirst: true },
  };
  return { ...shared, agent: openProgram('agent', parts, shared), server: openProgram('server', parts, shared) };
}

function openProgram(program: Program, parts: UpdatesParts, shared: SharedRecords): ManagedProgram {
  const { device, selfId, wanted, actual, isReached, clock, trust, patches } = parts;
  const { files, web, host } = device;
  const { pins, urgent, attempts, exits, sources, reach } = shared;
  const log = parts.log.child(program === 'server' ? 'version' : 'self');
  const unit = program === 'agent' ? parts.unit : undefined;
  const boot = program === 'server' ? (device.runId ?? host.bootId) : host.bootId;
  const store = programStore(files, program, { clock, log, boot, unit });
  const goal = new Cell<Goal>(noGoal);
  const fetchParts = { files, web, store, trust, patches, boot: host.bootId, clock, log };
  const version = programVersion({
    program,
    store,
    fetcher: parts.fetcher ?? { fetch: (task, tell, signal) => fetchRelease(task, fetchParts, tell, signal) },
    sources,
    attempts,
    exits,
    platform: host.platform,
    wanted,
    actual,
    goal,
    running: () => (program === 'server' ? actual.get().server.running : selfId),
    elsewhere: program === 'agent' && selfId === null ? parts.version : '',
    mayActivate: program === 'server' || selfId !== null,
    restart: (to) => {
      if (program === 'server') return parts.restarts.update((n) => n + 1);
      parts.log.info('this agent ends, the new one takes over', { to });
      parts.leave('handover');
    },
    canRestart: program === 'server' || isRestarted(device),
    wasReached: () => isReached.get() || clock.now() - reach.lastAt < hourMs,
    clock: parts.timedClock,
    maintenance: parts.maintenance,
    interruptsServer: program === 'server' || host.platform.startsWith('windows'),
    log,
    random: parts.random,
  });
  setGoal(program, { wanted, pins, urgent, goal });
  return { program, store, goal, version, log };
}

/** The supervisor of this agent restarts it when it exits. */
export const isRestarted = ({ host }: Device): boolean => host.isSupervisedBySystemd || host.isKept === true;

/** Starts another pass at once, and retries failed downloads. */
export function retry(
  { program, version, goal }: ManagedProgram,
  { wanted }: Pick<UpdatesParts, 'wanted'>,
  { pins, urgent }: Pick<SharedRecords, 'pins' | 'urgent'>,
  because: 'asked' | 'reached' = 'asked',
): void {
  version.forgetFailures(because);
  setGoal(program, { wanted, pins, urgent, goal });
  goal.set({ ...goal.get() }); // a new object triggers another pass
}

/** Used while something is pending: a maintenance window, a delayed download, a trial. */
const pendingRecheckMs = 30_000;
/** Used when nothing is pending: a user may have changed the files. Each check opens ten files. */
const settledRecheckMs = 5 * 60_000;

/** A reconciler with calls for the other loops. */
interface ProgramVersion extends Reconciler<Goal, Have, Step> {
  /** A failed download waits for its retry. */
  isHeld(): boolean;
  /** Allows an immediate retry; with `reached`, only if the server set no retry time. */
  forgetFailures(because: 'asked' | 'reached'): void;
  /** Publishes the observed state after a change by other code. */
  refresh(): Promise<void>;
}

/** Downloads the desired version of one program and makes it the one that starts next. */
function programVersion(parts: ProgramVersionParts): ProgramVersion {
  const state = initialState();
  const observe = (signal: AbortSignal) => observeVersion(parts, state, signal);
  return {
    name: `${parts.program}-version`,
    get recheckMs() {
      return state.isSettled ? settledRecheckMs : pendingRecheckMs;
    },
    observe,
    describe: ({ versions, linked, running, trial, leftovers, isHeldBack, mayRestart: isFree }) => ({
      versions: versions.map(({ id }) => id),
      linked,
      running,
      desired: state.seen.desired,
      revision: state.seen.revision,
      trial: trial?.to,
      leftovers: leftovers.length,
      isHeldBack,
      mayRestart: isFree,
    }),
    plan,
    apply: (step, signal) => applyStep(parts, state, step, signal),
    settled: (error) => recordOutcome(parts, state, error),
    isHeld: () => state.held !== undefined,
    forgetFailures: (because) => {
      if (because === 'asked' || state.held?.isAsked !== true) state.held = undefined;
    },
    refresh: async () => void (await observe(new AbortController().signal)),
  };
}

async function applyStep(
  parts: ProgramVersionParts,
  state: VersionState,
  step: Step,
  signal: AbortSignal,
): Promise<void> {
  const { store, goal } = parts;
  switch (step.do) {
    case 'download':
      return downloadDesired(parts, state, step, signal);
    case 'activate':
      return store.activate(step.id, {
        clearance: goal.get().clearance,
        needs: parts.wasReached() ? 'cloud' : 'local',
      });
    case 'restart':
      return parts.restart(step.to);
    case 'remove':
      return store.remove(step.id);
    case 'forget':
      return store.forget(step.part);
  }
}

/** Publishes the end of a pass. A success clears the failure of an earlier step only. */
function recordOutcome(parts: ProgramVersionParts, state: VersionState, error: unknown): void {
  if (error !== undefined) {
    state.failure = failureOf(error, state.failure, parts.clock.wall());
    state.isOfStep = true;
    publishStatus(parts, { failure: state.failure });
  } else if (state.isOfStep) {
    state.failure = undefined;
    state.isOfStep = false;
    publishStatus(parts, { failure: undefined });
  }
  if (error === undefined) publishStatus(parts, { look: state.seen });
  if (state.isOfFresh) publishStatus(parts, { isChecked: true });
}
