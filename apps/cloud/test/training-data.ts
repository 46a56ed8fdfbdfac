import type { MessageInitShape } from '@bufbuild/protobuf';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import {
  ModelType,
  type SubmitTrainingJobRequestSchema,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { writeUpload } from '../src/data/store/uploads.ts';
import { smallPng } from '@platform/kit/testing';
import type { TrainingServer } from './training-server.ts';

/** Creates a dataset with this number of images per label; the key '' means unlabelled. */
export async function datasetOf(server: TrainingServer, counts: Record<string, number>, name = 'd'): Promise<string> {
  const { orgId } = server.own;
  const { id } = await server.client(DatasetService, 'owner').createDataset({ name, organizationId: orgId });
  for (const [labels, count] of Object.entries(counts)) {
    for (let n = 0; n < count; n++) {
      const { sha256, sizeBytes } = await server.putBlob(smallPng(`${labels} ${n}`));
      const origin = {
        ...server.own,
        machineName: '',
        partName: '',
        componentType: '',
        componentName: '',
        methodName: '',
      };
      await writeUpload(
        server.db,
        {
          ...origin,
          methodParameters: null,
          tags: labels.split('+').filter(Boolean),
          fileName: '',
          fileExt: '.png',
          mimeType: 'image/png',
          timeRequestedUs: n,
          timeReceivedUs: n,
          datasetIds: [id],
          boxes: [],
          classifications: [],
          captureTags: [],
          isMerged: false,
          isImagesOnly: false,
          repeats: undefined,
        },
        { sha256, sizeBytes: Number(sizeBytes) },
      );
    }
  }
  return id;
}

export type Submit = MessageInitShape<typeof SubmitTrainingJobRequestSchema>;
export const submission = (server: TrainingServer, datasetId: string, more: Partial<Submit> = {}): Submit =>
  ({
    organizationId: server.own.orgId,
    datasetId,
    modelName: 'm',
    modelVersion: '1',
    modelType: ModelType.SINGLE_LABEL_CLASSIFICATION,
    tags: ['a', 'b'],
    ...more,
  }) as Submit;
