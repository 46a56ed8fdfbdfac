import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors';
import type { Clock, Log } from '@platform/kit';
import { atomicWrite, FolderLocked, lockFolder } from '@platform/kit/node';
import { installScriptCommand } from '@platform/contract/install-command';
import { authenticator } from './access/authenticate.ts';
import { callerBudgets } from './access/caller-budgets.ts';
import { failedSignIns } from './access/failed-sign-ins.ts';
import { identities } from './access/identities.ts';
import { type FirstRun, openSecrets } from './access/secrets.ts';
import { auditPerson, insertSignInLink } from './access/store/sessions.ts';
import { tokens } from './access/tokens.ts';
import type { BlobStore } from './blobs/blob-store.ts';
import { openDiskBlobs } from './blobs/disk.ts';
import { organizationUsage } from './blobs/organization-usage.ts';
import { makeExports } from './data/sequence-exports.ts';
import { followChanges } from './database/changes.ts';
import { type Connection, type DatabaseLimits, openDatabase } from './database/database.ts';
import { holdDatabase } from './database/exclusive.ts';
import { gathered } from './database/gathered.ts';
import { migrate } from './database/migrate.ts';
import { openNotifications } from './database/notifications.ts';
import { agentAnswers } from './device-api/agent-answers.ts';
import { configChecks } from './device-api/config-checks.ts';
import { fastPath } from './device-api/fast-path.ts';
import { heldChecks } from './device-api/held-checks.ts';
import { machineConfigs } from './device-api/machine-configs.ts';
import { reportedHosts } from './device-api/reported-hosts.ts';
import { seats, seatsOfMachine } from './device-api/seats.ts';
import { readPartSources } from './device-api/store/part-sources.ts';
import { type HttpDeps, httpRoutes } from './http-routes.ts';
import { logWriter } from './logs/log-writer.ts';
import { presence } from './machines/presence.ts';
import type { CloudOptions } from './options.ts';
import { createFirstRun, restoreFirstKeys, validFirstKeys } from './organizations/store/first-run.ts';
import { type Cluster, startCluster } from './postgres/cluster.ts';
import { keepCluster } from './postgres/keeper.ts';
import { openOwnDatabase } from './postgres/roles.ts';
import { steadyTime } from './process/steady-time.ts';
import { type Unhandled, unhandledFailures } from './process/unhandled.ts';
import { latestVersion } from './registry/store/registry.ts';
import { openOnlineKey } from './releases/online-key.ts';
import { releaseBook } from './releases/release-book.ts';
import { keepFresh } from './releases/tuf-repository.ts';
import { startRetention } from './retention/start.ts';
import { type RpcDeps, routes } from './rpc-routes.ts';
import { authoritySha256 } from './tls/authority.ts';
import {
  certificateProblems,
  type IdentityInUse,
  identityInUse,
  isStrictTransport,
  readIdentity,
} from './tls/in-use.ts';
import { findAttempt, findScriptKey } from './training/store/attempts.ts';
import { reapJobs } from './training/store/job-reaper.ts';
import { trustedProxies } from './wire/addresses.ts';
import { type Addresses, addresses } from './wire/base-url.ts';
import { openEntrance } from './wire/entrance.ts';
import { httpListener } from './wire/exchange.ts';
import { rpcListener } from './wire/listener.ts';
import { messageBudget } from './wire/message-budget.ts';
import { mostConnections } from './wire/mux.ts';
import { openPorts, type Ports } from './wire/ports.ts';
import { valueRate } from './wire/value-rate.ts';
import { usualLimits, visitors } from './wire/visitors.ts';

export type Server = {
  /** URL for users and machines, unless it depends on the URL of their request. */
  url: string;
  /** On loopback, without TLS, for programs of this host. */
  localUrl: string;
  /** For machines of this host. */
  insideUrl: string;
  port: number;
  /** Command that prints the install script, for use on any machine. */
  installScriptCommand: string;
  firstRun: FirstRun;
  signInUrl: string;
  /** The only file with the first start's keys and the sign-in link; mode 0600. */
  credentialsFile: string;
  dataFolder: string;
  database: 'embedded' | 'external';
  /** Resolves with the error if the server cannot continue. */
  broken: Promise<PlatformError>;
  unhandled: Unhandled;
  close(): Promise<void>;
};

/** Wrappers of the server's blob store and request handlers. */
export type Around = {
  blobs?: (blobs: BlobStore) => BlobStore;
  request?: <T>(handle: () => T) => T;
};

const version = '0.1.0';
const databaseName = 'platform';
const drainMs = 8_000;
/** Lifetime of the link printed at a start: a user may return to the terminal the next day. */
const startLinkMs = 24 * 3_600_000;

/**
 * Starts the management server. Stops everything it started in reverse order, even if a later step fails.
 *
 * @param databaseSettings - of the embedded database, for tests.
 * @param around - for tests.
 * @throws PlatformError DATA_DIR_IN_USE, DATA_DIR_NEWER, DATABASE_UNAVAILABLE, PORT_IN_USE, INVALID_ARGUMENT.
 */
export async function startServer(
  options: CloudOptions,
  {
    clock,
    log,
    databaseSettings = {},
    around = {},
  }: { clock: Clock; log: Log; databaseSettings?: Readonly<Record<string, string>>; around?: Around },
): Promise<Server> {
  await using started = new AsyncDisposableStack();
  const identity = identityInUse(options, await readIdentity(options), { clock, log: log.child('tls') });
  const isProxy = trustedProxies(options.trustedProxy);
  const publicUrlOf = (port: number): string | undefined => identity.now().publicUrl(port);
  const dataFolder = path.resolve(options.dataDir);
  await mkdir(dataFolder, { recursive: true, mode: 0o700 });
  started.use(await lockData(dataFolder));
  const secrets = await openSecrets(dataFolder, { newKeys: options.newKeys });
  const releaseKey = await openOnlineKey(dataFolder);
  const unhandled = unhandledFailures(log);
  const diskBlobs = await openDiskBlobs(path.join(dataFolder, 'blobs'));
  const blobs = around.blobs?.(diskBlobs) ?? diskBlobs;
  const broken = Promise.withResolvers<PlatformError>();

  const connection = options.databaseUrl
    ? ({ is: 'url', url: options.databaseUrl.reveal() } as const)
    : await embedded(
        { folder: path.join(dataFolder, 'postgres'), clock, log: log.child('database'), settings: databaseSettings },
        started,
      );
  const where = options.databaseUrl ? 'of the database' : dataFolder;
  const exclusive = await reached(holdDatabase({ connection, where, clock, log, onLost: broken.resolve }));
  started.defer(() => exclusive.close());
  const applied = await migrate(connection, where, { right: exclusive });
  if (applied.length > 0) log.info('the schema was brought up to date', { applied });
  const { db, close } = openDatabase(connection, log, { limits: limitsOf(options), right: exclusive });
  started.defer(close);
  await createFirstRun(db, secrets, options.orgName);
  if (options.newKeys) await restoreFirstKeys(db, secrets);
  const notifications = await openNotifications(connection, clock, log);
  started.defer(() => notifications.close());

  const stop = new AbortController();
  const { done: followed, ...changes } = followChanges({ db, notifications, clock, log, stop: stop.signal });
  const releases = releaseBook(db, changes);
  const sourceOf = gathered((partIds: readonly string[]) => readPartSources(db, partIds));
  const answers = agentAnswers({ sourceOf, releases, changes, clock, stop: stop.signal });
  const configs = machineConfigs({
    db,
    // An organization's own packages are named `<organization>/<name>`.
    packageVersion: (orgId, name) =>
      latestVersion(db, orgId, name.startsWith(`${orgId}/`) ? name.slice(orgId.length + 1) : name),
    changes,
    clock,
    log,
    stop: stop.signal,
  });
  const { done: flushed, ...present } = presence({
    db,
    clock,
    log,
    stop: stop.signal,
    isWaiting: (partId) => answers.isWatched(partId) || configs.isWatched(partId),
  });
  const steady = steadyTime(clock);
  const reaped = reapJobs({ db, clock, steady, log: log.child('jobs') }, stop.signal);
  const fresh = keepFresh({ db, key: releaseKey, clock, log: log.child('releases') }, stop.signal);
  const swept = startRetention({ db, blobs, clock, log: log.child('retention') }, options, stop.signal);
  started.defer(async () => {
    stop.abort();
    await Promise.all([followed, flushed, reaped, fresh, swept]);
  });

  const callers = identities({ db, changes, clock, scriptOf: (keyId) => findScriptKey(db, keyId) });
  const signer = tokens(secrets.signingKey);
  const failed = failedSignIns({ db, clock, log }, stop.signal);
  started.defer(() => {
    stop.abort();
    return failed.done;
  });
  const authentication = authenticator({
    identities: callers,
    tokens: signer,
    attemptOf: (jobId, attempt) => findAttempt(db, jobId, attempt, clock.wall()),
    onFailed: failed.note,
  });
  const open: { ports?: Ports } = {};
  const known: Addresses = addresses(
    {
      publicUrl: () => open.ports && publicUrlOf(open.ports.port),
      insideUrl: () => open.ports?.insideUrl,
    },
    isProxy,
  );
  const deps: RpcDeps & HttpDeps = {
    db,
    isAnswering: exclusive.isAnswering,
    blobs,
    notifications,
    changes,
    clock,
    steady,
    log,
    stop: stop.signal,
    secrets,
    releaseKey,
    authenticator: authentication,
    failedSignIns: failed,
    presence: present,
    answers,
    configs,
    releases,
    hosts: reportedHosts(db, sourceOf),
    logs: logWriter(db, clock),
    budgets: callerBudgets(options, clock),
    usage: organizationUsage({ db, clock, stop: stop.signal }, Math.floor(options.orgLimitGib * 2 ** 30)),
    waiting: { agents: seats(seatsOfMachine), servers: seats(seatsOfMachine) },
    addresses: known,
    authority: () => identity.now().authority,
    certificate: () => certificateNow(identity, known, clock),
    version,
  };
  const exported = makeExports({ ...deps, log: log.child('exports') }, stop.signal);
  started.defer(() => {
    stop.abort();
    return exported;
  });
  const { done: released, ...held } = heldChecks(clock, stop.signal);
  started.defer(() => {
    stop.abort();
    return released;
  });
  const wrap = around.request ?? ((handle) => handle());
  const check = configChecks({ ...deps, identities: callers, tokens: signer, held });
  const checks: typeof check = (request, reply) => wrap(() => check(request, reply));
  const most = mostConnections();
  const entrance = openEntrance(
    visitors({ ...usualLimits, most, ofAddress: options.connectionsPerAddress }, clock, log),
    isProxy,
  );
  const listener = rpcListener({
    routes: routes(deps),
    authenticator: authentication,
    fast: fastPath(checks, entrance.prove, known),
    pages: httpListener(
      httpRoutes(deps, { blobLimitBytes: options.maxBlobMib * 1024 * 1024, webFolder: options.webDir }),
      {
        authenticator: authentication,
        budgets: deps.budgets,
        prove: entrance.prove,
        isStrictTransport: (request) => known.cameBy(request).isSecure && deps.certificate().isStrictTransport,
        log,
      },
    ),
    budget: messageBudget(clock),
    budgets: deps.budgets,
    rate: valueRate(clock),
    prove: entrance.prove,
    addresses: known,
    log,
  });
  const { pair } = identity.now();
  const ports = await openPorts({
    listener: (request, response) => wrap(() => listener(request, response)),
    options: {
      host: options.host,
      port: options.port,
      allowPlaintext: options.allowPlaintext,
      checks,
      isProxy,
      clock,
      log,
      unhandled,
      entrance,
      ...(pair && { tls: pair }),
    },
    publicUrlOf,
    dataFolder,
  });
  open.ports = ports;
  const renewed = identity.follow((found) => ports.renew(found), stop.signal);
  started.defer(async () => {
    // Held calls end first, then running calls may finish.
    stop.abort();
    await Promise.all([renewed, ports.close(drainMs)]);
  });

  const personId = secrets.first.ownerId;
  await auditPerson(db, personId, { actor: 'server start', action: 'create sign-in link' });
  const link = await insertSignInLink(db, { personId, expiresOn: clock.wall() + startLinkMs });
  const signInUrl = `${ports.url}/sign-in?token=${link}`;
  const credentialsFile = path.join(dataFolder, 'first-run.json');
  const content = credentials(secrets.first, await validFirstKeys(db, secrets), signInUrl);
  await atomicWrite(credentialsFile, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  const running = started.move();
  return {
    url: ports.url,
    localUrl: ports.localUrl,
    insideUrl: ports.insideUrl,
    port: ports.port,
    installScriptCommand: installScriptCommand(ports.url, authoritySha256(identity.now().authority)),
    firstRun: secrets.first,
    signInUrl,
    credentialsFile,
    dataFolder,
    database: options.databaseUrl ? 'external' : 'embedded',
    broken: broken.promise,
    unhandled,
    close: () => running.disposeAsync(),
  };
}

async function lockData(dataFolder: string): Promise<AsyncDisposable> {
  try {
    return await lockFolder(path.join(dataFolder, 'server.lock'));
  } catch (error) {
    if (error instanceof FolderLocked)
      throw new PlatformError('DATA_DIR_IN_USE', { path: dataFolder, pid: error.pid }, error);
    throw error;
  }
}

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

type Embedded = { folder: string; clock: Clock; log: Log; settings: Readonly<Record<string, string>> };

async function embedded(options: Embedded, started: AsyncDisposableStack): Promise<Connection> {
  const first = await startCluster(options);
  const start = (): Promise<Cluster> => startCluster({ ...options, mustExist: true });
  const keeper = keepCluster({ first, start, clock: options.clock, log: options.log });
  started.defer(() => keeper.stop());
  return openOwnDatabase(first, databaseName, options.log);
}

const limitsOf = (options: CloudOptions): DatabaseLimits => ({
  connectMs: options.databaseConnectTimeoutS * 1_000,
  statementMs: options.databaseStatementTimeoutS * 1_000,
  lockMs: options.databaseLockTimeoutS * 1_000,
});

/** Reports an unreachable external database or a wrong URL as a row of the error table. */
async function reached<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof PlatformError) throw error;
    throw new PlatformError(
      'DATABASE_UNAVAILABLE',
      { problem: error instanceof Error ? error.message : String(error) },
      error,
    );
  }
}

/** Content of the credentials file for the installation's owner; a key that was rotated or deleted is null. */
const credentials = (
  first: FirstRun,
  valid: { apiKey: string | undefined; runnerKey: string | undefined },
  signInUrl: string,
) => ({
  org_id: first.orgId,
  api_key_id: first.apiKeyId,
  api_key: valid.apiKey ?? null,
  runner_key_id: first.runnerKeyId,
  runner_key: valid.runnerKey ?? null,
  sign_in_url: signInUrl,
});
