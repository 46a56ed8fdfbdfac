import type { ConnectRouter } from '@connectrpc/connect';
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
    datasetRoutes(deps)(router);
    dataRoutes(deps)(router);
    dataSyncRoutes(deps)(router);
    mlTrainingRoutes(deps)(router);
    packageRoutes(deps)(router);
    runnerRoutes(deps)(router);
  };
