import path from 'node:path';
import { errorText, type Clock } from '@platform/kit';
import type { Connection } from '../database/database.ts';
import { hasDatabase, runningCluster } from '../postgres/cluster.ts';
import { locationOf } from '../postgres/home.ts';
import { connectAs, databaseName } from './database-access.ts';

/** What the database of a data folder says of itself. `home`: the folder of its files; absent: it is not embedded. */
export type DatabaseState = { home?: string } & (
  | { is: 'absent' | 'stopped' }
  | { is: 'silent'; problem: string }
  | {
      is: 'running';
      version: string;
      /** 180003 for 18.3 */
      number: number;
      /** How far the clock of this host is ahead of the clock of the database. */
      aheadMs: number;
      maxConnections: number;
      usedConnections: number;
      fsync: string;
      fullPageWrites: string;
      readOnly: string;
    }
);

const question = `select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
  (extract(epoch from clock_timestamp()) * 1000)::float8 as now, current_setting('fsync') as fsync,
  current_setting('full_page_writes') as "fullPageWrites", current_setting('max_connections')::int as "maxConnections",
  current_setting('default_transaction_read_only') as "readOnly",
  (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as "usedConnections"`;

/** Asks a database that runs. Starts and changes nothing. */
export async function databaseState(
  { dataFolder, databaseUrl }: { dataFolder: string; databaseUrl: string | undefined },
  clock: Clock,
): Promise<DatabaseState> {
  if (databaseUrl !== undefined) return ask({ is: 'url', url: databaseUrl }, dataFolder, clock);
  const folder = path.join(dataFolder, 'postgres');
  if (!(await hasDatabase(folder))) return { is: 'absent' };
  const home = await locationOf(folder);
  const running = await runningCluster(folder);
  if (!running) return { home, is: 'stopped' };
  return { home, ...(await ask({ is: 'socket', ...running, database: databaseName }, dataFolder, clock)) };
}

async function ask(connection: Connection, dataFolder: string, clock: Clock): Promise<DatabaseState> {
  try {
    await using client = await connectAs(connection, dataFolder);
    const before = clock.wall();
    const { rows } = await client.query<{ now: number } & Omit<Answer, 'is' | 'aheadMs'>>(question);
    const { now, ...settings } = rows[0]!;
    return { is: 'running', ...settings, aheadMs: Math.round((before + clock.wall()) / 2 - now) };
  } catch (error) {
    return { is: 'silent', problem: errorText(error) };
  }
}

type Answer = Extract<DatabaseState, { is: 'running' }>;
