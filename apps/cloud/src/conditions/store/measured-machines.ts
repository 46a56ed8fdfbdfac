import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';

/** A machine by its main part, without its report. Times in ms since 1970. */
export interface MachineState {
  readonly id: string;
  readonly orgId: string;
  readonly machineId: string;
  readonly name: string;
  readonly createdOn: number;
  readonly lastSeen: number | null;
  readonly uninstalledOn: number | null;
  readonly reportedOn: number | null;
  readonly diskFree: number | null;
  readonly diskSize: number | null;
  readonly agentVersion: string | null;
  readonly serverVersion: string | null;
}

const fact = (name: string) => sql<string | null>`coalesce(part.facts ->> ${name}::text, part.host ->> ${name}::text)`;
const numberOf = (name: string) => sql<number | null>`(part.facts ->> ${name}::text)::double precision`;

export const readMachineStates = (db: Database): Promise<MachineState[]> =>
  db
    .selectFrom('part')
    .innerJoin('machine', 'machine.id', 'part.machineId')
    .select([
      'part.id',
      'part.orgId',
      'part.machineId',
      'machine.name',
      'machine.createdOn',
      'part.lastSeen',
      'part.uninstalledOn',
      'part.reportedOn',
      numberOf('disk_free').as('diskFree'),
      numberOf('disk_size').as('diskSize'),
      fact('agent_version').as('agentVersion'),
      fact('server_version').as('serverVersion'),
    ])
    .where('part.isMain', '=', true)
    .execute();

export const readReports = (db: Database, partIds: readonly string[]) =>
  db
    .selectFrom('part')
    .select(['id', 'report', 'reportedOn'])
    .where(sql<boolean>`id = any(${partIds}::uuid[])`)
    .execute();

/** Parts about which the server notices something itself: few of many. */
export async function readNoticedParts(db: Database, repeatedSince: Date) {
  const repeated = await db
    .selectFrom('part')
    .select(['id', 'repeatedLines', 'repeatedLinesOn', 'repeatedSamples', 'repeatedSamplesOn'])
    .where(sql<boolean>`(repeated_lines_on > ${repeatedSince} or repeated_samples_on > ${repeatedSince})`)
    .execute();
  const returned = await sql<{
    partId: string;
  }>`select distinct part_id from part_run where returned_on is not null`.execute(db);
  return { repeated, returned: returned.rows.map(({ partId }) => partId) };
}
