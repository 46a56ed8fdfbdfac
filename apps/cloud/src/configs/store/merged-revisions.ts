import { sql } from 'kysely';
import type { Database, Trx } from '../../database/database.ts';
import type { JsonObject, UsedFragment } from '../../database/schema.ts';

/** The next revision of a part whose own text stays: another revision of a fragment went into it. */
export type MergedRevision = {
  partId: string;
  /** The one before. */
  revision: number;
  config: JsonObject;
  used: readonly UsedFragment[];
  sha256: Buffer;
};

/** Parts of one statement: their configurations may be large. */
const atOnce = 50;

/**
 * Locks the parts that follow a fragment, which is locked already.
 *
 * @returns whether they are those that are given, at these revisions.
 */
export async function lockFollowers(
  trx: Trx,
  fragmentId: string,
  given: readonly { partId: string; revision: number }[],
): Promise<boolean> {
  const { rows } = await sql<{ id: string; revision: number }>`
    select id, revision from part
     where id in (select part_id from fragment_use where fragment_id = ${fragmentId} and pinned is null)
     order by id for update`.execute(trx);
  const revisions = new Map(rows.map(({ id, revision }) => [id, revision]));
  return rows.length === given.length && given.every(({ partId, revision }) => revisions.get(partId) === revision);
}

/** Saves the next revisions of locked parts. */
export async function insertMergedRevisions(
  db: Database,
  revisions: readonly MergedRevision[],
  { savedBy, comment }: { savedBy: string; comment: string },
): Promise<void> {
  for (let start = 0; start < revisions.length; start += atOnce) {
    const some = revisions.slice(start, start + atOnce);
    await sql`
      with new as (
        select * from unnest(${some.map(({ partId }) => partId)}::uuid[],
          ${some.map(({ config }) => JSON.stringify(config))}::jsonb[],
          ${some.map(({ used }) => JSON.stringify(used))}::jsonb[],
          ${some.map(({ sha256 }) => sha256)}::bytea[]) new(part_id, config, fragments, sha256)
      ), saved as (
        insert into config_revision (part_id, revision, org_id, text, config, sha256, saved_by, comment, fragments)
        select part.id, part.revision + 1, old.org_id, old.text, new.config, new.sha256, ${savedBy}, ${comment}, new.fragments
          from new join part on part.id = new.part_id
          join config_revision old on old.part_id = part.id and old.revision = part.revision
        returning part_id
      ), changed as (
        update part set revision = part.revision + 1, last_updated = clock_timestamp()
         where id in (select part_id from new)
      )
      insert into change (kind, key) select 'config', part_id from saved`.execute(db);
  }
}
