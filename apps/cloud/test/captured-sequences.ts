import { randomUUID } from 'node:crypto';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import {
  DatasetService,
  DatasetType,
  SequenceDatasetExportStatus as Status,
} from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { DataSyncService, DataType } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { systemClock } from '@platform/kit/node';
import type { TestServer } from './server.ts';

export const at = (seconds: number, nanos = 0) => ({ seconds: BigInt(seconds), nanos });
export const start = 1_790_000_000;

/** Creates a machine with readings of two resources and camera images, one of each per second. */
export async function captured(on: TestServer, seconds = 5) {
  const machine = await on.machine(`m-${randomUUID().slice(0, 8)}`);
  const sync = await on.client(DataSyncService, machine.part);
  const { partId } = machine;
  const images: string[] = [];
  for (let n = 0; n < seconds; n++) {
    const time = at(start + n, 123_456_000);
    const metadata = { timeRequested: time, timeReceived: time };
    const send = (of: object, data: object) =>
      sync.dataCaptureUpload({
        metadata: { partId, ...of },
        sensorContents: [{ metadata, data: data as { case: 'struct'; value: Record<string, number> } }],
      });
    for (const componentName of ['imu', 'gps'])
      await send(
        { type: DataType.TABULAR_SENSOR, componentName, componentType: 'rdk:component:sensor', methodName: 'Readings' },
        { case: 'struct', value: { n, name: componentName } },
      );
    const { binaryDataId } = await send(
      {
        type: DataType.BINARY_SENSOR,
        componentName: 'camera',
        methodName: 'ReadImage',
        fileExtension: 'png',
        tags: ['t'],
      },
      { case: 'binary', value: Buffer.from(`${partId} ${n}`) },
    );
    images.push(binaryDataId);
  }
  return { ...machine, images };
}

export async function clients(on: TestServer) {
  const [data, datasets] = [await on.client(DataService), await on.client(DatasetService)];
  const datasetOf = async (...sequenceIds: string[]) => {
    const { id } = await datasets.createDataset({
      name: `set ${randomUUID()}`,
      organizationId: on.orgId,
      type: DatasetType.SEQUENCE_DATA,
    });
    await data.addSequencesToDataset({ datasetId: id, sequenceIds });
    return id;
  };
  /** Polls until the job has ended, as clients do. */
  const ended = async (jobId: string) => {
    for (;;) {
      const found = await datasets.getSequenceDatasetExport({ jobId });
      if (found.status !== Status.RUNNING) return found;
      await systemClock.sleep(50, AbortSignal.timeout(60_000));
    }
  };
  const exported = async (datasetId: string) => ended((await datasets.startSequenceDatasetExport({ datasetId })).jobId);
  return { data, datasets, datasetOf, ended, exported };
}

export const range = (from: number, until: number) => ({ startTime: at(start + from), endTime: at(start + until) });
