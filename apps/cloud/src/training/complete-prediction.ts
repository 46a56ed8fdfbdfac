import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { PlatformError } from '@platform/contract/errors/errors';
import type { CompleteJobRequest } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { parsePredictionLine, predictionFile, predictionLimits } from '@platform/contract/job/predictions';
import { parseBinaryDataId } from '../data/rules/manifest.ts';
import { leaseLost, type RunnerDeps } from './own-attempt.ts';
import { storedFiles } from './result-blobs.ts';
import { moveOn, setModel, type JobRow } from './store/jobs.ts';
import { type NewPrediction, writePredictions } from './store/predictions.ts';

/** Predictions per statement. */
const atOnce = 500;

/**
 * Stores the suggestions of a prediction and completes its job in one transaction.
 *
 * @throws PlatformError INVALID_ARGUMENT, BLOB_MISSING, LEASE_LOST
 */
export async function storePredictions(deps: RunnerDeps, request: CompleteJobRequest, row: JobRow): Promise<void> {
  const { db, blobs, clock } = deps;
  const files = await storedFiles(deps, row.orgId, request.files);
  const file = files.find(({ path }) => path === predictionFile);
  if (!file) {
    const limit = `it names the file ${predictionFile}`;
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'files',
      value: files.map(({ path }) => path).join(', '),
      limit,
    });
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
