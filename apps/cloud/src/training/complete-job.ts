import type { Clock } from '@platform/kit';
import { modelArchive, ratioProblem } from '@platform/contract/job/archive-rules';
import { PlatformError } from '@platform/contract/errors/errors';
import type { CompleteJobRequest } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { type PackedFile, packFiles } from '../blobs/package-archive.ts';
import { type JobEvent, step } from './rules/job-life.ts';
import type { Caller } from '../access/rules/permissions.ts';
import { leaseMs } from './store/job-queue.ts';
import { jobOf, type JobRow, moveOn, setModel } from './store/jobs.ts';
import { noteBlob } from '../blobs/store/owned-blobs.ts';
import { publish } from '../registry/store/registry.ts';
import { leaseLost, ownAttempt, type RunnerDeps } from './own-attempt.ts';
import { storedFiles } from './result-blobs.ts';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { parsePredictionLine, predictionFile, predictionLimits } from '@platform/contract/job/predictions';
import { parseBinaryDataId } from '../data/rules/manifest.ts';
import { type NewPrediction, writePredictions } from './store/predictions.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

/** Interval at which the server renews the lease while it builds the package. */
const renewMs = leaseMs / 3;

/**
 * Packs the files, then adds the version to the registry and completes the job in one transaction; of a prediction it
 * stores the suggestions instead. A repeated call gets the same result. For an attempt that is unknown or has ended, it throws LEASE_LOST.
 */
export async function complete(deps: RunnerDeps, request: CompleteJobRequest, caller: Caller): Promise<string> {
  const { db, blobs, clock, steady, usage } = deps;
  const row = await ownAttempt(deps, request, caller);
  const { attempt, runnerId: runner } = request;
  const event: JobEvent = { is: 'completed', attempt, runner };
  const by = () => ({ actor: `runner:${runner}`, now: clock.wall() });
  const first = step(jobOf(row), event);
  if (!first.ok) throw leaseLost(request);
  const modelId = `${row.orgId}/${row.modelName}`;
  if (row.kind === 'predict') {
    if (first.changed) await storePredictions(deps, request, row);
    return '';
  }
  if (!first.changed) return modelId;
  const files = await storedFiles(deps, row.orgId, request.files);
  const renew = async (): Promise<void> => {
    await moveOn(db, row, { is: 'reported', attempt, runner, leaseUntil: steady.now() + leaseMs }, by());
  };
  using admission = await usage.admit([row.orgId]);
  const packed = await whileRenewing(renew, clock, () => packFiles(blobs, files, (bytes) => admission.counted(bytes)));
  requireUnpackable(files, packed);
  const evaluation = request.evaluation ?? null;
  const moved = await moveOn(db, row, event, by(), async (trx, job) => {
    if (job.state !== 'completed') return;
    const { now } = by();
    await noteBlob(trx, row.orgId, packed);
    await publish(trx, {
      orgId: row.orgId,
      name: row.modelName,
      type: 'ml_model',
      version: row.modelVersion,
      packed,
      files: files.map((file) => ({ path: file.path, sha256: file.sha256, size_bytes: file.sizeBytes })),
      metadata: {
        model_type: row.kind === 'custom' ? row.modelType : row.kind,
        model_framework: row.modelFramework,
      },
      lineage: {
        jobId: row.id,
        datasetId: row.datasetId,
        datasetVersionId: row.datasetVersionId,
        script: row.registryItemId ? { id: row.registryItemId, version: row.registryItemVersion } : undefined,
        evaluation,
      },
      now,
    });
    await setModel(trx, row, { modelId, evaluation, now });
  });
  admission.keep();
  // Canceled during publication, so the result is discarded.
  if (moved.row.state !== 'completed') throw leaseLost(request);
  return modelId;
}

/** Renews the lease immediately and then periodically until `work` is done. @throws errors of either. */
async function whileRenewing<T>(renew: () => Promise<void>, clock: Clock, work: () => Promise<T>): Promise<T> {
  await renew();
  const done = new AbortController();
  const renewing = (async () => {
    for (;;) {
      await clock.sleep(renewMs, done.signal);
      if (done.signal.aborted) return;
      await renew();
    }
  })();
  try {
    // If the lease is lost meanwhile, stop waiting for the work.
    return await Promise.race([work(), renewing.then(() => new Promise<never>(() => {}))]);
  } finally {
    done.abort();
  }
}

/** Applies the limits of unpacking before publication. @throws PlatformError INVALID_ARGUMENT */
function requireUnpackable(files: readonly PackedFile[], packed: Pick<PackedFile, 'sizeBytes'>): void {
  const bytes = files.reduce((sum, file) => sum + file.sizeBytes, 0);
  const problem = ratioProblem(bytes, packed.sizeBytes, modelArchive.limits);
  if (problem === undefined) return;
  throw invalidArgument('files', `${bytes} bytes`, `the archive ${problem}`);
}

/** Predictions per statement. */
const atOnce = 500;

/**
 * Stores the suggestions of a prediction and completes its job in one transaction.
 *
 * @throws PlatformError INVALID_ARGUMENT, BLOB_MISSING, LEASE_LOST
 */
async function storePredictions(deps: RunnerDeps, request: CompleteJobRequest, row: JobRow): Promise<void> {
  const { db, blobs, clock } = deps;
  const files = await storedFiles(deps, row.orgId, request.files);
  const file = files.find(({ path }) => path === predictionFile);
  if (!file) {
    const limit = `it names the file ${predictionFile}`;
    throw invalidArgument('files', files.map(({ path }) => path).join(', '), limit);
  }
  const { attempt, runnerId: runner } = request;
  const now = clock.wall();
  const event = { is: 'completed', attempt, runner } as const;
  const moved = await moveOn(db, row, event, { actor: `runner:${runner}`, now }, async (trx, job) => {
    if (job.state !== 'completed') return;
    let batch: NewPrediction[] = [];
    for await (const one of predictionsIn(await blobs.get(file.sha256), row.orgId)) {
      batch.push(one);
      if (batch.length < atOnce) continue;
      await writePredictions(trx, row, batch, now);
      batch = [];
    }
    await writePredictions(trx, row, batch, now);
    await setModel(trx, row, { modelId: null, evaluation: request.evaluation ?? null, now });
  });
  // Canceled meanwhile, so the result is discarded.
  if (moved.row.state !== 'completed') throw leaseLost(request);
}

/** @throws PlatformError INVALID_ARGUMENT with the number of the line. */
async function* predictionsIn(input: NodeJS.ReadableStream, orgId: string): AsyncGenerator<NewPrediction> {
  let number = 0;
  const refused = (limit: string): PlatformError =>
    new PlatformError('INVALID_ARGUMENT', { field: `${predictionFile}, line ${number}`, limit });
  for await (const text of createInterface({ input, crlfDelay: Infinity })) {
    number++;
    if (text === '') continue;
    if (text.length > predictionLimits.lineBytes) throw refused(`at most ${predictionLimits.lineBytes} bytes`);
    const line = parsed(text, refused);
    const key = parseBinaryDataId(line.binary_data_id);
    // A job predicts images of its own organization alone.
    if (key?.orgId !== orgId) throw refused('binary_data_id names an image of the job');
    yield {
      binaryId: key.id,
      suggestions: line.suggestions.map((one) => ({ id: randomUUID(), ...one })),
      scores: line.scores,
      copyGroup: line.copy_group ?? null,
    };
  }
}

function parsed(text: string, refused: (limit: string) => PlatformError) {
  try {
    return parsePredictionLine(text);
  } catch (error) {
    throw refused(error instanceof Error ? error.message : 'it is not JSON');
  }
}
