import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';
import type { PackageKind } from '../../database/training-schema.ts';

export type DesiredPackage = { owner: string; name: string; version: string };
export type FoundPackage = { kind: PackageKind; hasVersion: boolean; newest: string | null };

/** @returns packages in the given order; undefined: none that a machine of this organization may use. */
export async function findDesiredPackages(
  db: Database,
  orgId: string,
  packages: readonly DesiredPackage[],
): Promise<(FoundPackage | undefined)[]> {
  if (packages.length === 0) return [];
  const { rows } = await sql<FoundPackage & { n: number }>`
    select want.n::integer as n, item.type as kind,
      exists (select from registry_version v
               where v.org_id = item.org_id and v.name = item.name and v.version = want.version) as has_version,
      (select v.version from registry_version v
        where v.org_id = item.org_id and v.name = item.name order by v.ordinal desc limit 1) as newest
      from unnest(${packages.map((one) => one.owner)}::text[], ${packages.map((one) => one.name)}::text[],
                  ${packages.map((one) => one.version)}::text[]) with ordinality want (owner, name, version, n)
      join organization org on org.id::text = lower(want.owner) or org.public_namespace = want.owner
      join registry_item item on item.org_id = org.id and item.name = want.name
       and (item.visibility <> 'private' or item.org_id = ${orgId})`.execute(db);
  const found = new Map(rows.map(({ n, ...row }) => [n, row]));
  return packages.map((_, index) => found.get(index + 1));
}
