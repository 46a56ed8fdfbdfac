import { readKeptExit } from '../supervisor/exit-file.ts';
import { previousRunOf } from '../os/linux/systemd/journal.ts';
import type { Disk } from '../os/ports.ts';
import { unitExitReason } from '../state/exit-reason.ts';
import { noPreviousRun, type PreviousRun } from '../health/previous-run.ts';
import { agentUnit } from '../install/unit.ts';

/** How the previous agent ended, from the journal of systemd. @param env - environment of this agent */
export async function previousRunInJournal(env: NodeJS.ProcessEnv): Promise<PreviousRun> {
  const run = await previousRunOf(agentUnit, env);
  if (!run) return noPreviousRun;
  const { exit, ...rest } = run;
  return { reason: unitExitReason(exit), ...rest };
}

/** How the last agent of this folder ended, for a command: from its supervisor's record, else from the journal. */
export async function lastRunHere(disk: Disk): Promise<PreviousRun> {
  const kept = await readKeptExit(disk);
  return kept.reason === undefined ? previousRunInJournal({ INVOCATION_ID: '' }) : kept;
}
