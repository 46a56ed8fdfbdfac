import { sql } from 'kysely';
import { PlatformError } from '@platform/contract/errors/errors';
import { boundedList } from '../../database/bounded-list.ts';
import { recordChange } from '../../database/changes.ts';
import { type Database, atUs } from '../../database/database.ts';
import { type Bounded, boundsOf } from '../../rpc/rules/answer-bounds.ts';
import type { ReleasePlace } from '../../rpc/rules/page-tokens.ts';
import type { Row } from '../../database/schema.ts';

export type ReleaseRow = Row<'release'>;
/** The data of a release at its publication. */
export type NewRelease = Omit<ReleaseRow, 'publishedOn' | 'target' | 'revokedOn'>;
export type ReleaseWithChannels = ReleaseRow & { channels: string[] };

/** @param name - empty: all programs. Newest first; revoked ones only if requested. */
export async function listReleases(
  db: Database,
  name: string,
  { isRevokedToo = false }: { isRevokedToo?: boolean } = {},
): Promise<ReleaseWithChannels[]> {
  const all = db.selectFrom('release').selectAll();
  const releases = (isRevokedToo ? all : all.where('revokedOn', 'is', null))
    .orderBy('publishedOn', 'desc')
    .orderBy('name')
    .orderBy('version')
    .orderBy('platform');
  const channels = await db.selectFrom('releaseChannel').selectAll().orderBy('channel').execute();
  const rows = await (name ? releases.where('name', '=', name) : releases).execute();
  return rows.map((row) => ({
    ...row,
    channels: channels.filter((at) => at.name === row.name && at.version === row.version).map((at) => at.channel),
  }));
}

/** Like `listReleases`, with revoked ones, by page. `us`: time of publication. */
export function newestReleases(
  db: Database,
  name: string,
  { after, size }: { after: ReleasePlace | undefined; size: number },
): Promise<Bounded<ReleaseWithChannels & { us: number }>> {
  const all = db
    .selectFrom('release')
    .selectAll()
    .select(sql<number>`(extract(epoch from published_on) * 1000000)::bigint`.as('us'))
    .select(
      sql<string[]>`array(select channel from release_channel points
        where points.name = release.name and points.version = release.version order by channel)`.as('channels'),
    );
  const named = name ? all.where('name', '=', name) : all;
  const rest = after
    ? named.where(sql<boolean>`(published_on < ${atUs(after.us)} or published_on = ${atUs(after.us)}
        and (name, version, platform) > (${after.name}, ${after.version}, ${after.platform}))`)
    : named;
  const query = rest.orderBy('publishedOn', 'desc').orderBy('name').orderBy('version').orderBy('platform');
  return boundedList<ReleaseWithChannels & { us: number }>(db, query, { ...boundsOf(size), atOnce: 1_000 });
}

export const findRelease = (
  db: Database,
  name: string,
  version: string,
  platform: string,
): Promise<ReleaseRow | undefined> =>
  db
    .selectFrom('release')
    .selectAll()
    .where((eb) => eb.and({ name, version, platform }))
    .where('revokedOn', 'is', null)
    .executeTakeFirst();

/** Repeating the call with the same bytes has no effect. @throws PlatformError RELEASE_EXISTS */
export async function insertRelease(db: Database, release: NewRelease): Promise<void> {
  await db
    .insertInto('release')
    .values(release)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const stored = await findRelease(db, release.name, release.version, release.platform);
  if (!stored?.sha256.equals(release.sha256)) {
    throw new PlatformError('RELEASE_EXISTS', {
      name: release.name,
      version: release.version,
      platform: release.platform,
    });
  }
  await recordChange(db, 'release', release.name);
}

/**
 * Call it in a transaction: its lock prevents a revocation before the channel is set. @throws PlatformError
 * RELEASE_NOT_FOUND
 */
export async function setChannel(db: Database, name: string, channel: string, version: string): Promise<void> {
  const builds = await db
    .selectFrom('release')
    .select('platform')
    .where((eb) => eb.and({ name, version }))
    .where('revokedOn', 'is', null)
    .forShare()
    .execute();
  if (builds.length === 0) throw new PlatformError('RELEASE_NOT_FOUND', { name, version });
  await db
    .insertInto('releaseChannel')
    .values({ name, channel, version })
    .onConflict((conflict) => conflict.columns(['name', 'channel']).doUpdateSet({ version }))
    .execute();
  await recordChange(db, 'release', name);
}

export const listChannels = (db: Database): Promise<{ name: string; channel: string; version: string }[]> =>
  db.selectFrom('releaseChannel').selectAll().execute();

export const findChannel = async (db: Database, name: string, channel: string): Promise<string | undefined> =>
  (await listChannels(db)).find((at) => at.name === name && at.channel === channel)?.version;

/**
 * Stores which releases the signed targets list with the same bytes.
 *
 * @returns names of the programs whose releases changed.
 */
export async function setTargets(
  db: Database,
  targets: readonly (Pick<ReleaseRow, 'name' | 'version' | 'platform'> & { path: string; sha256: string })[],
): Promise<string[]> {
  const paths = new Map(targets.map((one) => [`${one.name} ${one.version} ${one.platform} ${one.sha256}`, one.path]));
  const changed = new Set<string>();
  for (const { name, version, platform, sha256, target } of await listReleases(db, '', { isRevokedToo: true })) {
    const path = paths.get(`${name} ${version} ${platform} ${sha256.toString('hex')}`) ?? null;
    if (path === target) continue;
    await db
      .updateTable('release')
      .set({ target: path })
      .where((eb) => eb.and({ name, version, platform }))
      .execute();
    changed.add(name);
  }
  for (const name of changed) await recordChange(db, 'release', name);
  return [...changed];
}

/** Call it in a transaction. @throws PlatformError RELEASE_NOT_FOUND, RELEASE_IN_USE */
export async function revokeRelease(db: Database, name: string, version: string): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('release')
    .set({ revokedOn: sql<number>`coalesce(revoked_on, now())` })
    .where((eb) => eb.and({ name, version }))
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw new PlatformError('RELEASE_NOT_FOUND', { name, version });
  // Check after the update: its row lock keeps others from pointing a channel to this release.
  const channel = (await listChannels(db)).find((at) => at.name === name && at.version === version)?.channel;
  if (channel !== undefined) throw new PlatformError('RELEASE_IN_USE', { name, version, channel });
  await recordChange(db, 'release', name);
}

export type PatchRow = { fromSha256: Buffer; toSha256: Buffer; sha256: Buffer; sizeBytes: number };

/** Download path of a patch on this server. */
export const deltaPath = (sha256: Buffer): string => `/releases/deltas/${sha256.toString('hex')}`;

export const listPatches = (db: Database): Promise<PatchRow[]> =>
  db.selectFrom('releasePatch').selectAll().orderBy('sizeBytes').execute();

export const findPatch = (db: Database, sha256: Buffer): Promise<PatchRow | undefined> =>
  db.selectFrom('releasePatch').selectAll().where('sha256', '=', sha256).executeTakeFirst();

export async function insertPatch(db: Database, patch: PatchRow): Promise<void> {
  const { sha256, sizeBytes } = patch;
  await db
    .insertInto('releasePatch')
    .values(patch)
    .onConflict((conflict) => conflict.columns(['fromSha256', 'toSha256']).doUpdateSet({ sha256, sizeBytes }))
    .execute();
}
