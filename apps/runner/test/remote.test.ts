/** The stories of the dispatcher on the simulated Slurm: the attempts are real processes, the queue real HTTP. */
import { SimulatedSlurm } from './simulated-slurm.ts';
import { slurmStories } from './slurm-stories.ts';

slurmStories(() => SimulatedSlurm.start());
