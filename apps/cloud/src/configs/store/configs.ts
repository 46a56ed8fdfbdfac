import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { PlatformError } from '@platform/contract/errors/errors';
import { recordChange } from '../../database/changes.ts';
import { at, type Database } from '../../database/database.ts';
import type { JsonObject, Row, UsedFragment } from '../../database/schema.ts';

export type ConfigRow = Omit<Row<'configRevision'>, 'partId' | 'orgId'>;

/** Configuration of a part before the first revision. */
const emptyConfig: ConfigRow = {
  revision: 0,
  text: '{}',
  config: {},
  sha256: hash('{}'),
  savedBy: '',
  savedOn: 0,
  comment: '',
  fragments: null,
};

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** @param revision - 0: the newest. */
export async function findConfig(db: Database, partId: string, revision = 0): Promise<ConfigRow | undefined> {
  const rows = db.selectFrom('configRevision').selectAll().where('partId', '=', partId);
  const row = await (
    revision === 0 ? rows.orderBy('revision', 'desc').limit(1) : rows.where('revision', '=', revision)
  ).executeTakeFirst();
  return row ?? (revision === 0 ? emptyConfig : undefined);
}

/** Like `findConfig`. @throws PlatformError INVALID_ARGUMENT: there is no such revision */
export async function requireConfig(
  db: Database,
  part: { id: string; revision: number },
  revision: number,
): Promise<ConfigRow> {
  const config = await findConfig(db, part.id, revision);
  if (config) return config;
  const limit = `1 to ${part.revision}`;
  throw new PlatformError('INVALID_ARGUMENT', { field: 'revision', value: String(revision), limit });
}

/** The newest revision of a part that has this content; 0: none. @returns numbers in the order of the contents. */
export async function findRevisionsOf(
  db: Database,
  contents: readonly { partId: string; sha256: Uint8Array }[],
): Promise<number[]> {
  const { rows } = await sql<{ place: number; revision: number }>`
    select content.place, coalesce(max(saved.revision), 0)::bigint as revision
      from unnest(${contents.map(({ partId }) => partId)}::uuid[], ${contents.map(({ sha256 }) => Buffer.from(sha256))}::bytea[])
        with ordinality content(part_id, sha256, place)
      left join config_revision saved on saved.part_id = content.part_id and saved.sha256 = content.sha256
     group by content.place order by content.place`.execute(db);
  return rows.map(({ revision }) => revision);
}

/** A revision without its text, which may be large. */
export type SavedRevision = Omit<ConfigRow, 'text' | 'config'>;

/** Newest first, before a revision. */
export async function revisionsBefore(
  db: Database,
  partId: string,
  page: { before: number | undefined; limit: number; from?: number; until?: number },
): Promise<SavedRevision[]> {
  let rows = db
    .selectFrom('configRevision')
    .select(['revision', 'sha256', 'savedBy', 'savedOn', 'comment', 'fragments'])
    .where('partId', '=', partId);
  if (page.before !== undefined) rows = rows.where('revision', '<', page.before);
  if (page.from !== undefined) rows = rows.where('savedOn', '>=', at(page.from));
  if (page.until !== undefined) rows = rows.where('savedOn', '<=', at(page.until));
  return rows.orderBy('revision', 'desc').limit(page.limit).execute();
}

export type NewConfig = {
  orgId: string;
  partId: string;
  text: string;
  config: JsonObject;
  savedBy: string;
  comment?: string;
  /** Identifies the content; undefined: it has neither secrets nor fragments. */
  sha256?: Buffer;
  fragments?: readonly UsedFragment[] | null;
};

/** Condition for saving: the current revision, or the time of the last change (ms since 1970). */
export type Expected = { revision?: number; lastUpdated?: number };

/**
 * Saves the next revision of a part and keeps the earlier ones. Call it in a transaction.
 *
 * @throws PlatformError CONFIG_CONFLICT if another caller saved meanwhile, PART_NOT_FOUND.
 */
export async function insertConfig(db: Database, config: NewConfig, expected: Expected): Promise<number> {
  const part = await db
    .selectFrom('part')
    .select(['revision', 'lastUpdated'])
    .where('id', '=', config.partId)
    .forUpdate()
    .executeTakeFirst();
  if (!part) throw new PlatformError('PART_NOT_FOUND', { partId: config.partId });
  const isStale =
    (expected.revision !== undefined && expected.revision !== part.revision) ||
    (expected.lastUpdated !== undefined && expected.lastUpdated !== part.lastUpdated);
  if (isStale) {
    throw new PlatformError('CONFIG_CONFLICT', {
      revision: part.revision,
      ...(expected.revision !== undefined && { expectedRevision: expected.revision }),
    });
  }
  const revision = part.revision + 1;
  await db
    .insertInto('configRevision')
    .values({
      partId: config.partId,
      revision,
      orgId: config.orgId,
      text: config.text,
      config: JSON.stringify(config.config),
      sha256: config.sha256 ?? hash(config.text),
      savedBy: config.savedBy,
      comment: config.comment ?? '',
      fragments: isMerged(config) ? JSON.stringify(config.fragments) : null,
    })
    .execute();
  await saveUses(db, config);
  await db
    .updateTable('part')
    .set({ revision, lastUpdated: sql<number>`clock_timestamp()` })
    .where('id', '=', config.partId)
    .execute();
  await recordChange(db, 'config', config.partId);
  return revision;
}

const isMerged = ({ fragments }: NewConfig): boolean =>
  fragments !== undefined && fragments !== null && fragments.length > 0;

/** Which fragments the newest configuration of the part uses. */
async function saveUses(db: Database, config: NewConfig): Promise<void> {
  const { partId, orgId } = config;
  await db.deleteFrom('fragmentUse').where('partId', '=', partId).execute();
  const uses = (config.fragments ?? []).map(({ id, revision, isPinned }, place) => ({
    partId,
    place,
    fragmentId: id,
    orgId,
    pinned: isPinned ? revision : null,
  }));
  if (uses.length > 0) await db.insertInto('fragmentUse').values(uses).execute();
}
