// What tests of labelling in a browser share: images, the labels that the server has, and the screen.
import type { PlatformClient } from '@platform/client';
import type { Page } from 'playwright-core';
import { drawnPng } from './drawn-images.ts';

/** An image of its number's colour with a disc, each another file. */
function imageOf(number: number, seed: number): Buffer {
  const [width, height] = [96, 64];
  const colour = [(number * 53) % 200, (number * 97) % 200, (seed * 31) % 200] as const;
  const isIn = (x: number, y: number): boolean => (x - 48) ** 2 + (y - 32) ** 2 < (12 + (number % 12)) ** 2;
  return drawnPng({ width, height }, (x, y) => (isIn(x, y) ? [230, 230, 220] : colour));
}

/** Each dataset has its own files: labels belong to the image. */
export async function createDataset(
  client: PlatformClient,
  organizationId: string,
  names: readonly string[],
): Promise<string> {
  const seed = (await client.datasetClient.listDatasetsByOrganizationId(organizationId)).length + 1;
  const id = await client.datasetClient.createDataset(`labels ${seed}`, organizationId);
  // The newest image comes first.
  const uploads = names.map((fileName, at) => ({
    bytes: imageOf(at, seed),
    fileName,
    fileExtension: 'png',
    tags: [],
    takenAt: Date.UTC(2026, 0, 1) - at * 1_000,
  }));
  await client.dataClient.uploadImages(uploads, { partId: '', datasetIds: [id] });
  return id;
}

export async function storedLabels(client: PlatformClient, datasetId: string): Promise<Map<string, string>> {
  const stored = await Array.fromAsync(client.dataClient.allBinaryData({ datasetId }));
  return new Map(
    stored.map(({ metadata }) => [metadata?.fileName ?? '', (metadata?.labels ?? []).toSorted().join(' ')]),
  );
}

/** Another user labels the image at this place. */
export async function label(client: PlatformClient, datasetId: string, place: number, tags: string[]): Promise<void> {
  const stored = await Array.fromAsync(client.dataClient.allBinaryData({ datasetId }));
  await client.dataClient.addTagsToBinaryDataByIds(tags, [stored[place]?.metadata?.binaryDataId ?? '']);
}

export const screen = (page: Page) => ({
  saved: () =>
    page.getByRole('status', { name: 'Saving' }).getByText('Saved', { exact: true }).waitFor({ timeout: 120_000 }),
  shows: (text: string) => page.getByRole('status', { name: 'Image', exact: true }).getByText(text).waitFor(),
  progress: (text: string) => page.getByRole('status', { name: 'Progress' }).getByText(text).waitFor(),
  /** A label has its key once the labels of the dataset are counted. */
  hasLabel: (name: string) => page.getByRole('button', { name: new RegExp(`^(\\d )?${name}$`) }).waitFor(),
  /** Presses keys at the pace at which the browser takes them. */
  async press(keys: readonly string[]): Promise<void> {
    for (const key of keys) await page.keyboard.press(key);
  },
});

export const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${String(at).padStart(3, '0')}.png`);
