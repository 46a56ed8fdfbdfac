import type { Cell } from '@platform/kit';
import type { ReportedFiles } from '../os/managed-files.ts';
import type { PackageTasks } from '../os/package-tasks.ts';
import type { Programs } from '../os/ports.ts';
import type { Context } from '../health/context.ts';

/** What the system configuration uses of its machine. */
export interface SystemParts extends Pick<Context, 'disk' | 'conditions' | 'clock' | 'log'> {
  managedFiles: ReportedFiles;
  programs: Programs;
  packages: PackageTasks;
  /** Runs one task of a package manager after the other. */
  inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** The task that runs now, for users; empty: none. */
  task: Cell<string>;
  /** Goes before every path of the operating system; empty: this system itself. */
  prefix: string;
}
