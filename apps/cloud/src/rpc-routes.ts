import type { ConnectRouter } from '@connectrpc/connect';
import type { Clock, Log } from '@platform/kit';
import type { SigningKey } from '@platform/releases/keys';
import type { AgentAnswers } from './device-api/agent-answers.ts';
import type { Authenticator } from './access/authenticate.ts';
import type { FailedSignIns } from './access/failed-sign-ins.ts';
import type { Secrets } from './access/secrets.ts';
import type { BlobStore } from './blobs/blob-store.ts';
import type { CallerBudgets } from './access/caller-budgets.ts';
import type { SteadyTime } from './process/steady-time.ts';
import type { LogWriter } from './logs/log-writer.ts';
import type { MachineConfigs } from './device-api/machine-configs.ts';
import type { OrganizationUsage } from './blobs/organization-usage.ts';
import type { Presence } from './machines/presence.ts';
import type { ReleaseBook } from './releases/release-book.ts';
import type { ReportedHosts } from './device-api/reported-hosts.ts';
import type { Seats } from './device-api/seats.ts';
import type { Changes } from './database/changes.ts';
import type { Database } from './database/database.ts';
import type { Authority } from './tls/authority.ts';
import type { Notifications } from './database/notifications.ts';
import type { CertificateProblem } from './tls/in-use.ts';
import { agentRoutes } from './device-api/agent-service.ts';
import { appRoutes } from './app-service.ts';
import { auditRoutes } from './organizations/audit-service.ts';
import { authRoutes } from './organizations/auth-service.ts';
import type { Addresses } from './wire/base-url.ts';
import { fleetRoutes } from './fleet/fleet-service.ts';
import { releaseRoutes } from './releases/release-service.ts';
import { robotRoutes } from './device-api/robot-service.ts';
import { sessionRoutes } from './organizations/session-service.ts';
import { trainingRoutes } from './training-routes.ts';

/** What the RPC files may need; each takes the few things it names. */
export type Deps = {
  db: Database;
  /** Does the database answer within this time? */
  isAnswering: (limitMs: number) => Promise<boolean>;
  blobs: BlobStore;
  notifications: Notifications;
  changes: Changes;
  clock: Clock;
  steady: SteadyTime;
  log: Log;
  /** Ends held calls and streams when the server stops. */
  stop: AbortSignal;
  secrets: Secrets;
  /** Signs snapshot and timestamp of the releases. */
  releaseKey: SigningKey;
  authenticator: Authenticator;
  failedSignIns: FailedSignIns;
  presence: Presence;
  answers: AgentAnswers;
  configs: MachineConfigs;
  releases: ReleaseBook;
  hosts: ReportedHosts;
  logs: LogWriter;
  budgets: CallerBudgets;
  usage: OrganizationUsage;
  /** Held checks of agents and of machine servers, by part. */
  waiting: { agents: Seats; servers: Seats };
  addresses: Addresses;
  /** Of the certificate in use. */
  authority: () => Authority;
  /** Of the certificate in use. */
  certificate: () => { problems: readonly CertificateProblem[]; isStrictTransport: boolean };
  version: string;
};

/** Every RPC that this server offers. */
export const routes =
  (deps: Deps) =>
  (router: ConnectRouter): void => {
    authRoutes(deps)(router);
    sessionRoutes(deps)(router);
    auditRoutes(deps)(router);
    appRoutes(deps)(router);
    fleetRoutes(deps)(router);
    robotRoutes(deps)(router);
    agentRoutes(deps)(router);
    releaseRoutes(deps)(router);
    trainingRoutes(deps)(router);
  };
