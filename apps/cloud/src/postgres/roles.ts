import { Client } from 'pg';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText, type Log } from '@platform/kit';
import { type Connection, clientConfig, cut, isDatabaseAway } from '../database/database.ts';
import { unreleased } from '../database/database-place.ts';
import { appRole } from './access-rules.ts';
import type { Cluster } from './cluster.ts';

/** Sessions of a previous server may hold locks on the objects changed here. */
const lockMs = 30_000;
const answerMs = 60_000;

const attributes = 'login nosuperuser nocreatedb nocreaterole noreplication nobypassrls';

/**
 * Opens the database `name` of a cluster, which belongs to a role without other rights. Each step can be repeated.
 *
 * @throws PlatformError DATA_NOT_RELEASED if it belongs to another role.
 */
export async function openOwnDatabase(cluster: Cluster, name: string, log: Log): Promise<Connection> {
  const { host, port, user, admin } = cluster;
  const connection = { is: 'socket', host, port, user, database: name } as const;
  await withClient({ ...connection, user: admin, database: 'postgres' }, async (client) => {
    const { rows } = await client.query<{ owner: string }>(
      'select datdba::regrole::text as owner from pg_database where datname = $1',
      [name],
    );
    const owner = rows[0]?.owner;
    // Before anything is changed.
    if (owner !== undefined && owner !== appRole) throw unreleased({ host });
    await createRole(client, log);
    await client.query('revoke all on database postgres, template1 from public');
    if (owner === undefined) {
      await client.query(`create database ${name} owner ${appRole}`);
      log.info('the database has its owner', { database: name, owner: appRole });
    }
    await client.query(`revoke all on database ${name} from public`);
  });
  return connection;
}

async function createRole(client: Client, log: Log): Promise<void> {
  const { rows } = await client.query('select from pg_roles where rolname = $1', [appRole]);
  if (rows.length > 0) return;
  await client.query(`create role ${appRole} ${attributes}`);
  log.info('the role of the server has its rights', { role: appRole });
}

async function withClient(connection: Connection, work: (client: Client) => Promise<void>): Promise<void> {
  const client = new Client({ ...clientConfig(connection), lock_timeout: lockMs, query_timeout: answerMs });
  client.on('error', () => {});
  try {
    await client.connect();
    await work(client);
    await client.end();
  } catch (error) {
    cut(client);
    if (!isDatabaseAway(error)) throw error;
    const problem = `waited for the embedded database to set its roles and owners: ${errorText(error)}`;
    throw new PlatformError('DATABASE_UNAVAILABLE', { problem }, error);
  }
}
