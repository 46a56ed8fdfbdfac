import { PlatformError } from '@platform/contract/errors/errors';
import { type Clock, errorText, type Log } from '@platform/kit';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { OrganizationUsage } from '../blobs/organization-usage.ts';
import { type ColumnKind, parquetBytes } from './parquet.ts';
import { readBounded } from '../rpc/rules/answer-bounds.ts';
import { binaryDataId } from './rules/manifest.ts';
import type { DataPlace } from '../rpc/rules/page-tokens.ts';
import type { Database } from '../database/database.ts';
import {
  completeExport,
  type CoveredRow,
  coveredRows,
  failExport,
  findExport,
  nextExport,
  type SequenceExport,
  startExport,
  uncountAttempt,
} from './store/sequence-exports.ts';
import { sequencesOf, type StoredSequence } from './store/sequences.ts';
import type { ServiceImpl } from '@connectrpc/connect';
import {
  type DatasetService,
  SequenceDatasetExportStatus,
} from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { callerOf } from '../access/caller.ts';
import { requireMember } from '../access/rules/permissions.ts';
import type { Secrets } from '../access/secrets.ts';
import { signedPath } from '../access/signed-urls.ts';
import { timeOf } from '../rpc/protobuf-times.ts';
import { type Addresses, baseUrlOf } from '../wire/base-url.ts';
import { sequenceDataset } from './sequence-calls.ts';
import { exportPath } from './sequence-export-downloads.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

type ExportDeps = { db: Database; blobs: BlobStore; usage: OrganizationUsage; clock: Clock; log: Log };

const everyMs = 1_000;
/** Delay after a temporary failure: the database was unreachable, or the disk full. */
const pauseMs = 5_000;
/** Limit of attempts: an export that crashes the server must not do so at every start. */
const mostAttempts = 3;
/** Limits of the rows in memory. */
const group = { rows: 1_000, bytes: 4 * 2 ** 20, atOnce: 100 };
/** The list of row groups stays in memory, and readers of the file load it whole. */
const mostRows = 2_000_000;

/** Columns of the file. Times are UTC; tags and payloads are JSON. */
const exportColumns = {
  sequence_id: 'text',
  sequence_tags: 'text',
  sequence_start: 'time',
  sequence_end: 'time',
  kind: 'text',
  organization_id: 'text',
  location_id: 'text',
  robot_id: 'text',
  robot_name: 'text',
  part_id: 'text',
  part_name: 'text',
  component_type: 'text',
  resource_name: 'text',
  method_name: 'text',
  time_requested: 'time',
  time_received: 'time',
  tags: 'text',
  payload: 'text',
  binary_data_id: 'text',
  file_name: 'text',
  mime_type: 'text',
  file_size_bytes: 'count',
  file_sha256: 'text',
} as const satisfies Readonly<Record<string, ColumnKind>>;
type ExportRow = Record<keyof typeof exportColumns, string | number | null>;

/**
 * Creates the files of sequence exports, one after the other. Ends with `signal`; the unfinished export stays running
 * in the database, and the next server restarts it.
 */
export async function makeExports(deps: ExportDeps, signal: AbortSignal): Promise<void> {
  const { db, clock, log } = deps;
  while (!signal.aborted) {
    let waitMs = everyMs;
    try {
      const next = await nextExport(db);
      if (next) waitMs = (await makeExport(deps, next, signal)) ? 0 : pauseMs;
    } catch (error) {
      log.warn('exports of sequences wait for the database', { error: errorText(error) });
    }
    if (waitMs > 0) await clock.sleep(waitMs, signal);
  }
}

/** @returns whether the export has ended, completed or failed. */
async function makeExport(deps: ExportDeps, job: SequenceExport, signal: AbortSignal): Promise<boolean> {
  const { db, blobs, usage, clock, log } = deps;
  if (job.attempts > mostAttempts) {
    await failExport(
      db,
      job.id,
      `The server could not make the file in ${mostAttempts} attempts; its log says why.`,
      clock.wall(),
    );
    return true;
  }
  try {
    using room = await usage.admit([job.orgId]);
    const file = await blobs.put(room.counted(parquetBytes(exportColumns, rowGroups(db, job, signal))));
    if (await completeExport(db, job, file, clock.wall())) room.keep();
    return true;
  } catch (error) {
    if (signal.aborted) {
      await uncountAttempt(db, job.id);
      return false;
    }
    log.warn('an export of sequences failed', { job: job.id, attempt: job.attempts, error: errorText(error) });
    // Retrying cannot change the result of an invalid request.
    const isFinal = error instanceof PlatformError && finalCodes.has(error.code);
    if (isFinal) await failExport(db, job.id, error.message, clock.wall());
    return isFinal;
  }
}

const finalCodes: ReadonlySet<string> = new Set(['INVALID_ARGUMENT', 'ORGANIZATION_FULL']);

/**
 * All data that the dataset's sequences cover, by sequence. @throws PlatformError INVALID_ARGUMENT above `mostRows`.
 */
async function* rowGroups(db: Database, job: SequenceExport, signal: AbortSignal): AsyncGenerator<ExportRow[]> {
  let count = 0;
  for await (const sequence of members(db, job)) {
    for (let last: CoveredRow | undefined; ;) {
      signal.throwIfAborted();
      const { rows, isCut } = await readBounded<CoveredRow>(group, (end, limit) =>
        coveredRows(db, sequence, { after: end ?? last, limit }),
      );
      count += rows.length;
      if (count > mostRows)
        throw invalidArgument(
          'dataset_id',
          job.datasetId,
          `at most ${mostRows} readings and files in one export: make datasets of fewer sequences`,
        );
      yield rows.map((row) => exportRow(sequence, row));
      last = rows.at(-1);
      if (!isCut) break;
    }
  }
}

async function* members(db: Database, { orgId, datasetId }: SequenceExport): AsyncGenerator<StoredSequence> {
  for (let after: DataPlace | undefined; ;) {
    const { rows, next } = await sequencesOf(db, { orgId, datasetId }, { after, size: 100 });
    yield* rows;
    if (!next) return;
    after = next;
  }
}

const exportRow = (sequence: StoredSequence, row: CoveredRow): ExportRow => ({
  sequence_id: sequence.id,
  sequence_tags: JSON.stringify(sequence.tags),
  sequence_start: sequence.startUs,
  sequence_end: sequence.endUs,
  kind: row.kind,
  organization_id: sequence.orgId,
  location_id: row.locationId,
  robot_id: row.machineId,
  robot_name: row.machineName,
  part_id: sequence.partId,
  part_name: row.partName,
  component_type: row.componentType,
  resource_name: row.componentName,
  method_name: row.methodName,
  time_requested: row.timeRequestedUs,
  time_received: row.timeReceivedUs,
  tags: JSON.stringify(row.tags),
  payload: row.payload,
  binary_data_id: row.kind === 'binary' ? binaryDataId({ ...row, orgId: sequence.orgId }) : null,
  file_name: row.fileName,
  mime_type: row.mimeType,
  file_size_bytes: row.sizeBytes,
  file_sha256: row.sha256,
});

const linkMs = 3_600_000;

const statuses: Readonly<Record<SequenceExport['state'], SequenceDatasetExportStatus>> = {
  running: SequenceDatasetExportStatus.RUNNING,
  completed: SequenceDatasetExportStatus.COMPLETED,
  failed: SequenceDatasetExportStatus.FAILED,
};

export const sequenceExportCalls = (deps: { db: Database; clock: Clock; addresses: Addresses; secrets: Secrets }) => {
  const { db, clock, secrets } = deps;
  return {
    async startSequenceDatasetExport({ datasetId }, context) {
      const dataset = await sequenceDataset(db, datasetId, callerOf(context));
      return { jobId: await startExport(db, dataset, clock.wall()) };
    },

    async getSequenceDatasetExport({ jobId }, context) {
      const absent = () => new PlatformError('DATASET_EXPORT_NOT_FOUND', { jobId });
      const found = await findExport(db, jobId);
      if (!found) throw absent();
      requireMember(callerOf(context), found.orgId, absent);
      const { state, createdOn, completedOn, errorMessage } = found;
      const expiresAt = Math.floor(clock.wall() / 1000) * 1000 + linkMs;
      const link = () =>
        `${baseUrlOf(deps, context)}${signedPath(secrets.signingKey, exportPath(found.id), expiresAt, callerOf(context))}`;
      return {
        jobId: found.id,
        status: statuses[state],
        errorMessage,
        createdAt: timeOf(createdOn),
        ...(completedOn !== null && { completedAt: timeOf(completedOn) }),
        ...(state === 'completed' && { downloadUrl: link(), expiresAt: timeOf(expiresAt) }),
      };
    },
  } satisfies Partial<ServiceImpl<typeof DatasetService>>;
};
