import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';

/** Numbers of an organization's rows. */
export type StoredRows = {
  /** Images and other captured files. */
  images: number;
  readings: number;
  datasets: number;
  machines: number;
  jobs: number;
  packageVersions: number;
  /** As of the last measuring sweep. */
  logBytes: number;
};

/**
 * Counts every row, so frequent callers must cache the result. Log lines are too many to count; a sweep measures their
 * bytes.
 */
export async function storedRows(db: Database, orgId: string): Promise<StoredRows> {
  const { rows } = await sql<StoredRows>`
    select (select count(*) from binary_data where org_id = ${orgId}) as images,
           (select count(*) from tabular_data where org_id = ${orgId}) as readings,
           (select count(*) from dataset where org_id = ${orgId}) as datasets,
           (select count(*) from machine where org_id = ${orgId}) as machines,
           (select count(*) from training_job where org_id = ${orgId}) as jobs,
           (select count(*) from registry_version where org_id = ${orgId}) as package_versions,
           (select coalesce(sum(size.bytes), 0)::bigint from part_log_size size
              join part on part.id = size.part_id join machine on machine.id = part.machine_id
             where machine.org_id = ${orgId}) as log_bytes`.execute(db);
  return rows[0] ?? { images: 0, readings: 0, datasets: 0, machines: 0, jobs: 0, packageVersions: 0, logBytes: 0 };
}
