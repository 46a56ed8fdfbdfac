import { createClient, type Client, type Interceptor, type Transport } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import type { DescService } from '@bufbuild/protobuf';
import type { Clock } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { cloudOptions } from '../src/options.ts';
import { type Around, type Server, startServer } from '../src/server.ts';
import type { Connection, Database } from '../src/database/database.ts';
import { testDatabase, testLog, urlOf } from './database.ts';

export type Credentials = { type: 'api-key' | 'robot-secret'; entity: string; payload: string };

/** A whole server in this process, with its own database. */
export type TestServer = AsyncDisposable & {
  server: Server;
  db: Database;
  connection: Connection;
  url: string;
  orgId: string;
  owner: Credentials;
  runner: Credentials;
  /** Returns an access token for credentials. */
  token(credentials: Credentials): Promise<string>;
  /** Returns a client of a service; by default as the owner. */
  client<S extends DescService>(service: S, credentials?: Credentials | { token: string }): Promise<Client<S>>;
  /** Creates a machine. @returns it with the credentials of its part. */
  machine(name: string): Promise<{ machineId: string; partId: string; part: Credentials }>;
};

export const bearer =
  (token: string): Interceptor =>
  (next) =>
  (request) => {
    request.header.set('authorization', `Bearer ${token}`);
    return next(request);
  };

export const transportTo = (url: string, token?: string): Transport =>
  createConnectTransport({
    baseUrl: url,
    httpVersion: '1.1',
    // No trusted authority issued the certificate of the tests.
    nodeOptions: { rejectUnauthorized: false },
    interceptors: token === undefined ? [] : [bearer(token)],
  });

/** @param around - wraps the server's handling of requests. */
export async function testServer(
  argv: readonly string[] = [],
  around: Around = {},
  clock: Clock = systemClock,
): Promise<TestServer> {
  const database = await testDatabase();
  const folder = await tempFolder();
  const databaseUrl = urlOf(database.connection);
  const options = cloudOptions(['--data-dir', folder.path, '--port', '0', '--database-url', databaseUrl, ...argv], {});
  const server = await startServer(options, { clock, log: testLog, around });
  const owner: Credentials = { type: 'api-key', entity: server.firstRun.apiKeyId, payload: server.firstRun.apiKey };
  const token = async ({ type, entity, payload }: Credentials): Promise<string> =>
    (
      await createClient(AuthService, transportTo(server.localUrl)).authenticate({
        entity,
        credentials: { type, payload },
      })
    ).accessToken;
  const client = async <S extends DescService>(
    service: S,
    who: Credentials | { token: string } = owner,
  ): Promise<Client<S>> =>
    createClient(service, transportTo(server.localUrl, 'token' in who ? who.token : await token(who)));
  return {
    server,
    db: database.db,
    connection: database.connection,
    url: server.url,
    orgId: server.firstRun.orgId,
    owner,
    runner: { type: 'api-key', entity: server.firstRun.runnerKeyId, payload: server.firstRun.runnerKey },
    token,
    client,
    async machine(name) {
      const created = await (await client(FleetService)).createMachine({ organizationId: server.firstRun.orgId, name });
      const { cloud } = JSON.parse(created.credentialsJson) as { cloud: { id: string; secret: string } };
      return {
        machineId: created.machine?.id ?? '',
        partId: cloud.id,
        part: { type: 'robot-secret', entity: cloud.id, payload: cloud.secret },
      };
    },
    async [Symbol.asyncDispose]() {
      await server.close();
      await database.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}
