import type { Clock, Log } from '@platform/kit';
import { type Authenticator, authenticator } from './access/authenticate.ts';
import { callerBudgets } from './access/caller-budgets.ts';
import { failedSignIns } from './access/failed-sign-ins.ts';
import { type Identities, identities } from './access/identities.ts';
import type { Secrets } from './access/secrets.ts';
import { type Tokens, tokens } from './access/tokens.ts';
import { scheduleBackups } from './backup/scheduled.ts';
import { watchConditions } from './conditions/watch.ts';
import { organizationUsage } from './blobs/organization-usage.ts';
import { makeExports } from './data/sequence-exports.ts';
import { type Changes, followChanges } from './database/changes.ts';
import type { Database } from './database/database.ts';
import { findRevisionsOf } from './configs/store/configs.ts';
import { batchLoader } from './database/batch-loader.ts';
import { agentAnswers } from './device-api/agent-answers.ts';
import { machineConfigs } from './device-api/machine-configs.ts';
import { personalAnswers } from './device-api/personal-answers.ts';
import { reportedHosts } from './device-api/reported-hosts.ts';
import { concurrencyLimiter, slotsPerMachine } from './device-api/concurrency-limiter.ts';
import { readPartSources } from './device-api/store/part-sources.ts';
import type { HealthDeps } from './health/installation-service.ts';
import { readiness } from './health/readiness.ts';
import type { HttpDeps } from './http-routes.ts';
import { startImages } from './images/images.ts';
import { liveRequests } from './live/live-requests.ts';
import { logWriter } from './logs/log-writer.ts';
import { UnknownCodes } from './fleet/unknown-codes.ts';
import { partRuns } from './machines/part-runs.ts';
import { presence } from './machines/presence.ts';
import type { Metrics } from './metrics/metrics.ts';
import type { CloudOptions } from './options.ts';
import { steadyTime } from './process/steady-time.ts';
import { latestVersion } from './registry/store/registry.ts';
import { InstallScripts } from './releases/install-script.ts';
import { releaseCache } from './releases/release-cache.ts';
import { keepFresh } from './releases/tuf-repository.ts';
import { startRetention } from './retention/start.ts';
import type { RpcDeps } from './rpc-routes.ts';
import type { DataFolder, ServerDatabase } from './server-storage.ts';
import { certificateProblems, type IdentityInUse, isStrictTransport } from './tls/in-use.ts';
import { findAttempt, findScriptKey } from './training/store/attempts.ts';
import { reapJobs } from './training/store/job-reaper.ts';
import { version } from './version.ts';
import type { Addresses } from './wire/base-url.ts';

/** How the background work of a server ends. */
export type Stopping = {
  signal: AbortSignal;
  /** When the server stops, it aborts the signal and awaits `end` before it closes what was opened earlier. */
  defer(end: () => Promise<unknown>): void;
};

export type Services = {
  /** Dependencies of all calls and routes. */
  deps: RpcDeps & HttpDeps;
  signIn: { authenticator: Authenticator; identities: Identities; tokens: Tokens };
};

/** Starts the background work, and connects everything that calls and routes use. */
export function startServices(
  options: CloudOptions,
  of: { data: DataFolder; database: ServerDatabase; identity: IdentityInUse; addresses: Addresses },
  { clock, log, metrics }: { clock: Clock; log: Log; metrics: Metrics },
  stopping: Stopping,
): Services {
  const { database, data } = of;
  const { db } = database;
  const stop = stopping.signal;
  const { done, ...machines } = machineState(options, { ...database, secrets: data.secrets, clock, log, stop });
  const steady = steadyTime(clock);
  const work = Promise.all([
    done,
    reapJobs({ db, clock, steady, log: log.child('jobs') }, stop),
    keepFresh({ db, key: data.releaseKey, clock, log: log.child('releases') }, stop),
    startRetention({ db, blobs: data.blobs, clock, log: log.child('retention') }, options, stop),
  ]);
  stopping.defer(() => work);
  const health = measuredHealth(options, of, { clock, log }, stopping);
  const watched = { ...options, ...data, ...database, ...machines, ...health, clock, log };
  const conditions = startConditions(watched, stopping);
  const images = startImages({ ...data, db, clock, log: log.child('images') }, stop);
  stopping.defer(() => images.done);
  const failed = failedSignIns({ db, clock, log }, stop);
  stopping.defer(() => failed.done);
  const signIn = authentication(
    { ...database, changes: machines.changes, clock, onFailed: failed.note },
    data.secrets.signingKey,
  );
  const deps: Services['deps'] = {
    ...data,
    ...database,
    ...machines,
    authenticator: signIn.authenticator,
    failedSignIns: failed,
    images,
    conditions,
    clock,
    steady,
    log,
    stop,
    logs: metrics.logs(logWriter(db, clock)),
    metrics,
    installationId: data.secrets.installationId,
    budgets: callerBudgets(options, clock),
    usage: organizationUsage({ db, clock, stop }, Math.floor(options.orgLimitGib * 2 ** 30)),
    waiting: { agents: concurrencyLimiter(slotsPerMachine), servers: concurrencyLimiter(slotsPerMachine) },
    addresses: of.addresses,
    authority: () => of.identity.now().authority,
    ...health,
    certificateProblems: () => health.certificate().problems.map(({ text }) => text),
    unknownCodes: new UnknownCodes(),
    installScripts: new InstallScripts(database.unprovenDb, machines.changes),
    revisionOfContent: batchLoader((contents) => findRevisionsOf(db, contents)),
    version,
  };
  const exported = makeExports({ ...deps, log: log.child('exports') }, stop);
  stopping.defer(() => exported);
  return { deps, signIn };
}

/** Makes the scheduled backups, and measures what the pages and calls on health report. */
function measuredHealth(
  options: CloudOptions,
  { data, database, identity, addresses }: Parameters<typeof startServices>[1],
  { clock, log }: { clock: Clock; log: Log },
  stopping: Stopping,
): HealthDeps {
  const stop = stopping.signal;
  const backups = scheduleBackups(options, { ...data, ...database, clock, log: log.child('backup') }, stop);
  stopping.defer(() => backups.done);
  const certificate = () => certificateNow(identity, addresses, clock);
  const withBackups = () => withNotice(certificate(), backups.problem());
  const checked = readiness({ ...data, ...database, certificate: withBackups, clock, log, stop });
  stopping.defer(() => checked.done);
  return {
    backups,
    certificate,
    certificateEnds: () => identity.now().pair?.certificate.validUntil,
    readiness: checked.read,
  };
}

function startConditions(deps: Parameters<typeof watchConditions>[0], { signal, defer }: Stopping) {
  const watch = watchConditions({ ...deps, log: deps.log.child('conditions') }, signal);
  defer(() => watch.done);
  return watch;
}

/** What machines are answered from: caches of their configurations and of releases, and their presence. */
function machineState(
  { liveMbPerDay }: CloudOptions,
  {
    clock,
    log,
    stop,
    secrets,
    ...database
  }: ServerDatabase & { secrets: Secrets; clock: Clock; log: Log; stop: AbortSignal },
) {
  const { db, notifications } = database;
  const { done: followed, ...changes } = followChanges({ db, notifications, clock, log, stop });
  const releases = releaseCache(db, changes);
  const sourceOf = batchLoader((partIds: readonly string[]) => readPartSources(db, partIds));
  const answers = agentAnswers({ sourceOf, releases, changes, clock, stop });
  const configs = machineConfigs({
    db,
    // An organization's own packages are named `<organization>/<name>`.
    packageVersion: (orgId, name) =>
      latestVersion(db, orgId, name.startsWith(`${orgId}/`) ? name.slice(orgId.length + 1) : name),
    changes,
    clock,
    log,
    stop,
  });
  const { done: flushed, ...present } = presence({
    db,
    clock,
    log,
    stop,
    isWaiting: (partId) => answers.isWatched(partId) || configs.isWatched(partId),
  });
  const { done: stored, ...runs } = partRuns({ db, changes, clock, log, stop });
  const hosts = reportedHosts(db, sourceOf, { runs, clock });
  const personal = personalAnswers({ db, secrets, runs, clock });
  const { done: swept, ...live } = liveRequests({ clock, liveMbPerDay, stop });
  const done = Promise.all([followed, flushed, stored, swept]);
  return { changes, releases, answers, configs, presence: present, hosts, runs, personal, live, done };
}

/** @param onFailed - called with each failed sign-in. */
function authentication(
  of: {
    db: Database;
    unprovenDb: Database;
    changes: Changes;
    clock: Clock;
    onFailed: ReturnType<typeof failedSignIns>['note'];
  },
  signingKey: Parameters<typeof tokens>[0],
): Services['signIn'] {
  const { db, unprovenDb, changes, clock, onFailed } = of;
  const known = identities({ db: unprovenDb, changes, clock, scriptOf: (keyId) => findScriptKey(unprovenDb, keyId) });
  const signer = tokens(signingKey);
  const attemptOf = (jobId: string, attempt: number) => findAttempt(db, jobId, attempt, clock.wall());
  return {
    authenticator: authenticator({ identities: known, tokens: signer, attemptOf, onFailed }),
    identities: known,
    tokens: signer,
  };
}

/** Adds what readiness reports of the backups. */
const withNotice = <T extends { problems: readonly object[] }>(found: T, text: string | undefined) =>
  text === undefined ? found : { ...found, problems: [...found.problems, { text, isFatal: false }] };

/** Problems of the current certificate, and whether to send HSTS. */
function certificateNow(identity: IdentityInUse, known: Addresses, clock: Clock) {
  const now = identity.now();
  const problem = identity.problem();
  const text = `The renewed certificate cannot be used: ${problem}`;
  return {
    problems: [
      ...certificateProblems(now, known.publicUrl(), clock.wall()),
      ...(problem === undefined ? [] : [{ text, isFatal: false }]),
    ],
    isStrictTransport: isStrictTransport(now, known.publicUrl()),
  };
}
