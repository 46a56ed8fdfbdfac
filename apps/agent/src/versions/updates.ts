import { Cell, changedOr, converge, type Clock, type Log } from '@platform/kit';
import { programNames } from './layout.ts';
import type { Operator } from './operator.ts';
import { replaceFile } from '../os/file-disk.ts';
import type { Device } from '../os/ports.ts';
import type { Goal } from './plans/program-version.ts';
import type { Actual, Wanted } from '../state/state.ts';
import type { PreviousRun } from '../health/last-run.ts';
import { agentExitBefore } from './agent-exit.ts';
import { Attempts } from './attempts.ts';
import { Exits } from './exits.ts';
import { fetchRelease } from './fetch.ts';
import { gateText } from './gate.ts';
import { gatePath, type Program } from './layout.ts';
import { operatorOf } from './operator.ts';
import { followGoal, noGoal, readPins, setGoal, type Pins } from './pins.ts';
import type { Fetcher, Patches } from './ports.ts';
import type { Trust } from './trust/trust.ts';
import { sourcesOn } from './sources.ts';
import { programStore } from './store.ts';
import { textOf } from './switch.ts';
import { isSameContent, wasOnlyUnreached, type Bad } from '../state/trial-file.ts';
import type { UnitRenewal } from './unit-renewal.ts';
import { programVersion, type ProgramVersion } from './program-version.ts';
import { agentEvidence, agentLimits, serverEvidence, serverLimits, watchTrial } from './trials.ts';
import type { Vitals } from '../health/watchdog.ts';

const hourMs = 3_600_000;
const unitRetryMs = 600_000;
const spreadMs = 20_000;
/** With a working connection, an agent reaches the management server within this time after its start. */
const usualReachMs = 60_000;
/** A version rolled back this shortly before the agent's start was rolled back to this agent. */
const justBeforeMs = 5 * 60_000;

export interface UpdatesParts {
  device: Device;
  /** Id of this agent's version. Null: it was not started from bin/ and never replaces itself. */
  selfId: string | null;
  /** Version of this agent. */
  version: string;
  /** Start of this agent, monotonic ms. */
  startedAt: number;
  wanted: Cell<Wanted>;
  actual: Cell<Actual>;
  /** Counts the requested restarts of the server. */
  restarts: Cell<number>;
  health: Cell<Vitals>;
  isReached: Cell<boolean>;
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
  log: Log;
  random: () => number;
}

export type Leave = 'handover' | 'reverted';

export interface Updates {
  operator: Operator;
  /** Counts a start of the server. Returns the version to start. */
  beginStart(): Promise<string | null>;
  /** The server version in use. */
  linked(): Promise<string | null>;
  /** Records an unrequested exit of the server. */
  serverExited(id: string, how: { reason: string; lines: readonly string[] }): Promise<void>;
  /** The server, or both programs, stopped on request. The stop does not count against versions on trial. */
  interrupted(who: 'server' | 'both'): Promise<void>;
  loops(signal: AbortSignal): { name: string; work: Promise<void> }[];
}

/** Downloads, switches, tries and rolls back both programs of this machine. */
export async function openUpdates(parts: UpdatesParts): Promise<Updates> {
  const { device, selfId, wanted, actual, clock, log, isReached } = parts;
  const { files, disk, web, host } = device;
  const pins = new Cell<Pins>(await readPins(disk, log));
  const urgent = new Cell<Partial<Record<Program, string>>>({});
  const attempts = await Attempts.open(disk, log);
  const exits = await Exits.open(disk, log);
  const sources = sourcesOn(disk, web, clock);
  const reach = { lastAt: -Infinity, isFirst: true };
  const startedWall = clock.wall();
  /** Counts the finished trials of the agent. */
  const proofs = new Cell(0);
  const wasReached = () => isReached.get() || clock.now() - reach.lastAt < hourMs;
  /** The supervisor of this agent restarts it when it exits. */
  const isRestarted = host.isSupervisedBySystemd || host.isKept === true;

  const make = (program: Program) => {
    const programLog = log.child(program === 'server' ? 'version' : 'self');
    const unit = program === 'agent' ? parts.unit : undefined;
    const store = programStore(files, program, { clock, log: programLog, boot: host.bootId, unit });
    const goal = new Cell<Goal>(noGoal);
    const { trust, patches } = parts;
    const fetchParts = { files, web, store, trust, patches, boot: host.bootId, clock, log: programLog };
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
        log.info('this agent ends, the new one takes over', { to });
        parts.leave('handover');
      },
      canRestart: program === 'server' || isRestarted,
      wasReached,
      clock: parts.timedClock,
      log: programLog,
      random: parts.random,
    });
    setGoal(program, { wanted, pins, urgent, goal });
    return { program, store, goal, version, log: programLog };
  };
  const programs = { agent: make('agent'), server: make('server') };
  const again = (program: Program, because: 'asked' | 'reached' = 'asked'): void => {
    const { version, goal } = programs[program];
    version.forgetFailures(because);
    setGoal(program, { wanted, pins, urgent, goal });
    goal.set({ ...goal.get() }); // a new object triggers another pass
  };
  const { agent, server } = programs;
  const agentExit = await agentExitBefore({ ...parts, startedWall, bad: () => agent.store.bad() });
  if (agentExit) {
    const { id, exit } = agentExit;
    actual.update((a) => ({ ...a, agentInstall: { ...a.agentInstall, lastExit: exit } }));
    if (id !== undefined) await exits.set('agent', id, exit);
  }

  return {
    operator: operatorOf({ stores: { agent: agent.store, server: server.store }, disk, pins, urgent, again }),

    async beginStart() {
      const { id, outcome } = await server.store.beginStart();
      if (outcome === 'reverted') {
        server.log.error('the new version did not pass the health check: the previous one is restored', { id });
      }
      if (outcome !== 'normal') await server.version.refresh();
      return id;
    },
    linked: () => server.store.linked(),
    async serverExited(id, { reason, lines }) {
      const exit = { id, reason, lines, sinceWall: clock.wall() };
      actual.update((a) => ({ ...a, install: { ...a.install, lastExit: exit } }));
      const { trial, quarantined } = actual.get().install;
      if (trial?.to !== id && !quarantined.some((bad) => isSameContent(bad.id, id))) return;
      await exits.set('server', id, exit);
      await server.version.refresh();
    },
    async interrupted(who) {
      for (const { store, log: programLog } of who === 'both' ? [agent, server] : [server]) {
        await store
          .interrupt()
          .catch((error: unknown) => programLog.warn('the end of a start was not noted', { error }));
      }
    },

    loops(signal) {
      const followReach = async (): Promise<void> => {
        let was = isReached.get();
        reach.isFirst = !was;
        while (!signal.aborted) {
          if (isReached.get() === was) await isReached.changed(signal);
          if (isReached.get() === was) continue;
          was = isReached.get();
          if (!was) {
            reach.lastAt = clock.now();
            continue;
          }
          if (reach.isFirst) await releaseUnreached();
          reach.isFirst = false;
          // Retry failed downloads after a random delay: all machines of a server reconnect at the same time.
          const failed = programNames.filter((program) => programs[program].version.isHeld());
          if (failed.length === 0) continue;
          await clock.sleep(parts.random() * spreadMs, signal);
          for (const program of failed) again(program, 'reached');
        }
      };
      /**
       * Releases versions from quarantine whose only failure was not to reach the management server. Applies only if
       * this agent needed long to reach it, too.
       */
      const releaseUnreached = async (): Promise<void> => {
        if (clock.now() - parts.startedAt < usualReachMs) return;
        const isMeant = (bad: Bad) =>
          wasOnlyUnreached(bad) && Math.abs(bad.since * 1000 - startedWall) < justBeforeMs && bad.id !== selfId;
        for (const { id } of await agent.store.releaseFromQuarantine(isMeant).catch(() => [])) {
          agent.log.info('the management server was unreachable: the version is tried again', { id });
          again('agent');
        }
      };
      /** Replaces the gate script with this agent's, once the agent has passed the health check. */
      const renewGate = async (): Promise<void> => {
        if (selfId === null || (await agent.store.trial())) return;
        if ((await files.stat(gatePath)) === undefined || (await textOf(files, gatePath)) === gateText) return;
        await replaceFile(files, gatePath, new TextEncoder().encode(gateText), { mode: 0o755 }).catch(
          (error: unknown) => log.warn('the gate was not renewed', { error }),
        );
      };
      /** Keeps the systemd unit at the version of the agent. A version on trial brought its own unit. */
      const followUnit = async (): Promise<void> => {
        if (selfId === null) return;
        while (!signal.aborted) {
          const isDone = await agent.store.renewUnit().catch(() => false);
          await changedOr(proofs, isDone ? Infinity : unitRetryMs, clock, signal);
        }
      };
      /** Plans again when the server's status changes: it decides whether a restart is allowed. */
      const followServer = async (): Promise<void> => {
        let last = '';
        while (!signal.aborted) {
          const { running, at, isRestartAllowed, hasMaintenance } = actual.get().server;
          const now = JSON.stringify([running, at === 'running', isRestartAllowed, hasMaintenance]);
          if (now !== last && last !== '') server.goal.set({ ...server.goal.get() });
          last = now;
          await actual.changed(signal);
        }
      };
      const endedOf =
        (of: { version: ProgramVersion; program: Program }) =>
        async (how: 'proven' | 'failed'): Promise<void> => {
          await of.version.refresh();
          again(of.program);
          await renewGate();
          if (of.program === 'agent') proofs.update((n) => n + 1);
          if (of.program === 'agent' && how === 'failed' && isRestarted) parts.leave('reverted');
        };
      const common = { actual, clock };
      const self = () => ({
        self: selfId,
        since: parts.startedAt,
        health: parts.health.get(),
        isReached: isReached.get(),
      });
      const work = [
        ...[agent, server].map(({ program, goal, version, log: programLog }) => ({
          name: `${program} version`,
          work: Promise.all([
            followGoal(program, { wanted, pins, urgent, goal }, signal),
            converge(version, goal, { clock, log: programLog }, signal),
          ]).then(() => undefined),
        })),
        {
          name: 'server trial',
          work: watchTrial(
            {
              ...common,
              ...server,
              evidence: () => serverEvidence(actual.get()),
              limits: () => serverLimits(wanted.get()),
              watched: [wanted],
              ended: endedOf(server),
            },
            signal,
          ),
        },
        {
          name: 'agent trial',
          work: watchTrial(
            {
              ...common,
              ...agent,
              evidence: () => agentEvidence(self(), actual.get()),
              limits: agentLimits,
              watched: [parts.health, isReached],
              ended: endedOf(agent),
            },
            signal,
          ),
        },
        { name: 'reach', work: followReach() },
        { name: 'gate', work: renewGate().then(followUnit) },
        { name: 'server state', work: followServer() },
      ];
      return work;
    },
  };
}
