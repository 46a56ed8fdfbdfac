import { Cell, changedOr, converge } from '@platform/kit';
import { replaceFile } from '../os/file-disk.ts';
import type { Actual } from '../state/state.ts';
import { wasOnlyUnreached, type Bad } from '../state/trial-file.ts';
import { gateText } from './gate.ts';
import { gatePath } from './layout.ts';
import {
  isRestarted,
  retry,
  type ManagedProgram,
  type ManagedPrograms,
  type UpdatesParts,
} from './managed-programs.ts';
import { followGoal } from './pins.ts';
import type { ProgramStore } from './program-store.ts';
import { textOf } from './switch.ts';
import { agentEvidence, agentLimits, serverEvidence, serverLimits, trialTime, watchTrial } from './watch-trial.ts';

const unitRetryMs = 600_000;
const spreadMs = 20_000;
/** With a working connection, an agent reaches the management server within this time after its start. */
const usualReachMs = 60_000;
/** A version rolled back this shortly before the agent's start was rolled back to this agent. */
const justBeforeMs = 5 * 60_000;

interface Loop {
  name: string;
  work: Promise<void>;
}

/** @param startedWall - start of this agent, ms since 1970. */
export function updateLoops(
  parts: UpdatesParts,
  programs: ManagedPrograms,
  startedWall: number,
  signal: AbortSignal,
): Loop[] {
  const { agent, server } = programs;
  /** Counts the finished trials of the agent. */
  const finishedTrials = new Cell(0);
  return [
    ...[agent, server].map((managed) => versionLoop(managed, parts, programs, signal)),
    ...trialLoops(parts, programs, finishedTrials, signal),
    { name: 'reach', work: followReach(parts, programs, startedWall, signal) },
    {
      name: 'gate',
      work: renewGate(parts, agent.store).then(() => followUnit(parts, agent.store, finishedTrials, signal)),
    },
    { name: 'server state', work: followServer(parts.actual, server, signal) },
  ];
}

function versionLoop(
  { program, goal, version, log }: ManagedProgram,
  { wanted, clock }: UpdatesParts,
  { pins, urgent }: ManagedPrograms,
  signal: AbortSignal,
): Loop {
  const following = followGoal(program, { wanted, pins, urgent, goal }, signal);
  const converging = converge(version, goal, { clock, log }, signal);
  return { name: `${program} version`, work: Promise.all([following, converging]).then(() => undefined) };
}

function trialLoops(
  parts: UpdatesParts,
  programs: ManagedPrograms,
  finishedTrials: Cell<number>,
  signal: AbortSignal,
): Loop[] {
  const { wanted, actual, health, isReached, isOfflineByHotspot, blamed, clock } = parts;
  const { agent, server } = programs;
  const time = trialTime(parts);
  const endedOf = (managed: ManagedProgram) => async (how: 'proven' | 'failed') => {
    await managed.version.refresh();
    retry(managed, parts, programs);
    await renewGate(parts, agent.store);
    if (managed.program !== 'agent') return;
    finishedTrials.update((n) => n + 1);
    if (how === 'failed' && isRestarted(parts.device)) parts.leave('reverted');
  };
  const serverTrial = {
    ...server,
    actual,
    clock,
    evidence: () => serverEvidence(actual.get()),
    limits: () => serverLimits(wanted.get()),
    watched: [wanted],
    ended: endedOf(server),
  };
  const self = () => ({
    self: parts.selfId,
    since: time.begin(),
    health: health.get(),
    isReached: isReached.get(),
    blamed: blamed.get(),
  });
  const agentTrial = {
    ...agent,
    actual,
    clock,
    evidence: () => agentEvidence(self(), actual.get()),
    limits: agentLimits,
    watched: [health, isReached, isOfflineByHotspot, blamed],
    ended: endedOf(agent),
  };
  return [
    { name: 'server trial', work: watchTrial(serverTrial, signal) },
    { name: 'trial time', work: time.follow(signal) },
    { name: 'agent trial', work: watchTrial(agentTrial, signal) },
  ];
}

/** Retries failed downloads when the connection to the management server is back. */
async function followReach(
  parts: UpdatesParts,
  programs: ManagedPrograms,
  startedWall: number,
  signal: AbortSignal,
): Promise<void> {
  const { isReached, clock } = parts;
  const { agent, server, reach } = programs;
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
    if (reach.isFirst && (await releaseUnreached(parts, agent, startedWall))) retry(agent, parts, programs);
    reach.isFirst = false;
    // Retry failed downloads after a random delay: all machines of a server reconnect at the same time.
    const failed = [agent, server].filter(({ version }) => version.isHeld());
    if (failed.length === 0) continue;
    await clock.sleep(parts.random() * spreadMs, signal);
    for (const managed of failed) retry(managed, parts, programs, 'reached');
  }
}

/**
 * Releases versions from quarantine whose only failure was not to reach the management server. Applies only if this
 * agent needed long to reach it, too. Returns whether there were such versions.
 */
async function releaseUnreached(
  { selfId, startedAt, clock }: UpdatesParts,
  { store, log }: ManagedProgram,
  startedWall: number,
): Promise<boolean> {
  if (clock.now() - startedAt < usualReachMs) return false;
  const isMeant = (bad: Bad) =>
    wasOnlyUnreached(bad) && Math.abs(bad.since * 1000 - startedWall) < justBeforeMs && bad.id !== selfId;
  const released = await store.releaseFromQuarantine(isMeant).catch(() => []);
  for (const { id } of released) log.info('the management server was unreachable: the version is tried again', { id });
  return released.length > 0;
}

/** Replaces the gate script with this agent's, once the agent has passed the health check. */
async function renewGate({ device, selfId, log }: UpdatesParts, store: ProgramStore): Promise<void> {
  const { files } = device;
  if (selfId === null || (await store.trial())) return;
  if ((await files.stat(gatePath)) === undefined || (await textOf(files, gatePath)) === gateText) return;
  await replaceFile(files, gatePath, new TextEncoder().encode(gateText), { mode: 0o755 }).catch((error: unknown) =>
    log.warn('the gate was not renewed', { error }),
  );
}

/** Keeps the systemd unit at the version of the agent. A version on trial brought its own unit. */
async function followUnit(
  { selfId, clock }: UpdatesParts,
  store: ProgramStore,
  finishedTrials: Cell<number>,
  signal: AbortSignal,
): Promise<void> {
  if (selfId === null) return;
  while (!signal.aborted) {
    const isDone = await store.renewUnit().catch(() => false);
    await changedOr(finishedTrials, isDone ? Infinity : unitRetryMs, clock, signal);
  }
}

/** Plans again when the server's status changes: it decides whether a restart is allowed. */
async function followServer(actual: Cell<Actual>, { goal }: ManagedProgram, signal: AbortSignal): Promise<void> {
  let last = '';
  while (!signal.aborted) {
    const { running, at, isRestartAllowed, hasMaintenance, maintenanceDenial } = actual.get().server;
    const now = JSON.stringify([running, at, isRestartAllowed, hasMaintenance, maintenanceDenial !== '']);
    if (now !== last && last !== '') goal.set({ ...goal.get() });
    last = now;
    await actual.changed(signal);
  }
}
