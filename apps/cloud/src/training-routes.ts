import type { ConnectRouter } from '@connectrpc/connect';
import { dataRoutes } from './data/data-service.ts';
import { dataSyncRoutes } from './data/data-sync-service.ts';
import { datasetRoutes } from './data/dataset-service.ts';
import { packageRoutes } from './registry/package-service.ts';
import { followedLogs } from './training/followed-logs.ts';
import { runnerRoutes } from './training/runner-service.ts';
import { suggestionRoutes } from './training/suggestion-service.ts';
import { mlTrainingRoutes } from './training/training-service.ts';

type TrainingDeps = Parameters<typeof datasetRoutes>[0] &
  Parameters<typeof dataRoutes>[0] &
  Parameters<typeof dataSyncRoutes>[0] &
  Parameters<typeof packageRoutes>[0] &
  Parameters<typeof followedLogs>[0] &
  Omit<Parameters<typeof mlTrainingRoutes>[0] & Parameters<typeof runnerRoutes>[0], 'jobLogs'>;

/** Calls on captured data, datasets, training, registry and the runners' queue. */
export const trainingRoutes =
  (deps: TrainingDeps) =>
  (router: ConnectRouter): void => {
    const jobLogs = followedLogs(deps);
    deps.stop.addEventListener('abort', jobLogs.close, { once: true });
    datasetRoutes(deps)(router);
    dataRoutes(deps)(router);
    dataSyncRoutes(deps)(router);
    mlTrainingRoutes({ ...deps, jobLogs })(router);
    suggestionRoutes(deps)(router);
    packageRoutes(deps)(router);
    runnerRoutes({ ...deps, jobLogs })(router);
  };
