export type RestoreResult =
  | 'restored'
  /** This agent never wrote the file, or has restored it before. */
  | 'not-managed'
  /** A user or another program changed the file after this agent wrote it; it stays. */
  | 'foreign';

/** A file of the operating system that this agent wrote; not restored: a user or another program changed it since. */
export interface RestoredFile {
  file: string;
  isRestored: boolean;
}

/**
 * Files of the operating system outside the agent's folder. The state before the first change is recorded durably
 * before the file is written, so that the configuration, `disable_*` and uninstalling can restore it.
 */
export interface ManagedFiles {
  /**
   * Makes `text` the content of `file` (an absolute path); creates folders. A file that was changed after this agent
   * wrote it is kept as `<file>.save`.
   *
   * @returns whether the content has changed
   */
  write(file: string, text: string): Promise<boolean>;
  /**
   * Restores the state before the first change. With the result `foreign`, that state is kept as `<file>.save`.
   *
   * @param isReported - `reported` names the outcome from now on, also after a restart
   */
  restore(file: string, options?: { isReported?: boolean }): Promise<RestoreResult>;
  /** The files that this agent has written and not restored, oldest first. */
  written(): Promise<readonly string[]>;
}

/** Managed files whose outcomes the status names. */
export interface ReportedFiles extends ManagedFiles {
  /** The outcomes to report, oldest first. */
  reported(): Promise<readonly RestoredFile[]>;
  /** Reports the outcome of these files no longer. */
  forgetReported(files: readonly string[]): Promise<void>;
}
