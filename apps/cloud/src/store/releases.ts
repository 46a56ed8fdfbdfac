import { sql } from 'kysely';
import { PlatformError } from '@platform/contract/errors';
import { recordChange } from './changes.ts';
import type { Database } from './database.ts';

export type ReleaseRow = {
  name: string;
  version: string;
  platform: string;
  sha256: Buffer;
  sizeBytes: number;
  publishedOn: number;
};
export type ReleaseWithChannels = ReleaseRow & { channels: string[] };

/** @param name - empty: of all programs. Newest first. */
export async function listReleases(db: Database, name: string): Promise<ReleaseWithChannels[]> {
  const releases = db
    .selectFrom('release')
    .selectAll()
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

export const findRelease = (
  db: Database,
  name: string,
  version: string,
  platform: string,
): Promise<ReleaseRow | undefined> =>
  db
    .selectFrom('release')
    .selectAll()
    .where('name', '=', name)
    .where('version', '=', version)
    .where('platform', '=', platform)
    .executeTakeFirst();

/** Repeating it with the same bytes changes nothing. @throws PlatformError RELEASE_EXISTS */
export async function insertRelease(db: Database, release: Omit<ReleaseRow, 'publishedOn'>): Promise<void> {
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

/** @throws PlatformError RELEASE_NOT_FOUND */
export async function setChannel(db: Database, name: string, channel: string, version: string): Promise<void> {
  const { rows } = await sql`
    insert into release_channel (name, channel, version)
    select ${name}, ${channel}, ${version} where exists (select from release where name = ${name} and version = ${version})
    on conflict (name, channel) do update set version = excluded.version returning 1`.execute(db);
  if (rows.length === 0) throw new PlatformError('RELEASE_NOT_FOUND', { name, version });
  await recordChange(db, 'release', name);
}

export const listChannels = (db: Database): Promise<{ name: string; channel: string; version: string }[]> =>
  db.selectFrom('releaseChannel').selectAll().execute();

export const findChannel = async (db: Database, name: string, channel: string): Promise<string | undefined> =>
  (await listChannels(db)).find((at) => at.name === name && at.channel === channel)?.version;
