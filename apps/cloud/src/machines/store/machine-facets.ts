import { type RawBuilder, sql } from 'kysely';
import type { ListedField } from '@platform/contract/machine/facets';
import type { Database } from '../../database/database.ts';
import { type MachineFilter, matchingMachines } from './machine-lists.ts';
import { type Contacts, factOf, folded, stateOf, versionOf } from './machine-terms.ts';

const mostValues = 20;

/** One field with its values in the order of their numbers. */
export interface Facet {
  readonly field: ListedField;
  readonly values: readonly { readonly value: string; readonly machines: number }[];
  readonly more: number;
}

const one = (value: RawBuilder<string>): RawBuilder<string[]> => sql`array[${value}]`;

/** All values that a machine has, each once. */
function valuesOf(field: ListedField, contacts: Contacts): RawBuilder<string[]> {
  switch (field) {
    case 'state':
      return one(stateOf(contacts));
    case 'tag':
      return sql`machine.tags`;
    case 'location':
      return one(sql`location.name`);
    case 'server':
    case 'agent':
      return one(versionOf(field));
    case 'condition':
      return sql`(select array_agg(distinct split_part(line, ':', 1))
        from string_to_table(${factOf('condition')}, chr(10)) line)`;
    case 'host':
      return one(factOf('hostname'));
    default:
      return one(factOf(field));
  }
}

/** How many of the machines have which values. One pass over the machines, whatever the number of fields. */
export async function machineFacets(
  db: Database,
  filter: MachineFilter,
  { fields, containing, contacts }: { fields: readonly ListedField[]; containing: string; contacts: Contacts },
): Promise<Facet[]> {
  if (fields.length === 0) return [];
  const listed = fields.map(
    (field, index) => sql`select ${sql.lit(index)} as field, ${valuesOf(field, contacts)} as held`,
  );
  const found = matchingMachines(db, filter).select(['part.id']);
  const wanted =
    containing === '' ? sql`true` : sql`position(${folded(sql`${containing}::text`)} in ${folded(sql`value`)}) > 0`;
  const { rows } = await sql<{ field: number; value: string; machines: number; all: number }>`
    with found as materialized (${found}),
    counted as (
      select field, value, count(*)::int as machines
        from found join part on part.id = found.id
          join machine on machine.id = part.machine_id join location on location.id = machine.location_id,
          lateral (${sql.join(listed, sql` union all `)}) listed, unnest(held) value
        where value <> '' and ${wanted} group by field, value),
    ranked as (
      select *, row_number() over (partition by field order by machines desc, value)::int as place,
        (count(*) over (partition by field))::int as "all" from counted)
    select field, value, machines, "all" from ranked where place <= ${mostValues}::int order by field, place`.execute(
    db,
  );
  return fields.map((field, index) => {
    const values = rows.filter((row) => row.field === index);
    return { field, values, more: Math.max(0, (values[0]?.all ?? 0) - values.length) };
  });
}
