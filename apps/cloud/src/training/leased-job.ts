import type { JsonObject } from '@bufbuild/protobuf';
import type { JobSpec } from '@platform/contract/job/job';
import { modelFrameworks } from '@platform/contract/job/model-kinds';
import { createScriptKey } from './store/attempts.ts';
import { writeLogs } from './store/job-reports.ts';
import type { JobRow } from './store/jobs.ts';
import type { RunnerDeps } from './own-attempt.ts';
import { timeOf } from '../rpc/protobuf-times.ts';

/** The data of a lease: the job, a token for this attempt and, for a script, a key for data. */
export async function leasedJob({ db, clock, authenticator, jobLogs }: RunnerDeps, row: JobRow) {
  if (row.attempt > 1) {
    // Sequence 0 puts this line first, and stores it once even if the lease is sent again.
    const message = `Attempt ${row.attempt} begins; what stands above is of an attempt that ended without a result.`;
    await writeLogs(db, row, row.attempt, [{ sequence: 0, time: clock.wall(), level: 'info', message }]);
    jobLogs.written(row.id);
  }
  const script = row.kind === 'custom' ? await createScriptKey(db, row) : undefined;
  return {
    id: row.id,
    attempt: row.attempt,
    organizationId: row.orgId,
    spec: specOf(row) as unknown as JsonObject,
    manifestSha256: row.manifestSha256,
    ...(row.leaseUntil === null ? {} : { leaseUntil: timeOf(row.leaseUntil) }),
    ...(row.deadline === null ? {} : { deadline: timeOf(row.deadline) }),
    ...(script && { scriptCredentials: { apiKeyId: script.id, apiKey: script.key } }),
    attemptToken: await authenticator.attemptToken(row.id, row.attempt),
  };
}

function specOf(row: JobRow): JobSpec {
  const framework = modelFrameworks.find((made) => made === row.modelFramework);
  return {
    id: row.id,
    attempt: row.attempt,
    org_id: row.orgId,
    kind: row.kind as JobSpec['kind'],
    model_name: row.modelName,
    model_version: row.modelVersion,
    labels: row.labels,
    arguments: row.arguments,
    seed: row.seed,
    limits: row.limits,
    deadline: new Date(row.deadline ?? 0).toISOString(),
    dataset_id: row.datasetId,
    dataset_version_id: row.datasetVersionId,
    ...(row.kind !== 'custom' && row.arguments['recipe'] ? { recipe: row.arguments['recipe'] } : {}),
    ...(row.kind !== 'custom' && framework ? { framework } : {}),
    ...packageOf(row),
    ...(row.containerVersion ? { container_version: row.containerVersion } : {}),
  };
}

/** The package that the job runs with: a script, or the model of a prediction. */
function packageOf(row: JobRow): Pick<JobSpec, 'script' | 'model'> {
  const { registryItemId, registryItemVersion: version, scriptSha256: sha256 } = row;
  if (sha256 === null) return {};
  if (row.kind === 'predict') return { model: { name: row.modelName, version, package_sha256: sha256 } };
  return { script: { registry_item_id: registryItemId, version, package_sha256: sha256 } };
}
