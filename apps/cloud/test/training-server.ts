import { createHash, randomUUID } from 'node:crypto';
import type { DescService } from '@bufbuild/protobuf';
import { type Client, ConnectError, type ConnectRouter, createClient, type Interceptor } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { errorCodeOf, type ErrorCode, PlatformError } from '@platform/contract/errors/errors';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import type { Clock } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import type { Authenticator } from '../src/access/authenticate.ts';
import { openDiskBlobs } from '../src/blobs/disk.ts';
import { organizationUsage } from '../src/blobs/organization-usage.ts';
import type { BlobStore, StoredBlob } from '../src/blobs/blob-store.ts';
import type { Images } from '../src/images/images.ts';
import { dataDownloads } from '../src/data/data-downloads.ts';
import { openDecoders } from '../src/images/decoders.ts';
import { measure } from '../src/images/measure.ts';
import { openThumbnails } from '../src/images/thumbnails.ts';
import { httpListener } from '../src/wire/exchange.ts';
import { packageDownloads, packageUploads } from '../src/registry/package-files.ts';
import { type RpcDeps, trainingRoutes } from '../src/rpc-routes.ts';
import { registryCalls } from '../src/registry/registry-calls.ts';
import type { Caller, Role } from '../src/access/rules/permissions.ts';
import { insertConfig } from '../src/configs/store/configs.ts';
import type { Database } from '../src/database/database.ts';
import type { JsonObject } from '../src/database/schema.ts';
import { openNotifications } from '../src/database/notifications.ts';
import { noteBlob } from '../src/blobs/store/owned-blobs.ts';
import { steadyTime } from '../src/process/steady-time.ts';
import { valueRate } from '../src/wire/value-rate.ts';
import { messageBudget } from '../src/wire/message-budget.ts';
import { addresses } from '../src/wire/base-url.ts';
import { rpcListener } from '../src/wire/listener.ts';
import { openPort } from '../src/wire/mux.ts';
import { testDatabase, testLog, testUnhandled } from './database.ts';

/** The caller: its name is in the token. Separate tests cover the authentication itself. */
export type Who = 'owner' | 'operator' | 'runner' | 'machine' | 'foreignOwner';

export type Place = { orgId: string; locationId: string; machineId: string; partId: string };

export type TrainingServer = AsyncDisposable & {
  url: string;
  db: Database;
  blobs: BlobStore;
  clock: Clock;
  /** The organization of all callers except the foreign owner. */
  own: Place;
  foreign: Place;
  client<S extends DescService>(service: S, who: Who): Client<S>;
  get(path: string, who: Who, headers?: Record<string, string>, method?: string): Promise<Response>;
  /** Saves the machine's next configuration. */
  configure(config: JsonObject): Promise<void>;
  /** Stores a blob as a runner does with PUT /blobs/<sha256>. */
  putBlob(bytes: Uint8Array, orgId?: string): Promise<{ sha256: string; sizeBytes: bigint }>;
};

const id = (): string => randomUUID();

async function createOrganization(db: Database, name: string): Promise<Place> {
  const place = { orgId: id(), locationId: id().slice(0, 8), machineId: id(), partId: id() };
  const { orgId, locationId, machineId, partId } = place;
  await db.insertInto('organization').values({ id: orgId, name, publicNamespace: name }).execute();
  await db.insertInto('location').values({ id: locationId, orgId, name: 'Home', parentLocationId: null }).execute();
  await db.insertInto('machine').values({ id: machineId, orgId, locationId, name: 'Rover' }).execute();
  await db.insertInto('part').values({ id: partId, orgId, machineId, name: 'main', isMain: true }).execute();
  return place;
}

const member = (orgId: string, role: Role): Caller => ({
  kind: 'api_key',
  id: id(),
  name: role,
  grants: [{ role, resource: 'organization', resourceId: orgId, orgId }],
});

export const bearer =
  (who: Who): Interceptor =>
  (next) =>
  (request) => {
    request.header.set('authorization', `Bearer ${who}`);
    return next(request);
  };

/** The data and training services over a real database, real blobs and a real port with every protocol. */
export async function trainingServer(clock: Clock = systemClock, limitBytes = 0): Promise<TrainingServer> {
  const database = await testDatabase();
  const folder = await tempFolder();
  const { db } = database;
  const blobs = await openDiskBlobs(folder.path);
  const stop = new AbortController();
  const notifications = await openNotifications(database.connection, systemClock, testLog);
  const [own, foreign] = [await createOrganization(db, 'own'), await createOrganization(db, 'foreign')];
  const callers: Record<Who, Caller> = {
    owner: member(own.orgId, 'owner'),
    operator: member(own.orgId, 'operator'),
    runner: member(own.orgId, 'runner'),
    machine: { kind: 'part', id: own.partId, name: 'main', ...own, grants: [] },
    foreignOwner: member(foreign.orgId, 'owner'),
  };
  const authenticator: Authenticator = {
    check: () => Promise.reject(new PlatformError('INVALID_CREDENTIALS')),
    attemptToken: (jobId, attempt) => Promise.resolve(`${jobId} ${attempt}`),
    token: () => Promise.reject(new PlatformError('INVALID_CREDENTIALS')),
    session: () => Promise.resolve(undefined),
    bearer(authorization) {
      const caller = callers[authorization.slice('Bearer '.length) as Who];
      return caller ? Promise.resolve(caller) : Promise.reject(new PlatformError('NOT_AUTHENTICATED'));
    },
  };
  const port = { url: '' };
  const decoders = openDecoders({ clock: systemClock, processes: 1 });
  const copies = await tempFolder();
  const thumbnails = await openThumbnails({ folder: copies.path, blobs, decoders, log: testLog }, 2 ** 20);
  const known = addresses({ publicUrl: () => undefined, insideUrl: () => undefined });
  const deps = {
    db,
    blobs,
    images: {
      measure: (blob: StoredBlob) => measure({ db, blobs, decoders }, blob),
      thumbnail: thumbnails.read,
    } satisfies Images,
    notifications,
    clock,
    steady: steadyTime(clock),
    usage: organizationUsage({ db, clock, stop: stop.signal }, limitBytes),
    log: testLog,
    stop: stop.signal,
    authenticator,
    addresses: known,
    secrets: { signingKey: Buffer.from('only for tests') },
  } as unknown as RpcDeps & { images: Images };
  const pages = httpListener([packageDownloads(deps), packageUploads(deps), dataDownloads(deps)], {
    authenticator,
    log: testLog,
  });
  const routes = (router: ConnectRouter): void => {
    trainingRoutes(deps)(router);
    router.service(AppService, registryCalls(deps));
  };
  const listener = rpcListener({
    routes,
    authenticator,
    fast: () => undefined,
    pages,
    budget: messageBudget(systemClock),
    rate: valueRate(systemClock),
    prove: () => {},
    addresses: known,
    requestId: () => undefined,
    log: testLog,
  });
  const open = await openPort(listener, {
    host: '127.0.0.1',
    port: 0,
    allowPlaintext: false,
    clock: systemClock,
    log: testLog,
    unhandled: testUnhandled,
  });
  port.url = `http://127.0.0.1:${open.port}`;

  return {
    url: port.url,
    db,
    blobs,
    clock,
    own,
    foreign,
    client: (service, who) =>
      createClient(service, createGrpcTransport({ baseUrl: port.url, interceptors: [bearer(who)] })),
    get: (path, who, headers = {}, method = 'GET') =>
      fetch(`${port.url}${path}`, { method, headers: { authorization: `Bearer ${who}`, ...headers } }),
    configure: async (config) => {
      const saved = { orgId: own.orgId, partId: own.partId, text: JSON.stringify(config), config, savedBy: 'test' };
      await db.transaction().execute((trx) => insertConfig(trx, saved, {}));
    },
    async putBlob(bytes, orgId = own.orgId) {
      const stored = await blobs.put(
        (async function* one() {
          yield await Promise.resolve(bytes);
        })(),
        { sha256: createHash('sha256').update(bytes).digest('hex') },
      );
      await noteBlob(db, orgId, stored);
      return { sha256: stored.sha256, sizeBytes: BigInt(stored.sizeBytes) };
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await open.close(500);
      await notifications.close();
      await database.close();
      decoders.close();
      await folder[Symbol.asyncDispose]();
      await copies[Symbol.asyncDispose]();
    },
  };
}

/** Returns `<code> <row>` of the error of `call`, for example `9 JOB_FINISHED`; `ok` if it succeeds. */
export async function outcome(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'ok';
  } catch (error) {
    const code: ErrorCode | undefined = errorCodeOf(error);
    return error instanceof ConnectError ? `${error.code} ${code ?? error.rawMessage}` : String(error);
  }
}
