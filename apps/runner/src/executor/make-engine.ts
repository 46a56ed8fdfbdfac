import { Usage } from '@platform/kit/node';
import type { Clock } from '@platform/kit';
import { attemptLine, type EngineOptions } from './engine-options.ts';
import type { Engine } from './engine.ts';
import { slurmEngine } from './slurm/slurm.ts';
import { tokenCommand, tokenFile } from './slurm/tokens.ts';

/** Node, the reader of pictures and the cache beside the trainer itself. */
const extraMemoryMib = 512;
/** Download, upload, and the words in between. */
const extraSeconds = 15 * 60;

/** @throws Usage */
export async function makeEngine(given: EngineOptions, clock: Clock): Promise<Engine> {
  switch (given.executor) {
    case 'slurm':
      return slurmEngine({
        url: given.slurmUrl,
        user: given.slurmUser,
        tokens:
          given.slurmTokenFile === undefined ? tokenCommand(given.slurmUser, clock) : tokenFile(given.slurmTokenFile),
        partition: given.slurmPartition,
        account: given.slurmAccount,
        qos: given.slurmQos,
        constraints: given.slurmConstraints,
        cpus: given.engineCpus,
        extraMemoryMib,
        extraSeconds,
        output: given.slurmOutput,
        command: attemptLine(given),
        environment: { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8' },
        clock,
      });
    case 'kubernetes':
    case 'local':
      throw new Usage(`There is no engine ${given.executor}.`, 2);
  }
}
