import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';

/** What a machine's token is checked against. */
export type PartIdentity = {
  id: string;
  orgId: string;
  machineId: string;
  machineName: string;
  locationId: string;
  secretHashes: Buffer[];
};

/** In the order of the ids; undefined: there is no such part. */
export async function readPartIdentities(db: Database, ids: readonly string[]): Promise<(PartIdentity | undefined)[]> {
  const { rows } = await sql<PartIdentity>`
    select part.id, part.org_id, part.machine_id, machine.name as machine_name, machine.location_id,
      array(select secret_hash from part_secret where part_id = part.id) as secret_hashes
    from part join machine on machine.id = part.machine_id
    where part.id = any(${ids}::uuid[])`.execute(db);
  const found = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => found.get(id));
}
