import type { Cell, Clock, Log } from '@platform/kit';
import type { ConditionSet } from '../health/condition-set.ts';
import type { ReportedFiles } from '../os/managed-files.ts';
import type { PackageTasks } from '../os/package-tasks.ts';
import type { Disk, Programs } from '../os/ports.ts';

/** What the system configuration uses of its machine. */
export interface SystemParts {
  managedFiles: ReportedFiles;
  programs: Programs;
  packages: PackageTasks;
  /** Runs one task of a package manager after the other. */
  inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** The task that runs now, for users; empty: none. */
  task: Cell<string>;
  disk: Disk;
  /** Goes before every path of the operating system; empty: this system itself. */
  prefix: string;
  conditions: ConditionSet;
  clock: Clock;
  log: Log;
}

/** Starts each operation after the one before it has ended, also by an error. */
export function oneAfterTheOther(): SystemParts['inTurn'] {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = last.then(work, work);
    last = next.catch(() => undefined);
    return next;
  };
}
