// Many images in the web app: the grid of a dataset, and an upload that a reload ends.
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import type { Page } from 'playwright-core';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { drawnPng } from '../src/drawn-images.ts';
import { createDataset, numbered } from '../src/labelling-screen.ts';
import { checkPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';

const most = 1_500;
const many = 250;

/** Nodes of the document, and the place of the last image in it. */
const inDocument = (page: Page): Promise<{ nodes: number; last: number }> =>
  page.evaluate(() => {
    const { document } = globalThis as unknown as {
      document: { querySelectorAll(selector: string): ArrayLike<{ getAttribute(name: string): string | null }> };
    };
    const images = document.querySelectorAll('li.image');
    const last = Number(images[images.length - 1]?.getAttribute('aria-posinset') ?? 0);
    return { nodes: document.querySelectorAll('*').length, last };
  });

test('the grid of a dataset has few nodes wherever it is scrolled to, and reaches the last image', async () => {
  await using cloud = await startCloud();
  const client = clientOf(cloud.ready);
  const datasetId = await createDataset(client, cloud.ready.org_id, numbered(many));
  await atEachWidth({ client }, async ({ signIn }) => {
    const page = await signIn();
    await page.goto(`${cloud.ready.url}/datasets/${datasetId}`);
    await page.getByRole('img', { name: '000.png' }).waitFor();
    const seen: { nodes: number; last: number }[] = [];
    while ((seen.at(-1)?.last ?? 0) < many) {
      await page.keyboard.press('End');
      const before = seen.at(-1)?.last ?? 0;
      // At an end that has moved meanwhile, the key is needed again.
      const isFarther = page.waitForFunction(
        ([selector, place]) => {
          const { document } = globalThis as unknown as {
            document: { querySelectorAll(text: string): Iterable<{ getAttribute(name: string): string | null }> };
          };
          return [...document.querySelectorAll(selector)].some(
            (one) => Number(one.getAttribute('aria-posinset')) > place,
          );
        },
        ['li.image', before] as const,
        { timeout: 5_000 },
      );
      await isFarther.catch(() => undefined);
      seen.push(await inDocument(page));
    }
    assert.ok(seen.length > 1, 'the images come in several pages');
    assert.ok(
      seen.every(({ nodes }) => nodes <= most),
      JSON.stringify(seen),
    );
    await page.getByRole('img', { name: `${many - 1}.png` }).waitFor();
    await checkPage(page, 'the end of a long grid');
  });
});

/** A folder `cup` with images, each another file. */
async function writeImages(folder: string, count: number): Promise<void> {
  await mkdir(path.join(folder, 'cup'), { recursive: true });
  for (let at = 0; at < count; at++) {
    const png = drawnPng({ width: 16, height: 16 }, (x, y) => [at * 5, x * 10, y * 10]);
    await writeFile(path.join(folder, 'cup', `${at}.png`), png);
  }
}

test('an upload that a reload ends goes on with the images that are left, when the folder is chosen again', async () => {
  const [count, first] = [40, 15];
  await using folder = await tempFolder();
  await writeImages(folder.path, count);
  await using cloud = await startCloud();
  const client = clientOf(cloud.ready);
  await atEachWidth({ client, widths: [1280] }, async ({ signIn }) => {
    const page = await signIn();
    const datasetId = await client.datasetClient.createDataset('cups', cloud.ready.org_id);
    const choose = async (): Promise<void> => {
      await page.goto(`${cloud.ready.url}/datasets/${datasetId}`);
      await page.getByRole('button', { name: 'Add images' }).first().click();
      await page.getByLabel('A folder with its images and annotations').setInputFiles(folder.path);
      await page.getByText(`${count} images: ${count} × cup`).waitFor();
      await page.getByRole('button', { name: 'Upload', exact: true }).click();
    };
    let sent = 0;
    let isLeft = false;
    // The rest stays on its way until the page is left.
    await page.route('**/DataCaptureUpload', (route) => (isLeft || ++sent <= first ? route.continue() : undefined));
    await choose();
    await page.getByText(`${first} of ${count}`).waitFor();
    await page.goto('about:blank');
    isLeft = true;
    const again: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/DataCaptureUpload')) again.push(request.url());
    });
    await choose();
    await page.getByText(`${count - first} images uploaded. ${first} images had been uploaded before.`).waitFor();
    assert.equal(again.length, count - first);
    const stored = await Array.fromAsync(client.dataClient.allBinaryData({ datasetId }));
    assert.equal(new Set(stored.map(({ metadata }) => metadata?.fileName)).size, count);
    assert.equal(stored.length, count);
    assert.ok(stored.every(({ metadata }) => metadata?.labels.join() === 'cup'));
  });
});
