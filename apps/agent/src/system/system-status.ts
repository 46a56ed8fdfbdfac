/** An upgrade of a package. */
export interface PackageUpgrade {
  name: string;
  from: string;
  to: string;
  isSecurity: boolean;
}

export interface UpgradeRun {
  startedWall: number;
  /** Undefined: it runs, or was interrupted. */
  endedWall: number | undefined;
  command: string;
  packages: readonly PackageUpgrade[];
  /** Empty: it succeeded. */
  problem: string;
}

/** The operating system, most of it about its packages. */
export interface SystemStatus {
  /** False: only `why` is known. */
  hasApt: boolean;
  waiting: readonly PackageUpgrade[];
  lastRun: UpgradeRun | undefined;
  /** Undefined: no reboot is needed. */
  reboot: { sinceWall: number; causes: readonly string[] } | undefined;
  /** What the reboot waits for, as a clause; empty: it is not needed. */
  rebootWait: string;
  /** What the package manager does for this agent; empty: nothing. */
  task: string;
  /** Why the agent does not manage the system, and what it restored and left, as clauses; empty: it manages it. */
  why: string;
}
