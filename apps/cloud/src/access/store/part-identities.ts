import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';

/** The part's data that its tokens are checked against. */
export type PartIdentity = {
  id: string;
  orgId: string;
  machineId: string;
  machineName: string;
  locationId: string;
  secretHashes: Buffer[];
};

/** @returns parts in the order of the IDs; undefined: no such part. */
export async function readPartIdentities(db: Database, ids: readonly string[]): Promise<(PartIdentity | undefined)[]> {
  const { rows } = await sql<PartIdentity>`
    select part.id, part.org_id, part.machine_id, machine.name as machine_name, machine.location_id,
      array(select secret_hash from part_secret where part_id = part.id) as secret_hashes
    from part join machine on machine.id = part.machine_id
    where part.id = any(${ids}::uuid[])`.execute(db);
  const found = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => found.get(id));
}
