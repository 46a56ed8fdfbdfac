import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Client } from '@connectrpc/connect';
import { type BinaryDataByFilterRequestSchema, DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService, DatasetType } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { DataSyncService, DataType } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { smallPng } from '@platform/kit/testing';
import { type TrainingServer, type Who } from './training-server.ts';

export type Upload = {
  who?: Who;
  tags?: string[];
  datasetIds?: string[];
  bytes?: Uint8Array;
  at?: number;
  partId?: string;
  name?: string;
  uploadId?: string;
};
export const time = (seconds: number) => ({ seconds: BigInt(seconds), nanos: 123_456_000 });

export async function upload(server: TrainingServer, of: Upload): Promise<string> {
  const { binaryDataId } = await server.client(DataSyncService, of.who ?? 'machine').dataCaptureUpload({
    metadata: {
      partId: of.partId ?? server.own.partId,
      componentType: 'rdk:component:camera',
      componentName: of.name ?? 'camera',
      type: DataType.BINARY_SENSOR,
      fileExtension: 'png',
      tags: of.tags ?? [],
      datasetIds: of.datasetIds ?? [],
      uploadId: of.uploadId ?? '',
    },
    sensorContents: [
      {
        metadata: of.at === undefined ? {} : { timeRequested: time(of.at), timeReceived: time(of.at) },
        data: { case: 'binary', value: of.bytes ?? smallPng(randomBytes(20).toString('hex')) },
      },
    ],
  });
  return binaryDataId;
}
export const dataset = async (server: TrainingServer, name: string, who: Who = 'owner', type?: DatasetType) =>
  (
    await server.client(DatasetService, who).createDataset({
      name,
      organizationId: who === 'foreignOwner' ? server.foreign.orgId : server.own.orgId,
      ...(type === undefined ? {} : { type }),
    })
  ).id;

/** A configuration whose data service sends images to these datasets. */
export const dataServiceFor = (...datasetIds: string[]) => ({
  components: [{ name: 'camera', type: 'camera', model: 'folder', attributes: { path: '/images' } }],
  services: [{ name: 'data', type: 'data_manager', attributes: { camera: 'camera', dataset_ids: datasetIds } }],
});

/** Reads pages as public clients do: until one is empty, then once more. */
export async function pages(
  client: Client<typeof DataService>,
  request: MessageInitShape<typeof BinaryDataByFilterRequestSchema>,
): Promise<string[][]> {
  const found: string[][] = [];
  let last = '';
  for (let empty = 0; empty < 2;) {
    const page = await client.binaryDataByFilter({
      ...request,
      dataRequest: { ...request.dataRequest, last } as never,
    });
    if (page.data.length === 0) empty++;
    else assert.equal(empty, 0, 'nothing comes after the empty page');
    found.push(page.data.map(({ metadata }) => metadata?.binaryDataId ?? ''));
    last = page.last;
  }
  return found;
}
