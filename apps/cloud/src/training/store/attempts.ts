import { randomUUID } from 'node:crypto';
import type { AttemptCaller, ScriptCaller } from '../../access/rules/permissions.ts';
import { hashSecret, randomSecret } from '../../access/secrets.ts';
import type { Database } from '../../database/database.ts';
import { isUuid } from '@platform/contract/text/names';
import type { JobRow } from './jobs.ts';

/** How long after its end an attempt may repeat its final report. */
const finalReportMs = 10 * 60_000;

/** The attempt that a token names. Undefined: it was lost, or it ended more than `finalReportMs` ago. */
export async function findAttempt(
  db: Database,
  jobId: string,
  attempt: number,
  now: number,
): Promise<AttemptCaller | undefined> {
  if (!isUuid(jobId)) return undefined;
  const row = await db
    .selectFrom('trainingJob')
    .select(['orgId', 'id', 'state', 'runnerId', 'manifestSha256', 'scriptSha256', 'endedOn'])
    .where((eb) => eb.and({ id: jobId, attempt }))
    .executeTakeFirst();
  if (!row || row.state === 'pending') return undefined;
  const isOver = row.state !== 'in_progress' && row.state !== 'canceling';
  if (isOver && now - (row.endedOn ?? 0) > finalReportMs) return undefined;
  return {
    kind: 'attempt',
    id: row.id,
    name: `attempt ${attempt}`,
    orgId: row.orgId,
    attempt,
    runnerId: row.runnerId ?? '',
    manifestSha256: row.manifestSha256,
    scriptSha256: row.scriptSha256 ?? undefined,
    isOver,
    grants: [],
  };
}

/** Creates a key for the script of this attempt and deletes the key of the previous attempt. */
export async function createScriptKey(
  db: Database,
  { orgId, id: jobId, attempt }: Pick<JobRow, 'orgId' | 'id' | 'attempt'>,
): Promise<{ id: string; key: string }> {
  const [id, key] = [randomUUID(), randomSecret()];
  const values = { attempt, id, keyHash: hashSecret(key) };
  await db
    .insertInto('attemptKey')
    .values({ orgId, jobId, ...values })
    .onConflict((conflict) => conflict.columns(['orgId', 'jobId']).doUpdateSet(values))
    .execute();
  return { id, key };
}

/** The script that has this key, while its attempt runs. */
export async function findScriptKey(
  db: Database,
  id: string,
): Promise<{ caller: ScriptCaller; keyHash: Buffer } | undefined> {
  const row = await db
    .selectFrom('attemptKey')
    .innerJoin('trainingJob', (join) =>
      join
        .onRef('trainingJob.orgId', '=', 'attemptKey.orgId')
        .onRef('trainingJob.id', '=', 'attemptKey.jobId')
        .onRef('trainingJob.attempt', '=', 'attemptKey.attempt'),
    )
    .select(['attemptKey.orgId', 'attemptKey.id', 'attemptKey.keyHash', 'trainingJob.id as jobId'])
    .select(['trainingJob.datasetId', 'trainingJob.registryItemId', 'trainingJob.arguments'])
    .where('attemptKey.id', '=', id)
    .where('trainingJob.state', 'in', ['in_progress', 'canceling'])
    .executeTakeFirst();
  if (!row) return undefined;
  const { orgId, keyHash, datasetId } = row;
  return {
    keyHash,
    caller: {
      kind: 'script',
      id: row.id,
      name: `script of job ${row.jobId}`,
      orgId,
      datasetId,
      // An argument may name the model that the script starts from.
      names: {
        packages: new Set([row.registryItemId, ...Object.values(row.arguments)]),
        datasets: new Set([datasetId]),
      },
      grants: [{ role: 'reader', resource: 'organization', resourceId: orgId, orgId }],
    },
  };
}
