import path from 'node:path';
import type { PlatformError } from '@platform/contract/errors/errors';
import { installScriptCommand } from '@platform/contract/provisioning/install-command';
import type { Clock, Log } from '@platform/kit';
import { atomicWrite } from '@platform/kit/node';
import type { FirstRun, Secrets } from './access/secrets.ts';
import { auditUser, insertSignInLink } from './access/store/sessions.ts';
import type { BlobStore } from './blobs/blob-store.ts';
import type { Database } from './database/database.ts';
import { configChecks } from './device-api/config-checks.ts';
import { fastPath } from './device-api/fast-path.ts';
import { heldChecks } from './device-api/held-checks.ts';
import { httpRoutes } from './http-routes.ts';
import { metricsListener } from './metrics/endpoints.ts';
import { createMetrics, type Metrics } from './metrics/metrics.ts';
import type { CloudOptions } from './options.ts';
import { validFirstKeys } from './organizations/store/first-run.ts';
import { type Unhandled, unhandledFailures } from './process/unhandled.ts';
import { routes } from './rpc-routes.ts';
import { type Services, startServices, type Stopping } from './server-services.ts';
import { openDataFolder, openServerDatabase, type ServerDatabase } from './server-storage.ts';
import { authoritySha256 } from './tls/authority.ts';
import { identityInUse, readIdentity } from './tls/in-use.ts';
import { type TrustedProxies, trustedProxies } from './wire/addresses.ts';
import { addresses } from './wire/base-url.ts';
import { openEntrance } from './wire/entrance.ts';
import { httpListener } from './wire/exchange.ts';
import { rpcListener } from './wire/listener.ts';
import { messageBudget } from './wire/message-budget.ts';
import { mostConnections, openPort } from './wire/mux.ts';
import { openPorts, type Ports } from './wire/ports.ts';
import type { Listener, Request } from './wire/request.ts';
import { type RequestIds, requestIds } from './wire/request-ids.ts';
import { unprovenCalls } from './wire/unproven-calls.ts';
import { valueRate } from './wire/value-rate.ts';
import { usualLimits, visitors } from './wire/visitors.ts';

export type Server = {
  /** URL for users and machines, unless it depends on the URL of their request. */
  url: string;
  /** On loopback, without TLS, for programs of this host. */
  localUrl: string;
  /** For machines of this host. */
  insideUrl: string;
  /** On loopback; undefined: there are none. */
  metricsUrl: string | undefined;
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
  /** For a stop that does not end in time: an embedded database must not outlive its server. */
  abandon(): void;
};

/** Wrappers of the server's blob store and request handlers. */
export type Around = {
  blobs?: (blobs: BlobStore) => BlobStore;
  request?: <T>(handle: () => T) => T;
};

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
    log: ownLog,
    databaseSettings: settings = {},
    around = {},
  }: { clock: Clock; log: Log; databaseSettings?: Readonly<Record<string, string>>; around?: Around },
): Promise<Server> {
  await using started = new AsyncDisposableStack();
  const { isProxy, requests, log } = namedRequests(options, ownLog);
  const identity = identityInUse(options, await readIdentity(options), { clock, log: log.child('tls') });
  const unhandled = unhandledFailures(log);
  const broken = Promise.withResolvers<PlatformError>();
  const opened = await openDataFolder(options, started);
  const data = { ...opened, blobs: around.blobs?.(opened.blobs) ?? opened.blobs };
  const database = await openServerDatabase(options, { data, settings, onLost: broken.resolve, clock, log }, started);

  const stopping = stoppingBy(started);
  const open: { ports?: Ports } = {};
  const publicUrlOf = (port: number): string | undefined => identity.now().publicUrl(port);
  const publicUrl = () => open.ports && publicUrlOf(open.ports.port);
  const known = addresses({ publicUrl, insideUrl: () => open.ports?.insideUrl }, isProxy);
  const metrics = createMetrics(() => clock.now());
  const of = { data, database, identity, addresses: known };
  const services = startServices(options, of, { clock, log, metrics }, stopping);
  const handlers = requestHandlers(options, services, { isProxy, requests, around, clock, log, metrics }, stopping);
  const { listener, held, ...served } = handlers;
  const { host, port, allowPlaintext } = options;
  const { pair: tls } = identity.now();
  const ports = await openPorts({
    listener,
    options: { host, port, allowPlaintext, ...served, isProxy, clock, log, unhandled, ...(tls && { tls }) },
    publicUrlOf,
    dataFolder: data.dataFolder,
  });
  open.ports = ports;
  const renewed = identity.follow((found) => ports.renew(found), stopping.signal);
  // Held calls end first, then running calls may finish.
  stopping.defer(() => Promise.all([renewed, ports.close(drainMs)]));
  metrics.measure({ ...database, ...services.deps, ...data, held });
  const metricsUrl = await openMetrics(metrics, options, { clock, log, unhandled }, stopping);
  const files = await writeCredentials({ ...data, db: database.db, clock }, ports.url);
  const running = started.move();
  return {
    url: ports.url,
    localUrl: ports.localUrl,
    insideUrl: ports.insideUrl,
    metricsUrl,
    port: ports.port,
    installScriptCommand: installScriptCommand(ports.url, authoritySha256(identity.now().authority)),
    firstRun: data.secrets.first,
    ...files,
    dataFolder: data.dataFolder,
    database: options.databaseUrl ? 'external' : 'embedded',
    broken: broken.promise,
    unhandled,
    ...endings(running, database),
  };
}

const endings = (running: AsyncDisposableStack, { abandon }: ServerDatabase) => ({
  close: () => running.disposeAsync(),
  abandon,
});

function namedRequests({ trustedProxy }: CloudOptions, log: Log) {
  const isProxy = trustedProxies(trustedProxy);
  const requests = requestIds(isProxy);
  return { isProxy, requests, log: requests.log(log) };
}

/** @returns the URL, if the options ask for a port. @throws PlatformError PORT_IN_USE */
async function openMetrics(
  metrics: Metrics,
  { metricsPort }: CloudOptions,
  of: { clock: Clock; log: Log; unhandled: Unhandled },
  stopping: Stopping,
): Promise<string | undefined> {
  if (metricsPort === undefined) return undefined;
  const wanted = { host: '127.0.0.1', port: metricsPort, allowPlaintext: false, ...of };
  const port = await openPort(metricsListener(metrics), wanted);
  stopping.defer(() => port.close(0));
  return `http://127.0.0.1:${port.port}/metrics`;
}

function stoppingBy(started: AsyncDisposableStack): Stopping {
  const stop = new AbortController();
  return {
    signal: stop.signal,
    defer: (end) =>
      started.defer(async () => {
        stop.abort();
        await end();
      }),
  };
}

/** Connects the port to the calls and routes, with the fast path of config checks and the limits of callers. */
function requestHandlers(
  options: CloudOptions,
  { deps, signIn }: Services,
  {
    isProxy,
    requests,
    around,
    clock,
    log,
    metrics,
  }: { isProxy: TrustedProxies; requests: RequestIds; around: Around; clock: Clock; log: Log; metrics: Metrics },
  stopping: Stopping,
) {
  const { done: released, ...held } = heldChecks(clock, stopping.signal);
  stopping.defer(() => released);
  const wrap = around.request ?? ((handle) => handle());
  const check = configChecks({ ...deps, ...signIn, held });
  const checks: typeof check = (request, reply) => wrap(() => check(request, reply));
  const limits = { ...usualLimits, most: mostConnections(), ofAddress: options.connectionsPerAddress };
  const calls = unprovenCalls(options.unprovenCallsPerS, clock, metrics.refusedCall);
  const entrance = openEntrance(visitors(limits, clock, log), {
    isTrusted: isProxy,
    calls,
    signedSubject: (authorization) =>
      authorization.startsWith('Bearer ') ? signIn.tokens.signed(authorization.slice(7))?.subject : undefined,
  });
  const { addresses: known, authenticator, budgets } = deps;
  const { prove } = entrance;
  const pages = httpRoutes(deps, { blobLimitBytes: options.maxBlobMib * 1024 * 1024, webFolder: options.webDir });
  const isStrictTransport = (request: Request): boolean =>
    known.cameBy(request).isSecure && deps.certificate().isStrictTransport;
  const listener = rpcListener({
    routes: routes(deps),
    authenticator,
    fast: fastPath(checks, prove, known),
    pages: httpListener(pages, { authenticator, budgets, prove, isStrictTransport, requestId: requests.current, log }),
    budget: messageBudget(clock),
    budgets,
    rate: valueRate(clock),
    prove,
    addresses: known,
    observe: metrics.observe,
    requestId: requests.current,
    log,
  });
  const wrapped: Listener = (request, response) =>
    wrap(() => requests.run(request, response, () => listener(request, response)));
  return { listener: wrapped, checks, entrance, held: held.count };
}

/** Creates a sign-in link for the installation's owner and writes the credentials file. */
async function writeCredentials(
  { db, secrets, dataFolder, clock }: { db: Database; secrets: Secrets; dataFolder: string; clock: Clock },
  url: string,
): Promise<{ signInUrl: string; credentialsFile: string }> {
  const userId = secrets.first.ownerId;
  await auditUser(db, userId, { actor: 'server start', action: 'create sign-in link' });
  const link = await insertSignInLink(db, { userId, expiresOn: clock.wall() + startLinkMs });
  const signInUrl = `${url}/sign-in?token=${link}`;
  const credentialsFile = path.join(dataFolder, 'first-run.json');
  const content = credentials(secrets.first, await validFirstKeys(db, secrets), signInUrl);
  await atomicWrite(credentialsFile, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  return { signInUrl, credentialsFile };
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
