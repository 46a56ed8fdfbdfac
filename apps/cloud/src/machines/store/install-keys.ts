import { randomBytes, randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { installKeyPrefix, longestDetail, type ReportedStep } from '@platform/contract/provisioning/install-key';
import { hashSecret } from '../../access/secrets.ts';
import type { Maker } from '../../access/store/makers.ts';
import { at, type Database } from '../../database/database.ts';
import type { Row } from '../../database/schema.ts';

/** Replaces the one-time key of a part. @param of - `expiresOn`: ms since 1970. @returns the key, which is not stored. */
export async function replaceInstallKey(
  db: Database,
  {
    partId,
    orgId,
    expiresOn,
    madeBy,
  }: { partId: string; orgId: string; expiresOn: number; madeBy?: Maker | undefined },
): Promise<{ id: string; key: string }> {
  const id = randomUUID();
  const key = `${installKeyPrefix}${randomBytes(24).toString('base64url')}`;
  const row = {
    id,
    keyHash: hashSecret(key),
    createdOn: sql<number>`now()`,
    expiresOn: at(expiresOn),
    installerHash: null,
    usedOn: null,
    reportedOn: null,
    madeBy: madeBy ? JSON.stringify(madeBy) : null,
  };
  await db
    .insertInto('installKey')
    .values({ partId, orgId, ...row })
    .onConflict((conflict) => conflict.column('partId').doUpdateSet(row))
    .execute();
  // After the row of the key is locked, so that steps of the key before cannot follow.
  await db.deleteFrom('installStep').where('partId', '=', partId).execute();
  return { id, key };
}

/** A key as an installer presents it. `now`: ms since 1970. */
export type PresentedKey = { id: string; key: string; installer: string; now: number };

type RedeemedKey = { partId: string; orgId: string; isFirst: boolean; madeBy: Maker | null };

/**
 * Uses a key for an installer, which may do so again until it has reported that it is done. An empty installer is
 * another one each time.
 *
 * @returns undefined: it is wrong or expired, another installer used it, or it is done.
 */
export async function redeemInstallKey(
  db: Database,
  { id, key, installer, now }: PresentedKey,
  partId: string,
): Promise<RedeemedKey | undefined> {
  const hash = hashSecret(installer || randomUUID());
  // The row is locked first, so that two installers cannot both be the first.
  const { rows } = await sql<RedeemedKey>`
    with found as (
      select part_id, installer_hash is null as is_first from install_key
       where id = ${id} and part_id::text = ${partId} and key_hash = ${hashSecret(key)} and expires_on > ${at(now)}
         and (installer_hash is null or installer_hash = ${hash})
         and not exists (select from install_step step where step.part_id = install_key.part_id and step.kind = 'installed')
         for update)
    update install_key set installer_hash = ${hash}, used_on = coalesce(used_on, ${at(now)})
      from found where install_key.part_id = found.part_id
    returning install_key.part_id, install_key.org_id, install_key.made_by, found.is_first`.execute(db);
  return rows[0];
}

/** The part of a key that was right, but not for this installer or no longer. */
export async function findRefusedKey(
  db: Database,
  { id, key }: Pick<PresentedKey, 'id' | 'key'>,
): Promise<{ partId: string; orgId: string } | undefined> {
  return db
    .selectFrom('installKey')
    .select(['partId', 'orgId'])
    .where((eb) => eb.and({ id, keyHash: hashSecret(key) }))
    .executeTakeFirst();
}

type StepKind = ReportedStep | 'refused';

/** Steps that a step removes: a repeated start begins anew, and what goes on has not failed. */
const removed: Readonly<Record<StepKind, readonly StepKind[]>> = {
  started: ['downloaded', 'verified', 'failed', 'refused'],
  downloaded: ['failed'],
  verified: ['failed'],
  installed: ['failed', 'refused'],
  failed: [],
  refused: [],
};

/** Stores how far an installation with a key came, unless a newer key has replaced it. `now`: ms since 1970. */
export async function saveInstallStep(
  db: Database,
  {
    partId,
    orgId,
    keyId,
    kind,
    now,
    detail,
    address,
  }: { partId: string; orgId: string; keyId: string; kind: StepKind; now: number; detail: string; address: string },
): Promise<void> {
  const text = detail.replaceAll('\0', '').slice(0, longestDetail).toWellFormed();
  const row = { time: at(now), detail: text, address };
  await db.transaction().execute(async (trx) => {
    // It stays until the end of the transaction.
    const { rows } = await sql`
      select from install_key where part_id = ${partId} and id = ${keyId} for key share`.execute(trx);
    if (rows.length === 0) return;
    await trx
      .deleteFrom('installStep')
      .where('partId', '=', partId)
      .where('kind', 'in', [...removed[kind], kind])
      .execute();
    await trx
      .insertInto('installStep')
      .values({ partId, orgId, kind, ...row })
      .onConflict((conflict) => conflict.columns(['partId', 'kind']).doUpdateSet(row))
      .execute();
  });
}

/**
 * The part whose installer presents a key: until the key is used any one, then the one that used it.
 *
 * @returns undefined: the key is wrong, expired, or another's.
 */
export async function installerOf(
  db: Database,
  { id, key, installer, now }: PresentedKey,
): Promise<{ partId: string; orgId: string } | undefined> {
  const { rows } = await sql<{ partId: string; orgId: string }>`
    select part_id, org_id from install_key
     where id = ${id} and key_hash = ${hashSecret(key)} and expires_on > ${at(now)}
       and (installer_hash is null or installer_hash = ${hashSecret(installer)})`.execute(db);
  return rows[0];
}

export type Installation = Pick<Row<'installKey'>, 'createdOn' | 'expiresOn' | 'usedOn' | 'reportedOn'> & {
  steps: Pick<Row<'installStep'>, 'kind' | 'time' | 'detail' | 'address'>[];
};

/** The newest key of a part and its steps, by time. Undefined: it has none. */
export async function readInstallation(db: Database, partId: string): Promise<Installation | undefined> {
  const key = await db
    .selectFrom('installKey')
    .select(['createdOn', 'expiresOn', 'usedOn', 'reportedOn'])
    .where('partId', '=', partId)
    .executeTakeFirst();
  const steps = await db
    .selectFrom('installStep')
    .select(['kind', 'time', 'detail', 'address'])
    .where('partId', '=', partId)
    .orderBy('time')
    .execute();
  return key && { ...key, steps };
}

/** Notes the first report of agents whose key was used. */
export async function noteFirstReports(db: Database, partIds: readonly string[]): Promise<void> {
  if (partIds.length === 0) return;
  await sql`
    update install_key set reported_on = now()
     where part_id = any(${partIds}::uuid[]) and used_on is not null and reported_on is null`.execute(db);
}
