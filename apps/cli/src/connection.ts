import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createPlatformClient, type PlatformClient } from '@platform/client';
import { PlatformError } from '@platform/contract/errors';
import { Usage } from '@platform/kit/node';
import { defaultDataFolder } from './up/folders.ts';

export interface ConnectionFlags {
  readonly url?: string;
  readonly apiKeyId?: string;
  readonly apiKey?: string;
  readonly org?: string;
  readonly json?: boolean;
}

export interface Connection {
  readonly client: PlatformClient;
  readonly url: string;
  /** The organization named by --org (ID or name), or the only one the key belongs to. */
  organizationId(): Promise<string>;
}

interface Saved {
  readonly url?: string;
  readonly api_key_id?: string;
  readonly api_key?: string;
}

/** What `npm start` of this checkout left for its own user. */
function savedConnection(): Saved {
  const file = path.join(defaultDataFolder(), 'connection.json');
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Saved) : {};
}

/**
 * Flags, then PLATFORM_URL, PLATFORM_API_KEY_ID and PLATFORM_API_KEY, then the platform started from this checkout.
 *
 * @throws Usage when nothing names a server and a key.
 */
export async function connect(
  flags: ConnectionFlags,
  env: Record<string, string | undefined> = process.env,
): Promise<Connection> {
  const hasOwn = flags.url ?? env['PLATFORM_URL'];
  const saved = hasOwn === undefined ? savedConnection() : {};
  const baseUrl = hasOwn ?? saved.url;
  const authEntity = flags.apiKeyId ?? env['PLATFORM_API_KEY_ID'] ?? saved.api_key_id;
  const payload = flags.apiKey ?? env['PLATFORM_API_KEY'] ?? saved.api_key;
  if (!baseUrl || !authEntity || !payload) {
    throw new Usage(
      'No server or no API key is named. Set PLATFORM_URL, PLATFORM_API_KEY_ID and PLATFORM_API_KEY (or give --url, --api-key-id and --api-key), or start a platform here with npm start.',
      2,
    );
  }
  const client = createPlatformClient({ baseUrl, credentials: { type: 'api-key', authEntity, payload } });
  return {
    client,
    url: baseUrl,
    async organizationId() {
      const { organizations } = await client.appClient.listOrganizations({});
      const [only, ...more] = organizations;
      if (flags.org !== undefined) {
        const named = organizations.find((one) => one.id === flags.org || one.name === flags.org);
        if (!named) throw new PlatformError('ORGANIZATION_NOT_FOUND', { organizationId: flags.org });
        return named.id;
      }
      if (!only) throw new PlatformError('ORGANIZATION_NOT_FOUND');
      if (more.length > 0)
        throw new PlatformError('INVALID_ARGUMENT', {
          field: '--org',
          value: '',
          limit: `one of ${organizations.map((one) => one.name).join(', ')}`,
        });
      return only.id;
    },
  };
}
