import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { callUnaryMethod, useTransport } from '@connectrpc/connect-query';
import {
  DataCaptureUploadRequestSchema,
  DataSyncService,
  DataType,
} from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { useEffect, useRef, useState } from 'react';
import { failureOf } from '../../ui/failures.ts';
import type { PlannedImage } from '@platform/dataset-files/planned-images';
import { tagsOf } from '@platform/dataset-files/planned-images';
import type { ChosenFile } from './file-source.ts';
import { uploadKey } from './upload-record.ts';
import { recordUpload, unfinishedUpload } from './upload-records.ts';

export interface BrowserFile extends ChosenFile {
  source: File;
}

/** An image of the plan with its file. */
export interface ImageUpload {
  file: BrowserFile;
  image: PlannedImage;
}

export interface UploadState {
  at: 'idle' | 'running' | 'done';
  done: number;
  /** Images that an upload of before has sent; they are not sent again. */
  before: number;
  /** Existing images of the dataset: their labels were added. */
  existed: number;
  failed: readonly { name: string; reason: string }[];
}

const keyOf = ({ file, image }: ImageUpload): string =>
  uploadKey({
    path: file.path || file.name,
    size: file.source.size,
    lastModified: file.source.lastModified,
    labels: JSON.stringify([tagsOf(image), image.boxes]),
  });

/** Concurrent uploads: enough to use the bandwidth, few enough to leave connections for the page. */
const lanes = 4;

async function requestOf({ file, image }: ImageUpload, datasetId: string) {
  const value = new Uint8Array(await file.source.arrayBuffer());
  const bboxes = image.boxes.map((box) => ({
    label: box.label,
    xMinNormalized: box.xMin,
    yMinNormalized: box.yMin,
    xMaxNormalized: box.xMax,
    yMaxNormalized: box.yMax,
  }));
  const timeRequested = timestampFromMs(file.source.lastModified);
  const metadata = { timeRequested, ...(bboxes.length > 0 && { annotations: { bboxes } }) };
  return create(DataCaptureUploadRequestSchema, {
    metadata: {
      type: DataType.BINARY_SENSOR,
      fileName: file.name,
      fileExtension: image.extension,
      tags: tagsOf(image),
      datasetIds: [datasetId],
      imagesOnly: true,
    },
    sensorContents: [{ metadata, data: { case: 'binary', value } }],
  });
}

/** Uploads images into a dataset; stops when the dialog is closed. Uploaded images stay. */
export function useImageUploads(datasetId: string) {
  const transport = useTransport();
  const [state, setState] = useState<UploadState>({ at: 'idle', done: 0, before: 0, existed: 0, failed: [] });
  const end = useRef(new AbortController());
  useEffect(() => {
    const stop = (end.current = new AbortController());
    return () => stop.abort();
  }, []);

  const send = async (upload: ImageUpload, signal: AbortSignal): Promise<boolean> => {
    const request = await requestOf(upload, datasetId);
    const method = DataSyncService.method.dataCaptureUpload;
    return (await callUnaryMethod(transport, method, request, { signal })).existed;
  };

  const start = async (uploads: readonly ImageUpload[]): Promise<void> => {
    const { signal } = end.current;
    const keyed = uploads.map((upload) => ({ upload, key: keyOf(upload) }));
    const sent = unfinishedUpload(datasetId)?.done ?? new Set();
    const left = keyed.filter(({ key }) => !sent.has(key));
    const before = new Set(keyed.flatMap(({ key }) => (sent.has(key) ? [key] : [])));
    const record = recordUpload(datasetId, uploads.length, before);
    // A reload ends the page without its effects.
    window.addEventListener('pagehide', record.keep, { signal });
    signal.addEventListener('abort', record.keep, { once: true });
    const waiting = left.values();
    setState({ at: 'running', done: before.size, before: before.size, existed: 0, failed: [] });
    const lane = async (): Promise<void> => {
      for (const { upload, key } of waiting) {
        if (signal.aborted) return;
        try {
          const existed = await send(upload, signal);
          record.add(key);
          if (existed) setState((now) => ({ ...now, existed: now.existed + 1 }));
        } catch (error) {
          const reason = failureOf(error).what;
          setState((now) => ({ ...now, failed: [...now.failed, { name: upload.file.name, reason }] }));
        }
        setState((now) => ({ ...now, done: now.done + 1 }));
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    if (signal.aborted) return;
    signal.removeEventListener('abort', record.keep);
    window.removeEventListener('pagehide', record.keep);
    record.end();
    setState((now) => ({ ...now, at: 'done' }));
  };
  return { state, start };
}
