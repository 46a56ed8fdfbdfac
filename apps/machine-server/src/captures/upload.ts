import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Client } from '@connectrpc/connect';
import { Code, ConnectError } from '@connectrpc/connect';
import { DataType } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import type {
  DataSyncService,
  SensorMetadataSchema,
} from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import type { Clock, Log } from '@platform/kit';
import { changedOr } from '@platform/kit';
import { extensions, mimeTypes } from '../images/image.ts';
import type { CaptureRecord, CaptureSpool, SpooledCapture } from './spool.ts';

interface Deps {
  readonly dataSync: Pick<Client<typeof DataSyncService>, 'dataCaptureUpload'>;
  readonly partId: string;
  readonly spool: CaptureSpool;
  /** All folders that may contain images, read at each pass: a folder that left the configuration is uploaded, too. */
  readonly folders: () => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly log: Log;
}

type Outcome = 'sent' | 'refused' | 'later' | 'unreachable';

const callTimeoutMs = 120_000;
const firstRetryMs = 200;
const maxRetryMs = 60_000;
/** Another process may have added files to a folder; no event reports that. */
const recheckMs = 60_000;

/** Uploads waiting images, oldest first, until `signal`. Offline, all images stay on the disk. */
export async function uploadCaptures(deps: Deps, signal: AbortSignal): Promise<void> {
  const { spool, clock, log } = deps;
  let failures = 0;
  while (!signal.aborted) {
    const before = spool.added.get();
    let isComplete = false;
    try {
      isComplete = await uploadAll(deps, signal);
    } catch (error) {
      log.warn('captures cannot be read', { error });
    }
    failures = isComplete ? 0 : failures + 1;
    if (failures > 0) await clock.sleep(Math.min(firstRetryMs * 2 ** (failures - 1), maxRetryMs), signal);
    else if (spool.added.get() === before) await changedOr(spool.added, recheckMs, clock, signal);
  }
}

/** One pass over all folders; true if no image is left to retry. */
async function uploadAll(deps: Deps, signal: AbortSignal): Promise<boolean> {
  let isComplete = true;
  for (const folder of await deps.folders()) {
    for (const capture of await deps.spool.waiting(folder)) {
      if (signal.aborted) return false;
      const outcome = await upload(capture, deps, signal);
      if (outcome === 'unreachable') return false;
      if (outcome === 'later') isComplete = false;
    }
  }
  return isComplete;
}

async function upload(capture: SpooledCapture, deps: Deps, signal: AbortSignal): Promise<Outcome> {
  const { dataSync, partId, spool, log } = deps;
  const { record } = capture;
  const file = record.file_name;
  try {
    const takenOn = timestampFromMs(record.taken_ms);
    const metadata = {
      partId,
      componentType: 'camera',
      componentName: record.camera,
      methodName: 'ReadImage',
      type: DataType.BINARY_SENSOR,
      fileName: file,
      fileExtension: extensions[record.format],
      mimeType: mimeTypes[record.format],
      tags: [...record.tags],
      datasetIds: [...record.dataset_ids],
      fileCreateTime: takenOn,
      fileModifyTime: takenOn,
    };
    const contents = {
      metadata: { timeRequested: takenOn, timeReceived: takenOn, ...annotationsOf(record) },
      data: { case: 'binary' as const, value: await capture.read() },
    };
    await dataSync.dataCaptureUpload({ metadata, sensorContents: [contents] }, { signal, timeoutMs: callTimeoutMs });
    await spool.done(capture);
    log.info('image uploaded', { file, camera: record.camera });
    return 'sent';
  } catch (error) {
    if (signal.aborted) return 'unreachable';
    return failed(error, capture, deps);
  }
}

function annotationsOf({
  annotations,
}: CaptureRecord): Pick<MessageInitShape<typeof SensorMetadataSchema>, 'annotations'> {
  if (annotations === undefined) return {};
  return {
    annotations: {
      bboxes: annotations.bboxes.map((box) => ({
        label: box.label,
        confidence: box.score,
        xMinNormalized: box.x_min_normalized,
        yMinNormalized: box.y_min_normalized,
        xMaxNormalized: box.x_max_normalized,
        yMaxNormalized: box.y_max_normalized,
      })),
      classifications: annotations.classifications.map(({ label, score }) => ({ label, confidence: score })),
    },
  };
}

async function failed(error: unknown, capture: SpooledCapture, { spool, log }: Deps): Promise<Outcome> {
  const file = capture.record.file_name;
  const isGone = error instanceof Error && 'code' in error && error.code === 'ENOENT';
  const { code, rawMessage: problem } = ConnectError.from(error);
  if (isGone || code === Code.InvalidArgument) {
    log.error('image refused, it is kept in the folder "failed"', { file, problem });
    await spool.fail(capture, problem);
    return 'refused';
  }
  const isUnreachable = [Code.Unavailable, Code.DeadlineExceeded, Code.Unauthenticated, Code.Unknown].includes(code);
  if (!isUnreachable) log.warn('image not uploaded yet', { file, code: Code[code], problem });
  return isUnreachable ? 'unreachable' : 'later';
}
