// A server behind nginx or Caddy, and its clients under the public name over TLS.
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { systemClock } from '@platform/kit/node';
import { issue, tempFolder, type TempFolder } from '@platform/kit/testing';
import { type CloudReady, startCloud } from './cloud-process.ts';
import { type Proxy, type ProxyName, proxyHost as host, startProxy } from './proxies.ts';

/** A client's way through the proxy, under the public name. */
export interface Front {
  readonly base: string;
  readonly folder: TempFolder;
  readonly proxy: Proxy;
  readonly curl: (...args: string[]) => Promise<string>;
  /** Writes a new certificate of the same authority, with another serial number. */
  renewCertificate(): Promise<void>;
}

const day = 86_400_000;
const validity = { from: systemClock.wall() - day, to: systemClock.wall() + day };
const authority = issue({ name: 'Authority of a test', ...validity, authority: true });

const nodeOptions = {
  ca: authority.cert,
  lookup: (_: string, __: unknown, found: (error: null, addresses: never) => void) =>
    found(null, [{ address: '127.0.0.1', family: 4 }] as never),
};

export const grpc = (baseUrl: string): Transport => createGrpcTransport({ baseUrl, nodeOptions });
/** The protocols of our clients and of other clients. */
export const protocols: Record<string, (baseUrl: string) => Transport> = {
  'Connect over HTTP/1.1': (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '1.1', nodeOptions }),
  'Connect over HTTP/2': (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '2', nodeOptions }),
  'gRPC-Web over HTTP/1.1': (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: '1.1', nodeOptions }),
  'gRPC-Web over HTTP/2': (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: '2', nodeOptions }),
  gRPC: grpc,
};

type Credentials = { type: 'api-key' | 'robot-secret'; entity: string; payload: string };

/** @returns what a call needs to come from this caller. */
export async function signIn(transport: Transport, { type, entity, payload }: Credentials) {
  const auth = createClient(AuthService, transport);
  const { accessToken } = await auth.authenticate({ entity, credentials: { type, payload } });
  return { headers: { authorization: `Bearer ${accessToken}` } };
}

export const ownerOf = ({ api_key_id: entity, api_key: payload }: CloudReady): Credentials => ({
  type: 'api-key',
  entity,
  payload,
});

/** A machine that the owner makes, with its sign-in. */
export async function newMachine(transport: Transport, cloud: CloudReady, name: string) {
  const owner = await signIn(transport, ownerOf(cloud));
  const fleet = createClient(FleetService, transport);
  const { machine, credentialsJson } = await fleet.createMachine({ organizationId: cloud.org_id, name }, owner);
  const { id = '', partId = '' } = machine ?? {};
  const { cloud: part } = JSON.parse(credentialsJson) as { cloud: { app_address: string; secret: string } };
  const own = await signIn(transport, { type: 'robot-secret', entity: partId, payload: part.secret });
  return { id, partId, owner, own, fleet, credentialsJson, appAddress: part.app_address };
}

/** Runs `work` with a server behind a proxy; an error has the log of the proxy. */
export async function inFront(
  name: ProxyName,
  work: (front: Front, cloud: CloudReady) => Promise<void>,
  ...flags: string[]
): Promise<void> {
  await using folder = await tempFolder();
  const renewCertificate = async (): Promise<void> => {
    const site = issue({ name: host, ...validity, by: authority, dns: [host] });
    await writeFile(folder.file('key.pem'), site.key);
    await writeFile(folder.file('cert.pem'), `${site.cert}${authority.cert}`);
  };
  await renewCertificate();
  await writeFile(folder.file('authority.pem'), authority.cert);
  const known = ['--tls-authority', folder.file('authority.pem')];
  await using cloud = await startCloud('--trusted-proxy', '127.0.0.1', ...known, ...flags);
  await using proxy = await startProxy(name, folder, cloud.ready.port);
  try {
    const base = `https://${host}:${proxy.port}`;
    const curl: Front['curl'] = async (...args) => {
      const place = ['--cacert', folder.file('authority.pem'), '--resolve', `${host}:${proxy.port}:127.0.0.1`];
      return (await promisify(execFile)('curl', ['-sS', ...place, ...args])).stdout;
    };
    for (let isUp = ''; isUp !== 'ok\n'; isUp = await curl(`${base}/livez`).catch(() => ''))
      await systemClock.sleep(50);
    await work({ base, folder, proxy, curl, renewCertificate }, cloud.ready);
  } catch (error) {
    throw new Error(await proxy.log(), { cause: error });
  }
}
