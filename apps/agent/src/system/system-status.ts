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

/** The packages of the operating system. */
export interface SystemStatus {
  waiting: readonly PackageUpgrade[];
  lastRun: UpgradeRun | undefined;
  /** Undefined: no reboot is needed. */
  reboot: { sinceWall: number; causes: readonly string[] } | undefined;
  /** What the reboot waits for, as a clause; empty: it is not needed. */
  rebootWait: string;
  /** What the package manager does for this agent; empty: nothing. */
  task: string;
}
