import { Cell, setIfDifferent, type Log } from '@platform/kit';
import type { Goal } from './plans/update-plan.ts';
import { customVersion } from '../state/version-names.ts';
import type { Disk } from '../os/ports.ts';
import { contentOf, noContent, type Wanted } from '../state/state.ts';
import { readChecked, writeChecked } from '../storage/checked-file.ts';
import { pinsFile, type Program } from './layout.ts';

/** What an operator chose on this machine, in place of the desired version of the management server. */
export interface Pin {
  /** Id of an installed version, or empty. */
  id: string;
  /** The URL if `id` is empty. */
  url: string;
  sha256: string;
  /** As the operator wrote it. */
  desired: string;
}

export type Pins = Partial<Record<Program, Pin>>;

export async function readPins(disk: Disk, log: Log): Promise<Pins> {
  const { value, problem } = await readChecked(disk, pinsFile, (json) => {
    const pins = json as Pins;
    for (const pin of Object.values(pins)) {
      if ([pin.id, pin.url, pin.sha256, pin.desired].some((text) => typeof text !== 'string'))
        throw new Error('no pin');
    }
    return pins;
  });
  if (problem !== undefined) log.warn('the pins of this machine are damaged', { problem });
  return value ?? {};
}

export const writePins = (disk: Disk, pins: Pins): Promise<void> => writeChecked(disk, pinsFile, pins);

function goalOf(program: Program, wanted: Wanted, pin: Pin | undefined, isUrgent: boolean): Goal {
  const release = wanted[program];
  const common = {
    ...contentOf(wanted),
    clearance: wanted.clearance,
    isUrgent,
    pin: pin?.desired ?? '',
    isFresh: wanted.isFresh,
    ...(program === 'server' && wanted.settings.isServerDisabled && { isDisabled: true }),
  };
  if (!pin) return { ...common, want: release && { is: 'release', release } };
  if (pin.id !== '') return { ...common, want: { is: 'installed', id: pin.id } };
  const own = { url: pin.url, sha256: pin.sha256, version: customVersion, desired: pin.desired };
  return {
    ...common,
    want: { is: 'release', release: { ...own, sizeBytes: 0, target: '', isUnsigned: true, deltas: [] } },
  };
}

export const noGoal: Goal = { ...noContent, want: undefined, pin: '', isUrgent: false, clearance: 0, isFresh: false };

/** Keeps `goal` at the desired state of one program; sets it only on a change. */
export async function followGoal(
  program: Program,
  { wanted, pins, urgent, goal }: GoalCells,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    setGoal(program, { wanted, pins, urgent, goal });
    const turn = new AbortController();
    const over = AbortSignal.any([turn.signal, signal]);
    await Promise.race([wanted.changed(over), pins.changed(over), urgent.changed(over)]);
    turn.abort();
  }
}

export interface GoalCells {
  wanted: Cell<Wanted>;
  pins: Cell<Pins>;
  /** Ids of the versions that an operator waits for. */
  urgent: Cell<Partial<Record<Program, string>>>;
  goal: Cell<Goal>;
}

export function setGoal(program: Program, { wanted, pins, urgent, goal }: GoalCells): void {
  const pin = pins.get()[program];
  const next = goalOf(program, wanted.get(), pin, pin !== undefined && urgent.get()[program] === pin.id);
  setIfDifferent(goal, next);
}
