// The database of a restore: empty at its begin, marked until its end.
import type { Client } from 'pg';
import { PlatformError } from '@platform/contract/errors/errors';

/** Exists while a restore fills the database. */
const mark = 'platform_restore';

const objects = `
  select c.relname as name, format(case c.relkind when 'v' then 'drop view %I cascade' when 'S' then 'drop sequence %I cascade'
           else 'drop table %I cascade' end, c.relname) as statement
    from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'v', 'S')
      and not c.relispartition
      and not exists (select from pg_depend d where d.objid = c.oid and d.classid = 'pg_class'::regclass and d.deptype in ('i', 'a'))
  union all
  select p.proname, format('drop routine %s cascade', p.oid::regprocedure)
    from pg_proc p where p.pronamespace = current_schema()::regnamespace`;

/**
 * Marks an empty database; empties one whose restore did not end.
 *
 * @throws PlatformError RESTORE_TARGET_IN_USE
 */
export async function beginTarget(client: Client): Promise<void> {
  await client.query('begin');
  try {
    const { rows } = await client.query<{ name: string; statement: string }>(objects);
    if (rows[0] && !rows.some(({ name }) => name === mark))
      throw new PlatformError('RESTORE_TARGET_IN_USE', { path: 'the database', found: rows[0].name });
    for (const { statement } of rows) await client.query(statement.replace(/^drop (\w+) /, 'drop $1 if exists '));
    await client.query(`create table ${mark} ()`);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}

export const endTarget = async (client: Client): Promise<void> => void (await client.query(`drop table ${mark}`));
