/** The stories on a real one-node Slurm of Debian's packages. */
import { startSlurm } from './slurm-cluster.ts';
import { slurmStories } from './slurm-stories.ts';

slurmStories(startSlurm);
