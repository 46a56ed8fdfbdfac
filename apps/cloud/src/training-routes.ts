import type { ConnectRouter } from '@connectrpc/connect';
import { followedLogs } from './training/followed-logs.ts';
import { dataRoutes } from './data/data-service.ts';
import { datasetRoutes } from './data/dataset-service.ts';
import { dataSyncRoutes } from './data/data-sync-service.ts';
import { mlTrainingRoutes } from './training/training-service.ts';
import { packageRoutes } from './registry/package-service.ts';
import type { Deps } from './rpc-routes.ts';
import { runnerRoutes } from './training/runner-service.ts';

/** Captured data, datasets, training, registry and the runners' queue. */
export const trainingRoutes =
  (deps: Deps) =>
  (router: ConnectRouter): void => {
    const jobLogs = followedLogs(deps);
    deps.stop.addEventListener('abort', jobLogs.close, { once: true });
    datasetRoutes(deps)(router);
    dataRoutes(deps)(router);
    dataSyncRoutes(deps)(router);
    mlTrainingRoutes({ ...deps, jobLogs })(router);
    packageRoutes(deps)(router);
    runnerRoutes({ ...deps, jobLogs })(router);
  };
