import { existsSync } from 'node:fs';
import path from 'node:path';
import type { DescService } from '@bufbuild/protobuf';
import { type Client, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { createPlatformClient, type PlatformClient } from '@platform/client';
import { PlatformError } from '@platform/contract/errors/errors';
import { objectOf, parseJson } from '@platform/contract/text/json-object';
import { parseServerUrl } from '@platform/contract/provisioning/server-url';
import { readTextSync, unusableRemedy, unusableText, Usage, useProxiesOf } from '@platform/kit/node';
import { defaultDataFolder } from './data-folder.ts';

export interface ConnectionFlags {
  readonly url?: string;
  readonly apiKeyId?: string;
  readonly apiKey?: string;
  readonly org?: string;
  readonly json?: boolean;
}

export interface Connection {
  readonly client: PlatformClient;
  /** URL of the server for other hosts. */
  readonly url: string;
  /** A client for calls without a method in `client`; it uses Node's HTTP, which can also send streams. */
  rpc<S extends DescService>(service: S): Client<S>;
  /** The organization in --org (ID or name), or the only one that the key belongs to. */
  organizationId(): Promise<string>;
}

interface Saved {
  readonly url?: string;
  /** URL of the same server for this host, independent of its public name and certificate. */
  readonly local_url?: string;
  readonly api_key_id?: string;
  readonly api_key?: string;
}

/** The connection in a file: PLATFORM_CONNECTION_FILE, else the one that `npm start` of this checkout saved. */
function savedConnection(env: Record<string, string | undefined>): Saved {
  const file = env['PLATFORM_CONNECTION_FILE'] || path.join(defaultDataFolder(), 'connection.json');
  if (!existsSync(file)) return {};
  const saved = objectOf(parseJson(readTextSync(file)));
  if (!saved) throw new Usage(`${file} must hold one JSON object with url, api_key_id and api_key.`, 2);
  return saved;
}

/** The first value that is given, with where it is from. White space around keys and IDs came with a file or a copy. */
function firstOf(...values: readonly (readonly [from: string, value: string | undefined])[]): {
  from: string;
  value: string;
} {
  const [from = '', value = ''] = values.find(([, each]) => each !== undefined) ?? [];
  return { from, value: value.trim() };
}

/** @throws Usage */
function serverUrl({ from, value }: { from: string; value: string }): string {
  const url = parseServerUrl(value);
  if (url.ok) return url.value;
  throw new Usage(`${from} is not the URL of a server: ${url.shown}: ${url.problem}.`, 2);
}

/**
 * Resolves the connection: flags, then PLATFORM_URL, PLATFORM_API_KEY_ID and PLATFORM_API_KEY, then the file
 * PLATFORM_CONNECTION_FILE, then the platform started from this checkout.
 *
 * @throws Usage when the server or the key is missing.
 */
export async function connect(
  flags: ConnectionFlags,
  env: Record<string, string | undefined> = process.env,
): Promise<Connection> {
  const own = flags.url ?? env['PLATFORM_URL'];
  const saved = own === undefined ? savedConnection(env) : {};
  const server = firstOf(
    ['--url', flags.url],
    ['PLATFORM_URL', env['PLATFORM_URL']],
    ['local_url of the connection file', saved.local_url],
    ['url of the connection file', saved.url],
  );
  const authEntity = firstOf(['', flags.apiKeyId], ['', env['PLATFORM_API_KEY_ID']], ['', saved.api_key_id]).value;
  const payload = firstOf(['', flags.apiKey], ['', env['PLATFORM_API_KEY']], ['', saved.api_key]).value;
  if (server.value === '' || authEntity === '' || payload === '') {
    throw new Usage(
      'No server or no API key is named. Set PLATFORM_URL, PLATFORM_API_KEY_ID and PLATFORM_API_KEY (or give --url, --api-key-id and --api-key), or start a platform here with npm start.',
      2,
    );
  }
  const baseUrl = serverUrl(server);
  for (const proxy of useProxiesOf(env)) process.stderr.write(`${unusableText(proxy)} ${unusableRemedy}\n`);
  const options = { baseUrl, credentials: { type: 'api-key', authEntity, payload } } as const;
  const client = createPlatformClient(options);
  const opened: { transport?: Transport; organization?: Promise<string> } = {};
  const streams = (): Transport => {
    if (opened.transport) return opened.transport;
    createPlatformClient({
      ...options,
      transport: (interceptors) =>
        (opened.transport = createConnectTransport({ baseUrl: client.url, httpVersion: '1.1', interceptors })),
    });
    if (!opened.transport) throw new Error('the client made no transport');
    return opened.transport;
  };
  return {
    client,
    url: saved.url ?? client.url,
    rpc: (service) => createClient(service, streams()),
    organizationId: () => (opened.organization ??= findOrganization(client, flags.org)),
  };
}

async function findOrganization(client: PlatformClient, named: string | undefined): Promise<string> {
  const { organizations } = await client.appClient.listOrganizations({});
  if (named !== undefined) {
    const organization =
      organizations.find((one) => one.id === named) ?? organizations.find((one) => one.name === named);
    if (!organization) throw new PlatformError('ORGANIZATION_NOT_FOUND', { organizationId: named });
    return organization.id;
  }
  const [only, ...more] = organizations;
  if (!only) throw new PlatformError('ORGANIZATION_NOT_FOUND');
  if (more.length > 0) {
    const names = organizations.map((one) => one.name).join(', ');
    throw new PlatformError('INVALID_ARGUMENT', { field: '--org', value: '', limit: `one of ${names}` });
  }
  return only.id;
}
