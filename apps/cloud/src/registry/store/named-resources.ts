import { sql } from 'kysely';
import type { LimitedCaller } from '../rules/named-resources.ts';
import type { ResourceNames } from '../../access/rules/permissions.ts';
import type { Database } from '../../database/database.ts';

/** Captured images may arrive this late: a machine may have been offline while its configuration changed. */
const lateDays = 30;

/** Finds what the configuration of a machine, or the job of a script, names. */
export const namesFrom =
  (db: Database) =>
  (caller: LimitedCaller): Promise<ResourceNames> =>
    caller.kind === 'script' ? Promise.resolve(caller.names) : namedByPart(db, caller.id);

/**
 * Finds what the configuration of a part names. Packages: in the current revision and the previous one, which an
 * outdated machine still uses. Datasets: also in revisions in force during the last 30 days, because captures wait on
 * the machine.
 */
export async function namedByPart(db: Database, partId: string): Promise<ResourceNames> {
  const { rows } = await sql<{ packages: string[]; datasets: string[] }>`
    with late as materialized (
      select saved.config, saved.revision >= part.revision - 1 as is_recent
        from part join config_revision saved on saved.part_id = part.id
        left join config_revision next on next.part_id = part.id and next.revision = saved.revision + 1
       where part.id = ${partId} and saved.revision > part.revision - 1000
         and (saved.revision >= part.revision - 1 or next.saved_on > now() - make_interval(days => ${lateDays}))
    )
    select
      array(select distinct name #>> '{}' from late,
          lateral (select jsonb_path_query(config, '$.packages[*].package') as name
             union all select jsonb_path_query(config, '$.modules[*].module_id')) named
        where is_recent and jsonb_typeof(name) = 'string') as packages,
      array(select distinct name #>> '{}' from late, jsonb_path_query(config, '$.**.dataset_ids[*]') name
        where jsonb_typeof(name) = 'string') as datasets`.execute(db);
  const [found] = rows;
  return { packages: new Set(found?.packages), datasets: new Set(found?.datasets) };
}
