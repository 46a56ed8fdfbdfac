import type { TrainingJobMetadata } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { jobView } from '../../../entities/training-job/training-jobs.ts';

/** "accuracy 91.5 %" by the ID of the job. */
export const readScores = (jobs: readonly TrainingJobMetadata[]): ReadonlyMap<string, string> =>
  new Map(
    jobs.flatMap((job) => {
      const { id, score } = jobView(job);
      return score ? [[id, `${score.name} ${score.value}`] as const] : [];
    }),
  );
