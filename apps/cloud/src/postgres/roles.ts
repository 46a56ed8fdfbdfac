import { Client } from 'pg';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText, type Log } from '@platform/kit';
import { type Connection, clientConfig, cut, isDatabaseAway } from '../database/database.ts';
import { appRole } from './access-rules.ts';
import type { Cluster } from './cluster.ts';

/** Sessions of a previous server may hold locks on the objects changed here. */
const lockMs = 30_000;
const answerMs = 60_000;

const attributes = 'login nosuperuser nocreatedb nocreaterole noreplication nobypassrls';

/**
 * Tables with their indexes, own sequences and row types; then standalone objects. Partitions do not follow their
 * table.
 */
const givings = `
  select format('alter table %s owner to ${appRole}', c.oid::regclass) as statement
    from pg_class c
    where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S') and c.relowner <> $1::regrole and c.relnamespace::regnamespace::text <> all ($2)
      and c.relnamespace::regnamespace::text !~ '^pg_'
      and (c.relkind <> 'S' or not exists (select from pg_depend d where d.objid = c.oid and d.classid = 'pg_class'::regclass and d.deptype in ('a', 'i')))
  union all
  select format('alter routine %s owner to ${appRole}', p.oid::regprocedure)
    from pg_proc p
    where p.proowner <> $1::regrole and p.pronamespace::regnamespace::text <> all ($2) and p.pronamespace::regnamespace::text !~ '^pg_'
  union all
  select format('alter type %s owner to ${appRole}', t.oid::regtype)
    from pg_type t
    where t.typowner <> $1::regrole and (t.typtype in ('d', 'e', 'r') or (select c.relkind from pg_class c where c.oid = t.typrelid) = 'c') and t.typnamespace::regnamespace::text <> all ($2)
      and t.typnamespace::regnamespace::text !~ '^pg_'
  union all
  select format('alter schema %I owner to ${appRole}', n.nspname)
    from pg_namespace n
    where n.nspowner <> $1::regrole and n.nspname <> all ($2) and n.nspname <> 'public' and n.nspname !~ '^pg_'`;

/**
 * Opens the database `name` of a cluster. It and its contents belong to a role without other rights. Each step can be
 * repeated.
 */
export async function openOwnDatabase(cluster: Cluster, name: string, log: Log): Promise<Connection> {
  const connection = {
    is: 'socket',
    host: cluster.host,
    port: cluster.port,
    user: cluster.user,
    database: name,
  } as const;
  const admin = { ...connection, user: cluster.admin };
  await withClient({ ...admin, database: 'postgres' }, async (client) => {
    await prepareRole(client, log);
    await client.query('revoke all on database postgres, template1 from public');
    const found = await client.query<{ owner: string }>(
      'select datdba::regrole::text as owner from pg_database where datname = $1',
      [name],
    );
    const owner = found.rows[0]?.owner;
    if (owner === undefined) await client.query(`create database ${name} owner ${appRole}`);
    else if (owner !== appRole) await client.query(`alter database ${name} owner to ${appRole}`);
    if (owner !== appRole) log.info('the database has its owner', { database: name, owner: appRole });
    await client.query(`revoke all on database ${name} from public`);
  });
  await withClient(admin, async (client) => {
    const { rows } = await client.query<{ statement: string }>(givings, [appRole, ['information_schema']]);
    if (rows.length === 0) return;
    // All or none: several statements in one query form one transaction.
    await client.query(rows.map((row) => row.statement).join(';\n'));
    log.info('what the database holds has its owner', { objects: rows.length, owner: appRole });
  });
  return connection;
}

async function prepareRole(client: Client, log: Log): Promise<void> {
  const { rows } = await client.query<{ isPlain: boolean }>(
    `select rolcanlogin and not (rolsuper or rolcreatedb or rolcreaterole or rolreplication or rolbypassrls) as "isPlain"
       from pg_roles where rolname = $1`,
    [appRole],
  );
  if (rows[0]?.isPlain) return;
  await client.query(`${rows.length === 0 ? 'create' : 'alter'} role ${appRole} ${attributes}`);
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
