// Which files of the operating system change. Pure.

/** A file that the configuration may ask for. */
export interface FileGoal {
  file: string;
  /** Undefined: the state before this agent. */
  text: string | undefined;
}

export interface FileSeen {
  file: string;
  /** Undefined: it does not exist. */
  text: string | undefined;
  /** This agent wrote it and has not restored it. */
  isManaged: boolean;
}

export type FileStep = { do: 'write'; file: string; text: string } | { do: 'restore'; file: string };

/** Writes differing files, restores files that are no longer asked for; other files are never touched. */
export const planFiles = (goals: readonly FileGoal[], seen: readonly FileSeen[]): readonly FileStep[] =>
  goals.flatMap(({ file, text }): FileStep[] => {
    const now = seen.find((one) => one.file === file);
    if (text === undefined) return now?.isManaged === true ? [{ do: 'restore', file }] : [];
    return now?.text === text && now.isManaged ? [] : [{ do: 'write', file, text }];
  });
