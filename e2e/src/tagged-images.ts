import type { PlatformClient } from '@platform/client';
import { smallPng } from '@platform/kit/testing';

/**
 * Creates a dataset of small images of noise.
 *
 * @param counts - number of images per list of tags, such as { 'cup+group:1': 4, cup: 1 }.
 * @returns its ID.
 */
export async function createTaggedDataset(
  client: PlatformClient,
  organizationId: string,
  name: string,
  counts: Readonly<Record<string, number>>,
): Promise<string> {
  const id = await client.datasetClient.createDataset(name, organizationId);
  const uploads = Object.entries(counts).flatMap(([tags, count]) =>
    Array.from({ length: count }, (_, n) => ({
      // Each dataset has its own files: tags belong to the image.
      bytes: smallPng(`${name} ${tags} ${n}`),
      fileName: `${n}.png`,
      fileExtension: 'png',
      tags: tags.split('+'),
    })),
  );
  await client.dataClient.uploadImages(uploads, { partId: '', datasetIds: [id] });
  return id;
}
