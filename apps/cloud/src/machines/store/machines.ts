import { randomUUID } from 'node:crypto';
import { sql, type UpdateObject } from 'kysely';
import { PlatformError } from '@platform/contract/errors/errors';
import { isUuid } from '@platform/contract/text/names';
import { hashSecret, randomSecret, seal, unseal } from '../../access/secrets.ts';
import { recordChange } from '../../database/changes.ts';
import { at, type Database, sqlState } from '../../database/database.ts';
import type { Row, Tables } from '../../database/schema.ts';
import { restartLifeMs } from '../rules/restart-request.ts';

/** A part with its machine and location. */
export type PartRow = Omit<Row<'part'>, 'facts' | 'systemUpgrades' | 'systemUpgradesDone' | 'reportRun'> & {
  machineName: string;
  machineCreatedOn: number;
  locationId: string;
  locationName: string;
  tags: string[];
  /** Hash of the newest saved configuration; null: none was saved. */
  configSha256: Buffer | null;
  configSavedOn: number | null;
};

export type MachineRow = { id: string; orgId: string; locationId: string; name: string; createdOn: number };

export const partRows = (db: Database) =>
  db
    .selectFrom('part')
    .innerJoin('machine', 'machine.id', 'part.machineId')
    .innerJoin('location', 'location.id', 'machine.locationId')
    .leftJoin('configRevision as saved', (join) =>
      join.onRef('saved.partId', '=', 'part.id').onRef('saved.revision', '=', 'part.revision'),
    )
    .selectAll('part')
    .select([
      'saved.sha256 as configSha256',
      'saved.savedOn as configSavedOn',
      'machine.name as machineName',
      'machine.createdOn as machineCreatedOn',
      'machine.locationId',
      'location.name as locationName',
      'machine.tags',
    ]);

export const findPart = async (db: Database, id: string): Promise<PartRow | undefined> =>
  isUuid(id) ? partRows(db).where('part.id', '=', id).executeTakeFirst() : undefined;

/** The main part, by the ID of the machine or of one of its parts. */
export const findMainPart = async (db: Database, id: string): Promise<PartRow | undefined> =>
  isUuid(id)
    ? partRows(db)
        .where('part.isMain', '=', true)
        .where('part.machineId', '=', (eb) =>
          eb.fn.coalesce(
            eb.selectFrom('part as other').select('other.machineId').where('other.id', '=', id),
            sql<string>`${id}::uuid`,
          ),
        )
        .executeTakeFirst()
    : undefined;

/** A part of a machine of the location, by its name. */
export const findNamedPart = (db: Database, locationId: string, name: string): Promise<PartRow | undefined> =>
  partRows(db)
    .where((eb) => eb.and({ 'machine.locationId': locationId, 'part.name': name }))
    .orderBy('machine.name')
    .orderBy('machine.id')
    .limit(1)
    .executeTakeFirst();

export const listParts = (db: Database, machineId: string): Promise<PartRow[]> =>
  partRows(db).where('part.machineId', '=', machineId).orderBy('part.isMain', 'desc').orderBy('part.name').execute();

export const findMachine = async (db: Database, id: string): Promise<MachineRow | undefined> =>
  isUuid(id) ? db.selectFrom('machine').selectAll().where('id', '=', id).executeTakeFirst() : undefined;

const partOfMachine = 'part of this machine';

/** Relies on the unique constraint, because an earlier check could race. @throws PlatformError NAME_TAKEN */
async function takingName(name: string, kind: string, write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (sqlState(error) === '23505') throw new PlatformError('NAME_TAKEN', { name, kind }, error);
    throw error;
  }
}

/** @throws PlatformError NAME_TAKEN, LOCATION_NOT_FOUND if the location is deleted meanwhile. */
export async function updateMachine(
  db: Database,
  id: string,
  next: { name: string; locationId: string },
): Promise<void> {
  await takingName(next.name, 'machine of this location', () =>
    db.updateTable('machine').set(next).where('id', '=', id).execute(),
  ).catch((error: unknown) => {
    if (sqlState(error) === '23503')
      throw new PlatformError('LOCATION_NOT_FOUND', { locationId: next.locationId }, error);
    throw error;
  });
}

/** @throws PlatformError NAME_TAKEN */
export async function renamePart(db: Database, id: string, name: string): Promise<void> {
  await takingName(name, partOfMachine, () => db.updateTable('part').set({ name }).where('id', '=', id).execute());
  await recordChange(db, 'part', id);
}

export type NewPart = { orgId: string; machineId: string; name: string; isMain: boolean; sealingKey: Buffer };

/** Inserts a machine with its main part and that part's secret. @throws PlatformError NAME_TAKEN */
export async function insertMachine(
  db: Database,
  machine: { orgId: string; locationId: string; name: string },
  sealingKey: Buffer,
): Promise<{ machineId: string; partId: string }> {
  const machineId = randomUUID();
  const row = { id: machineId, ...machine };
  await takingName(machine.name, 'machine of this location', () => db.insertInto('machine').values(row).execute());
  const partId = await insertPart(db, {
    orgId: machine.orgId,
    machineId,
    name: `${machine.name}-main`,
    isMain: true,
    sealingKey,
  });
  return { machineId, partId };
}

/** @throws PlatformError NAME_TAKEN */
export async function insertPart(db: Database, { sealingKey, ...part }: NewPart): Promise<string> {
  const id = randomUUID();
  const row = {
    id,
    ...part,
    lastSeen: null,
    host: null,
    report: null,
    reportedOn: null,
    restartRequestedOn: null,
    quarantineClearedOn: null,
    systemUpgradeRequestedOn: null,
    migrationRequestedOn: null,
    repeatedLinesOn: null,
    repeatedSamplesOn: null,
    uninstalledOn: null,
  };
  await takingName(part.name, partOfMachine, () => db.insertInto('part').values(row).execute());
  await insertPartSecret(db, { orgId: part.orgId, partId: id, sealingKey });
  return id;
}

export async function insertPartSecret(
  db: Database,
  { orgId, partId, sealingKey }: { orgId: string; partId: string; sealingKey: Buffer },
): Promise<string> {
  const id = randomUUID();
  const secret = randomSecret();
  await db
    .insertInto('partSecret')
    .values({ id, orgId, partId, sealed: seal(sealingKey, partId, secret), secretHash: hashSecret(secret) })
    .execute();
  await recordChange(db, 'part', partId);
  return id;
}

export type PartSecret = { id: string; secret: string; createdOn: number };

/** Newest first: the first one is issued to machines. */
export async function readPartSecrets(db: Database, partId: string, sealingKey: Buffer): Promise<PartSecret[]> {
  const rows = await db
    .selectFrom('partSecret')
    .selectAll()
    .where('partId', '=', partId)
    .orderBy('createdOn', 'desc')
    .orderBy('id')
    .execute();
  return rows.map((row) => ({ id: row.id, secret: unseal(sealingKey, partId, row.sealed), createdOn: row.createdOn }));
}

/** Keeps the last secret: without one, the machine could never connect again. @returns whether it was deleted. */
export async function deletePartSecret(db: Database, partId: string, secretId: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('partSecret')
    .where((eb) => eb.and({ partId, id: secretId }))
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('partSecret as other')
          .select('other.id')
          .where('other.partId', '=', partId)
          .where('other.id', '!=', secretId),
      ),
    )
    .executeTakeFirstOrThrow();
  await recordChange(db, 'part', partId);
  return numDeletedRows > 0n;
}

/** @returns the IDs of its parts. */
export async function deleteMachine(db: Database, machineId: string): Promise<string[]> {
  const parts = await db.selectFrom('part').select('id').where('machineId', '=', machineId).execute();
  await db.deleteFrom('machine').where('id', '=', machineId).execute();
  for (const { id } of parts) await recordChange(db, 'part', id);
  return parts.map(({ id }) => id);
}

export async function deletePart(db: Database, partId: string): Promise<void> {
  await db.deleteFrom('part').where('id', '=', partId).execute();
  await recordChange(db, 'part', partId);
}

/** Stores a one-time request: the machine's next check takes it, and it is never issued twice. */
export const requestRestart = (db: Database, partId: string): Promise<void> =>
  changePart(db, partId, { restartRequestedOn: sql<number>`now()` }, 'restart');

/** @param kind - of the change that others must notice. */
async function changePart(
  db: Database,
  partId: string,
  set: UpdateObject<Tables, 'part'>,
  kind: 'part' | 'restart' = 'part',
): Promise<void> {
  await db.updateTable('part').set(set).where('id', '=', partId).execute();
  await recordChange(db, kind, partId);
}

/** Age in ms of a request that was taken; undefined: no request. `expired`: the request is too old. */
export type TakenRestart = { agoMs: number } | 'expired' | undefined;

/** Takes each request once. @returns requests in the order of the IDs. */
export async function takeRestarts(db: Database, partIds: readonly string[]): Promise<TakenRestart[]> {
  // Sorted by ID, so that two transactions cannot deadlock.
  const { rows } = await sql<{ id: string; agoMs: number }>`
    with asked as (
      select id, restart_requested_on as time from part
       where id = any(${partIds}::uuid[]) and restart_requested_on is not null order by id for update)
    update part set restart_requested_on = null from asked where part.id = asked.id
    returning part.id, greatest(0, extract(epoch from now() - asked.time) * 1000)::double precision as ago_ms`.execute(
    db,
  );
  const taken = new Map(rows.map(({ id, agoMs }) => [id, agoMs]));
  return partIds.map((id) => {
    const agoMs = taken.get(id);
    taken.delete(id); // a duplicate ID in one batch gets the request once
    return agoMs === undefined ? undefined : agoMs < restartLifeMs ? { agoMs } : 'expired';
  });
}

/** Stores that the agent reported its removal. @param now - ms since 1970, of the clock that also sets `lastSeen`. */
export async function saveUninstalled(db: Database, partId: string, now: number): Promise<void> {
  await db
    .updateTable('part')
    .set({ uninstalledOn: at(now) })
    .where('id', '=', partId)
    .execute();
}

/** Releases all versions that the machine has quarantined so far. */
export const clearQuarantine = (db: Database, partId: string): Promise<void> =>
  changePart(db, partId, {
    quarantineClearance: sql<number>`quarantine_clearance + 1`,
    quarantineClearedOn: sql<number>`now()`,
  });

export const requestSystemUpgrade = (db: Database, partId: string): Promise<void> =>
  changePart(db, partId, {
    systemUpgrades: sql<number>`system_upgrades + 1`,
    systemUpgradeRequestedOn: sql<number>`now()`,
  });

/** Deletes the report of an earlier migration: the next one reports its own result. */
export const requestMigration = (db: Database, partId: string): Promise<void> =>
  changePart(db, partId, { migrationRequestedOn: sql<number>`now()`, report: null, reportedOn: null });

/** Sorted by ID, so that two writers cannot deadlock. */
export async function saveLastSeen(db: Database, seen: ReadonlyMap<string, number>): Promise<void> {
  const rows = [...seen].toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (rows.length === 0) return;
  const ids = rows.map(([id]) => id);
  const times = rows.map(([, ms]) => ms);
  await sql`
    update part set last_seen = to_timestamp(seen.ms / 1000)
    from unnest(${ids}::uuid[], ${times}::double precision[]) seen(id, ms) where part.id = seen.id`.execute(db);
}
