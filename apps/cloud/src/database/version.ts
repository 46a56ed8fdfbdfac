import { Client } from 'pg';
import { PlatformError } from '@platform/contract/errors/errors';
import { type Connection, clientConfig, cut } from './database.ts';

/** The oldest PostgreSQL that our statements are tested with. */
const oldestMajor = 16;

/**
 * Refuses a database of an older PostgreSQL before anything is written: its first unknown statement would fail half-way.
 *
 * @throws PlatformError DATABASE_TOO_OLD; errors of the driver if it cannot be reached.
 */
export async function requireVersion(connection: Connection): Promise<void> {
  const client = new Client(clientConfig(connection));
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ number: string; text: string }>(
      `select current_setting('server_version_num') as number, current_setting('server_version') as text`,
    );
    const [found] = rows;
    if (found && Number(found.number) < oldestMajor * 10_000)
      throw new PlatformError('DATABASE_TOO_OLD', { found: found.text, needed: oldestMajor });
  } finally {
    await client.end().catch(() => cut(client));
  }
}
