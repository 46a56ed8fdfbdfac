import { randomUUID } from 'node:crypto';
import type { ConnectRouter } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors';
import {
  MLTrainingService,
  ModelFramework,
  ModelType,
  type SubmitCustomTrainingJobRequest,
  type SubmitTrainingJobRequest,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { callerOf } from '../auth/caller.ts';
import { advice, checkSingleLabel } from '../rules/dataset-rules.ts';
import { submitted } from '../rules/job-life.ts';
import { logToken, readLogToken } from '../rules/page-tokens.ts';
import { type Caller, requireOwner } from '../rules/permissions.ts';
import * as check from '../rules/submission.ts';
import { actorOf, audit } from '../store/audit.ts';
import { membersOf } from '../store/binary-data.ts';
import { at } from '../store/database.ts';
import { freeze, writeVersion } from '../store/dataset-versions.ts';
import { findDataset } from '../store/datasets.ts';
import { readLogs, readMetrics, writeLogs } from '../store/job-reports.ts';
import {
  claimVersion,
  deleteEnded,
  findJob,
  insertJob,
  type JobRow,
  listJobs,
  moveOn,
  queuePositions,
  refuseTakenVersion,
} from '../store/jobs.ts';
import { findPackage, orgOfNamespace } from '../store/registry.ts';
import { timeOf } from './protobuf-times.ts';
import type { Deps } from './routes.ts';
import { frameworkName, kindOf, metadataOf, stateOf } from './training-metadata.ts';

type TrainingDeps = Pick<Deps, 'db' | 'blobs' | 'clock'>;

/** What a job may use; the runner enforces it. */
const limits = { wall_seconds: 3600, memory_mib: 2048, disk_mib: 4096 };
const logPage = 500;

export const mlTrainingRoutes =
  (deps: TrainingDeps) =>
  (router: ConnectRouter): void => {
    const { db, clock } = deps;
    const ownJob = async (id: string, caller: Caller): Promise<JobRow> => {
      const absent = () => new PlatformError('TRAINING_JOB_NOT_FOUND', { jobId: id });
      const row = await findJob(db, id);
      if (!row) throw absent();
      requireOwner(caller, row.orgId, absent);
      return row;
    };
    const byCaller = (caller: Caller) => ({ actor: actorOf(caller), now: clock.wall() });

    router.service(MLTrainingService, {
      submitTrainingJob: async (request, context) => ({ id: await submit(deps, request, callerOf(context)) }),
      submitCustomTrainingJob: async (request, context) => ({
        id: await submitCustom(deps, request, callerOf(context)),
      }),

      async getTrainingJob({ id }, context) {
        const row = await ownJob(id, callerOf(context));
        const positions = row.state === 'pending' ? await queuePositions(db, row.orgId) : undefined;
        return { metadata: metadataOf(row, positions?.get(row.id), await readMetrics(db, row)) };
      },

      async listTrainingJobs({ organizationId, status }, context) {
        requireOwner(callerOf(context), check.filled('organization_id', organizationId));
        const rows = await listJobs(db, organizationId, stateOf(status));
        const positions = rows.some((row) => row.state === 'pending')
          ? await queuePositions(db, organizationId)
          : undefined;
        return { jobs: rows.map((row) => metadataOf(row, positions?.get(row.id))) };
      },

      async cancelTrainingJob({ id }, context) {
        const caller = callerOf(context);
        await moveOn(db, await ownJob(id, caller), { is: 'canceled' }, byCaller(caller));
        return {};
      },

      async deleteCompletedTrainingJob({ id }, context) {
        const caller = callerOf(context);
        await deleteEnded(db, await ownJob(id, caller), byCaller(caller));
        return {};
      },

      async getTrainingJobLogs({ id, pageToken }, context) {
        const row = await ownJob(id, callerOf(context));
        const lines = await readLogs(db, row, readLogToken(pageToken ?? ''), logPage);
        const last = lines.at(-1);
        return {
          logs: lines.map((line) => ({ level: line.level, time: timeOf(line.time), message: line.message })),
          nextPageToken: last ? logToken(last) : '',
        };
      },

      // Custom scripts cannot run yet, so there is nothing that they could choose.
      listSupportedContainers: () => ({ containerMap: {} }),
    });
  };

/** Freezes the dataset and queues the job. Nothing is claimed or written before everything was found right. */
async function submit(deps: TrainingDeps, request: SubmitTrainingJobRequest, caller: Caller): Promise<string> {
  const { db, blobs, clock } = deps;
  const orgId = check.filled('organization_id', request.organizationId);
  requireOwner(caller, orgId);
  const datasetId = check.filled('dataset_id', request.datasetId);
  const modelName = check.packageName('model_name', request.modelName);
  const modelVersion = check.packageVersion('model_version', request.modelVersion);
  const kind = builtInKind(request.modelType);
  const framework = madeFramework(request.modelFramework);
  const labels = check.labels(request.tags);
  const settings = check.trainerArguments(request.arguments);

  const dataset = await findDataset(db, datasetId);
  if (dataset?.orgId !== orgId) throw new PlatformError('DATASET_NOT_FOUND', { datasetId });
  if (dataset.type !== 'binary_data') {
    throw new PlatformError('DATASET_TYPE_MISMATCH', { datasetId, type: 'sequences', wanted: 'pictures' });
  }
  await refuseTakenVersion(db, { orgId, modelName, modelVersion });
  const pictures = await membersOf(db, orgId, dataset.id);
  const verdict = checkSingleLabel(pictures, labels);
  if (!verdict.ok) throw new PlatformError(verdict.code, { datasetId, ...verdict.data });
  const frozen = await freeze(blobs, pictures, labels, verdict.counts);

  const id = randomUUID();
  const now = clock.wall();
  await db.transaction().execute(async (trx) => {
    await claimVersion(trx, { orgId, modelName, modelVersion, claimedBy: id, now });
    const datasetVersionId = await writeVersion(trx, { orgId, datasetId: dataset.id, frozen, now });
    const job = await insertJob(
      trx,
      {
        orgId,
        id,
        kind,
        modelName,
        modelVersion,
        modelFramework: framework,
        labels,
        arguments: JSON.stringify(settings),
        datasetId: dataset.id,
        datasetVersionId,
        manifestSha256: frozen.manifest.sha256,
        seed: check.seedOf(modelName, modelVersion),
        limits: JSON.stringify(limits),
        createdBy: actorOf(caller),
        state: submitted.at,
        attempt: submitted.attempt,
        losses: submitted.losses,
        reported: false,
        createdOn: at(now),
        changedOn: at(now),
      },
      { actor: actorOf(caller), now },
    );
    const notes = advice(verdict.counts).map((message, index) => ({
      sequence: index + 1,
      time: now,
      level: 'warn',
      message,
    }));
    await writeLogs(trx, job, 0, notes);
    await audit(trx, { orgId, caller, action: 'submit training', subject: id, details: { modelName, modelVersion } });
  });
  return id;
}

function builtInKind(type: ModelType): string {
  const kind = kindOf.get(type);
  if (!kind) {
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'model_type',
      value: type,
      limit: 'MODEL_TYPE_SINGLE_LABEL_CLASSIFICATION',
    });
  }
  if (type !== ModelType.SINGLE_LABEL_CLASSIFICATION) {
    throw new PlatformError('MODEL_TYPE_NOT_SUPPORTED', { modelType: `MODEL_TYPE_${kind.toUpperCase()}` });
  }
  return kind;
}

function madeFramework(framework: ModelFramework): string {
  if (framework === ModelFramework.UNSPECIFIED || framework === ModelFramework.ONNX) return 'onnx';
  throw new PlatformError('FRAMEWORK_NOT_SUPPORTED', { framework: frameworkName(framework).toUpperCase() });
}

/** Everything about the request is checked as it will be; running scripts needs a sandbox that the runner does not have yet. */
async function submitCustom(
  deps: TrainingDeps,
  request: SubmitCustomTrainingJobRequest,
  caller: Caller,
): Promise<string> {
  const { db } = deps;
  const orgId = check.filled('organization_id', request.organizationId);
  requireOwner(caller, orgId);
  const datasetId = check.filled('dataset_id', request.datasetId);
  const modelName = check.packageName('model_name', request.modelName);
  const modelVersion = check.packageVersion('model_version', request.modelVersion);
  const { owner, name } = check.registryItemId('registry_item_id', request.registryItemId);
  const version = check.shortText('registry_item_version', request.registryItemVersion);
  check.scriptArguments(request.arguments);

  const dataset = await findDataset(db, datasetId);
  if (dataset?.orgId !== orgId) throw new PlatformError('DATASET_NOT_FOUND', { datasetId });
  await refuseTakenVersion(db, { orgId, modelName, modelVersion });
  const scriptOrg = await orgOfNamespace(db, owner);
  const script =
    scriptOrg === orgId ? await findPackage(db, { orgId: scriptOrg, name, version, type: 'ml_training' }) : undefined;
  if (!script) throw new PlatformError('SCRIPT_NOT_FOUND', { registryItemId: request.registryItemId, version });
  throw new PlatformError('UNSUPPORTED', { what: 'runs of custom training scripts; use a built-in model type' });
}
