import path from 'node:path';
import { Cell, oneAtATime, setIfDifferent } from '@platform/kit';
import { packageUnitTasks } from '../os/linux/apt/package-unit.ts';
import { applyJournald } from '../system/journald.ts';
import { keepSettings, type KeptSettings, type SystemApplied } from '../system/keep.ts';
import { systemGoalOf, type SystemGoal } from '../system/system-goal.ts';
import type { SystemParts } from '../system/system-parts.ts';
import { upgradeOnRequest } from '../system/upgrade-now.ts';
import { reportRelease } from '../system/report-release.ts';
import { applyUpgrades } from '../system/upgrades.ts';
import { watchUpgrades } from '../system/watch-upgrades.ts';
import { contentOf, isSameConfig, noContent } from '../state/state.ts';
import type { AlwaysOn } from './always-on.ts';
import { eachChange } from './sync-loops.ts';
import { system } from './system.ts';

/** Keeps the operating system as `system_configuration` asks, until the signal. */
export async function manageSystem(of: AlwaysOn, signal: AbortSignal): Promise<void> {
  const parts: SystemParts = {
    managedFiles: of.managedFiles,
    programs: system,
    packages: packageUnitTasks(system, path.join(of.root, 'log', 'packages.log')),
    disk: of.device.disk,
    inTurn: oneAtATime(),
    task: new Cell(''),
    prefix: '',
    conditions: of.conditions,
    clock: of.clock,
    log: of.log.child('system'),
  };
  await keepSystem(of, parts, signal);
}

/** @param parts - the machine, apart from the rest of the agent: tests give a simulated one. */
export async function keepSystem(
  { wanted, system: applied, systemStatus }: Pick<AlwaysOn, 'wanted' | 'system' | 'systemStatus'>,
  parts: SystemParts,
  signal: AbortSignal,
): Promise<void> {
  const goal = new Cell<SystemGoal>(systemGoalOf(wanted.get()));
  const update = (): void => {
    const next = systemGoalOf(wanted.get());
    setIfDifferent(goal, next);
  };
  const nothing: SystemApplied = { ...noContent, failure: undefined };
  const journald: KeptSettings = {
    name: 'journald',
    goal,
    applied: new Cell(nothing),
    apply: (next) => applyJournald(next, parts),
  };
  const upgrades: KeptSettings = {
    name: 'upgrades',
    goal,
    applied: new Cell(nothing),
    apply: (next, over) => applyUpgrades(next, parts, over),
  };
  const kept = [journald, upgrades];
  const upgradesDone = new Cell<number | undefined>(undefined);
  const collect = (): void => {
    const all = kept.map((part) => part.applied.get());
    const [first = nothing] = all;
    const content = all.every((one) => isSameConfig(one, first)) ? contentOf(first) : noContent;
    const failure = all.find((one) => one.failure)?.failure;
    applied.set({ ...content, failure, upgradesDone: upgradesDone.get() });
  };
  const stop = new AbortController();
  const until = AbortSignal.any([signal, stop.signal]);
  const loops = [
    eachChange(wanted, update, until),
    ...kept.map((group) => keepSettings(group, parts, until)),
    ...kept.map((part) => eachChange(part.applied, collect, until)),
    eachChange(upgradesDone, collect, until),
    upgradeOnRequest(wanted, parts, until, upgradesDone),
    watchUpgrades(systemStatus, parts, until),
    reportRelease({ goal, applied: kept.map((part) => part.applied), status: systemStatus }, parts, until),
  ];
  try {
    await Promise.all(loops);
  } finally {
    stop.abort(); // one loop failed: the others end before they are started again
    await Promise.allSettled(loops);
  }
}
