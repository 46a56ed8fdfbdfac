import type { Database } from '../database/database.ts';
import {
  removeEndedConditions,
  removeEndedMutes,
  trimEndedConditions,
  trimMachineConditions,
} from './store/condition-records.ts';
import { removeWatched } from '../machines/store/absences.ts';
import { removeFleetSamples } from './store/fleet-samples.ts';

/** Retention of conditions and mutes after their end, and the most conditions of an organization and of a machine. */
const keptDays = 90;
const mostConditions = 100_000;
/** One machine that changes all the time does not push out what happened to the others. */
const mostOfMachine = 1_000;
const rowsPerStep = 1_000;
const dayMs = 24 * 3_600_000;

/**
 * What is deleted in the background. `remove` deletes some and returns their number; `now` is in ms since 1970.
 *
 * @param sampleDays - retention of numbers over time.
 */
export const conditionSweeps = (db: Database, sampleDays: number) =>
  [
    {
      name: 'numbers of machines over time',
      remove: (now: number) => removeFleetSamples(db, now - sampleDays * dayMs, rowsPerStep),
    },
    {
      name: 'ended conditions',
      remove: (now: number) => removeEndedConditions(db, now - keptDays * dayMs, rowsPerStep),
    },
    {
      name: 'times in which the server listened',
      remove: (now: number) => removeWatched(db, now - keptDays * dayMs, rowsPerStep),
    },
    { name: 'ended mutes', remove: (now: number) => removeEndedMutes(db, now - keptDays * dayMs, rowsPerStep) },
    {
      name: 'ended conditions above the limit of a machine',
      remove: () => trimMachineConditions(db, mostOfMachine, rowsPerStep),
    },
    {
      name: 'ended conditions above the limit of an organization',
      remove: () => trimEndedConditions(db, mostConditions, rowsPerStep),
    },
  ] as const;
