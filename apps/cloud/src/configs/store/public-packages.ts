import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';

/** Which of these packages every caller may read. @returns answers in the given order. */
export async function arePublic(
  db: Database,
  packages: readonly { owner: string; name: string }[],
): Promise<boolean[]> {
  if (packages.length === 0) return [];
  const { rows } = await sql<{ n: number }>`
    select want.n::integer as n
      from unnest(${packages.map((one) => one.owner)}::text[], ${packages.map((one) => one.name)}::text[])
        with ordinality want (owner, name, n)
      join organization org on org.id::text = lower(want.owner) or org.public_namespace = want.owner
      join registry_item item on item.org_id = org.id and item.name = want.name
     group by want.n having bool_and(item.visibility <> 'private')`.execute(db);
  const found = new Set(rows.map(({ n }) => n));
  return packages.map((_, index) => found.has(index + 1));
}
