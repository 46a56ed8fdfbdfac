import type { ConnectRouter } from '@connectrpc/connect';
import { conditionRoutes } from './conditions/condition-service.ts';
import { agentRoutes } from './device-api/agent-service.ts';
import { robotRoutes } from './device-api/robot-service.ts';
import { bulkRoutes } from './fleet/bulk-service.ts';
import { fleetRoutes } from './fleet/fleet-service.ts';
import { timelineRoutes } from './fleet/timeline-service.ts';
import { installationRoutes } from './health/installation-service.ts';
import { liveRoutes } from './live/live-service.ts';
import { logRoutes } from './logs/log-service.ts';
import { auditRoutes } from './organizations/audit-service.ts';
import { authRoutes } from './organizations/auth-service.ts';
import { sessionRoutes } from './organizations/session-service.ts';
import { releaseRoutes } from './releases/release-service.ts';
import { dataRoutes } from './data/data-service.ts';
import { dataSyncRoutes } from './data/data-sync-service.ts';
import { datasetRoutes } from './data/dataset-service.ts';
import { packageRoutes } from './registry/package-service.ts';
import { followedLogs } from './training/followed-logs.ts';
import { runnerRoutes } from './training/runner-service.ts';
import { suggestionRoutes } from './training/suggestion-service.ts';
import { mlTrainingRoutes } from './training/training-service.ts';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { machineCalls } from './fleet/machine-calls.ts';
import { fragmentCalls } from './fragments/fragment-calls.ts';
import { logCalls } from './logs/log-calls.ts';
import { keyCalls } from './organizations/key-calls.ts';
import { organizationCalls } from './organizations/organization-calls.ts';
import { permissionCalls } from './organizations/permission-calls.ts';
import { registryCalls } from './registry/registry-calls.ts';

/** Dependencies of all calls. */
export type RpcDeps = Parameters<typeof authRoutes>[0] &
  Parameters<typeof sessionRoutes>[0] &
  Parameters<typeof auditRoutes>[0] &
  Parameters<typeof installationRoutes>[0] &
  Parameters<typeof appRoutes>[0] &
  Parameters<typeof fleetRoutes>[0] &
  Parameters<typeof conditionRoutes>[0] &
  Parameters<typeof liveRoutes>[0] &
  Parameters<typeof logRoutes>[0] &
  Parameters<typeof robotRoutes>[0] &
  Parameters<typeof agentRoutes>[0] &
  Parameters<typeof releaseRoutes>[0] &
  Parameters<typeof trainingRoutes>[0];

export const routes =
  (deps: RpcDeps) =>
  (router: ConnectRouter): void => {
    authRoutes(deps)(router);
    sessionRoutes(deps)(router);
    auditRoutes(deps)(router);
    installationRoutes(deps)(router);
    appRoutes(deps)(router);
    fleetRoutes(deps)(router);
    bulkRoutes(deps)(router);
    timelineRoutes(deps)(router);
    conditionRoutes(deps)(router);
    liveRoutes(deps)(router);
    logRoutes(deps)(router);
    robotRoutes(deps)(router);
    agentRoutes(deps)(router);
    releaseRoutes(deps)(router);
    trainingRoutes(deps)(router);
  };

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

type AppDeps = Parameters<typeof organizationCalls>[0] &
  Parameters<typeof permissionCalls>[0] &
  Parameters<typeof machineCalls>[0] &
  Parameters<typeof keyCalls>[0] &
  Parameters<typeof logCalls>[0] &
  Parameters<typeof registryCalls>[0] &
  Parameters<typeof fragmentCalls>[0];

/** Calls that are missing here return UNIMPLEMENTED. */
const appRoutes =
  (deps: AppDeps) =>
  (router: ConnectRouter): void => {
    router.service(AppService, {
      ...organizationCalls(deps),
      ...permissionCalls(deps),
      ...machineCalls(deps),
      ...keyCalls(deps),
      ...logCalls(deps),
      ...registryCalls(deps),
      ...fragmentCalls(deps),
    });
  };
