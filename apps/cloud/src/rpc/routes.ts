import type { ConnectRouter } from '@connectrpc/connect';
import type { Clock, Log } from '@platform/kit';
import type { SigningKey } from '@platform/releases/keys';
import type { AgentAnswers } from '../agent-answers.ts';
import type { Authenticator } from '../auth/authenticate.ts';
import type { FailedSignIns } from '../auth/failed-sign-ins.ts';
import type { Secrets } from '../auth/secrets.ts';
import type { BlobStore } from '../blobs/store.ts';
import type { CallerBudgets } from '../caller-budgets.ts';
import type { SteadyTime } from '../steady-time.ts';
import type { LogWriter } from '../log-writer.ts';
import type { MachineConfigs } from '../machine-configs.ts';
import type { OrganizationUsage } from '../organization-usage.ts';
import type { Presence } from '../presence.ts';
import type { ReleaseBook } from '../release-book.ts';
import type { ReportedHosts } from '../reported-hosts.ts';
import type { Seats } from '../seats.ts';
import type { Changes } from '../store/changes.ts';
import type { Database } from '../store/database.ts';
import type { Authority } from '../tls/authority.ts';
import type { Notifications } from '../store/notifications.ts';
import type { CertificateProblem } from '../tls/in-use.ts';
import { agentRoutes } from './agent.ts';
import { appRoutes } from './app.ts';
import { auditRoutes } from './audit.ts';
import { authRoutes } from './auth.ts';
import type { Addresses } from './base-url.ts';
import { fleetRoutes } from './fleet.ts';
import { releaseRoutes } from './release.ts';
import { robotRoutes } from './robot.ts';
import { sessionRoutes } from './session.ts';
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
