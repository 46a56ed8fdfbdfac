import type { Client } from 'pg';
import type { Content } from '../rules/plan.ts';

/** Also generated columns: the new database computes them anew. */
const tablesQuery = `
  select quote_ident(c.relname) as name, string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid
   where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     and c.relname <> 'migration' and a.attnum > 0 and not a.attisdropped
   group by c.relname order by c.relname`;

/** One text form of each value in every version. */
const forms = [
  `set timezone = 'UTC'`,
  `set datestyle = 'ISO, MDY'`,
  `set intervalstyle = 'postgres'`,
  `set extra_float_digits = 1`,
  `set bytea_output = 'hex'`,
].join('; ');

const half = (part: 'left' | 'right'): string => `coalesce(sum(('x' || ${part}(h, 16))::bit(64)::bigint::numeric), 0)`;

/** Counts and hashes all rows and reads all sequences. It needs no order and no copy of the rows. */
export async function contentOf(client: Client): Promise<Content> {
  await client.query(forms);
  const tables: Record<string, string> = {};
  for (const { name, columns } of (await client.query<{ name: string; columns: string }>(tablesQuery)).rows) {
    const { rows } = await client.query<{ content: string }>(
      `select count(*) || ' ' || ${half('left')} || ' ' || ${half('right')} as content
         from (select md5(row(${columns})::text) as h from ${name}) r`,
    );
    tables[name] = rows[0]?.content ?? '';
  }
  const { rows } = await client.query<{ name: string; value: string }>(
    `select sequencename as name, last_value::text as value from pg_sequences
      where schemaname = current_schema() and last_value is not null`,
  );
  return { tables, sequences: Object.fromEntries(rows.map(({ name, value }) => [name, value])) };
}
