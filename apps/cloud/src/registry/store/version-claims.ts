import { at, type Database, type Trx } from '../../database/database.ts';
import { versionTaken } from '../rules/version-taken.ts';

/**
 * Claims a version of a model or another package permanently, whatever happens to the job.
 *
 * @throws PlatformError MODEL_VERSION_TAKEN, SCRIPT_VERSION_TAKEN
 */
export async function claimVersion(
  trx: Trx,
  claim: { orgId: string; modelName: string; modelVersion: string; claimedBy: string | null; now: number },
  type = 'ml_model',
): Promise<void> {
  const { now, ...values } = claim;
  const done = await trx
    .insertInto('modelVersionClaim')
    .values({ ...values, claimedOn: at(now) })
    .onConflict((conflict) => conflict.columns(['orgId', 'modelName', 'modelVersion']).doNothing())
    .executeTakeFirst();
  if (done.numInsertedOrUpdatedRows === 1n) return;
  // The other claim has committed: the insert waited for its transaction.
  await refuseTakenVersion(trx, claim, type);
  throw new Error('a claim was refused and is not there');
}

/**
 * Checks the version early, before the work of freezing; the claim decides. The error names the job that has the
 * version: a client whose response was lost finds its job that way.
 *
 * @throws PlatformError MODEL_VERSION_TAKEN, SCRIPT_VERSION_TAKEN
 */
export async function refuseTakenVersion(
  db: Database | Trx,
  { orgId, modelName, modelVersion }: { orgId: string; modelName: string; modelVersion: string },
  type = 'ml_model',
): Promise<void> {
  const taken = await db
    .selectFrom('modelVersionClaim')
    .select('claimedBy')
    .where((eb) => eb.and({ orgId, modelName, modelVersion }))
    .executeTakeFirst();
  if (taken) throw versionTaken({ type, name: modelName, version: modelVersion, jobId: taken.claimedBy });
}
