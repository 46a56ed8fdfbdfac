import type { ConnectRouter } from '@connectrpc/connect';
import { followedLogs } from '../followed-logs.ts';
import { dataRoutes } from './data.ts';
import { datasetRoutes } from './dataset.ts';
import { dataSyncRoutes } from './datasync.ts';
import { mlTrainingRoutes } from './mltraining.ts';
import { packageRoutes } from './packages.ts';
import type { Deps } from './routes.ts';
import { runnerRoutes } from './runner.ts';

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
