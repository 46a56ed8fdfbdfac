import { ModelType, type PlatformClient } from '@platform/client';
import { smallPng } from '@platform/kit/testing';
import type { CloudReady } from './cloud-process.ts';
import { wireRunner } from './wire-callers.ts';

/** A model that a training delivered: 16 images, a dataset, a job, a version in the registry. */
export async function makeModel(client: PlatformClient, ready: CloudReady): Promise<void> {
  const datasetId = await client.datasetClient.createDataset('boxes', ready.org_id);
  const boxes = [{ label: 'corn', xMin: 0.1, yMin: 0.1, xMax: 0.9, yMax: 0.9 }];
  const images = Array.from({ length: 16 }, (_, n) => ({
    bytes: smallPng(`image ${n}`),
    fileName: `image-${n}.png`,
    fileExtension: 'png',
    boxes,
  }));
  await client.dataClient.uploadImages(images, { partId: '', datasetIds: [datasetId] });
  const kind = ModelType.OBJECT_DETECTION;
  await client.mlTrainingClient.submitTrainingJob(ready.org_id, datasetId, 'finder', '1', kind, ['corn']);
  const runner = await wireRunner(client.url, ready.runner_key_id, ready.runner_key, { kinds: ['object_detection'] });
  await runner.complete({ 'finder.onnx': 'weights', 'labels.txt': 'corn\n' }, {});
}
