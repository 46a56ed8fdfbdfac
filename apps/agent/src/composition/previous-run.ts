import { readKeptExit } from '../supervisor/exit-file.ts';
import { previousRunOf } from '../os/linux/journal.ts';
import type { Disk } from '../os/ports.ts';
import { unitExitReason } from '../state/exit-reason.ts';
import { noPreviousRun, type PreviousRun } from '../health/last-run.ts';
import { agentUnit } from '../install/unit.ts';

/** How the agent before ended, by the journal of systemd. @param env - of this agent */
export async function previousRunInJournal(env: NodeJS.ProcessEnv): Promise<PreviousRun> {
  const run = await previousRunOf(agentUnit, env);
  if (!run) return noPreviousRun;
  const { exit, ...rest } = run;
  return { reason: unitExitReason(exit), ...rest };
}

/** How the agent ended that ran here last, for a command: by its supervisor's note, else by the journal. */
export async function lastRunHere(disk: Disk): Promise<PreviousRun> {
  const kept = await readKeptExit(disk);
  return kept.reason === undefined ? previousRunInJournal({ INVOCATION_ID: '' }) : kept;
}
