import type { ConnectRouter } from '@connectrpc/connect';
import { appRoutes } from './app-service.ts';
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
import { trainingRoutes } from './training-routes.ts';

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
