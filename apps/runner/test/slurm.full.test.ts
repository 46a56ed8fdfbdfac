/** The stories on a real one-node Slurm of Debian's packages. */
import { startSlurm } from '../../../e2e/lab/slurm/process.ts';
import { slurmStories } from './slurm-stories.ts';

slurmStories(startSlurm);
