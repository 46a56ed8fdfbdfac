/** How a task of a package manager ended or runs. */
export type PackageTask =
  | { is: 'none' }
  | { is: 'running'; name: string }
  | { is: 'ended'; name: string; code: number };

/** Runs one task of a package manager at a time, in a process that outlives this agent. */
export interface PackageTasks {
  /** @throws Error if it cannot be started */
  start(name: string, script: string): Promise<void>;
  /** The task of this agent or of an earlier one. */
  look(): Promise<PackageTask>;
  /** Last lines of its output, oldest first. */
  lastLines(): Promise<readonly string[]>;
  /** Forgets a task that has ended. */
  clear(): Promise<void>;
}
