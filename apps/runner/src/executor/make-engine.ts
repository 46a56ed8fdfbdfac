import { Usage } from '@platform/kit/node';
import type { Clock } from '@platform/kit';
import type { WorkOptions } from '../options.ts';
import { attemptFlags, attemptLine, type EngineOptions } from '../engine-options.ts';
import type { Engine } from './engine.ts';
import { kubernetesPlace, podPatch } from './kubernetes/in-cluster.ts';
import { kubernetesEngine } from './kubernetes/kubernetes.ts';
import { slurmEngine } from './slurm/slurm.ts';
import { tokenCommand, tokenFile } from './slurm/tokens.ts';

/** Memory beside the trainer: Node, the image decoder and the cache. */
const extraMemoryMib = 512;
/** Time beside the training: download, upload and reports. */
const extraSeconds = 15 * 60;

/** Time to report the final status after the trainer has ended. */
const graceOfAttemptSeconds = 20;

/** @throws Usage */
export async function makeEngine(
  given: EngineOptions,
  work: Pick<WorkOptions, 'graceMs' | 'scripts' | 'trainerSandbox' | 'trainerNice'>,
  env: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): Promise<Engine> {
  const { graceMs } = work;
  const flags = attemptFlags(given, work);
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
        command: attemptLine(given, flags),
        environment: { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8' },
        clock,
      });
    case 'kubernetes':
      return kubernetesEngine({
        ...(await kubernetesPlace(given, env)),
        image: given.kubernetesImage ?? '',
        flags,
        pod: podPatch(given.kubernetesPod),
        cpus: given.engineCpus,
        extraMemoryMib,
        extraSeconds,
        graceSeconds: Math.ceil(graceMs / 1000) + graceOfAttemptSeconds,
        clock,
      });
    case 'local':
      throw new Usage(`There is no engine ${given.executor}.`, 2);
  }
}
