// An upload in a real browser: what it would store, the account of the rest, and what is stored.
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { planImport } from '@platform/dataset-files/plan';
import { tempFolder } from '@platform/kit/testing';
import type { Page } from 'playwright-core';
import { cases, memorySource } from '../../packages/dataset-files/test/case-files.ts';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';
import { checkout } from '../src/up-process.ts';

const contentsOf = async (name: string): Promise<[string, Uint8Array][]> => {
  const source = memorySource(cases.find((one) => one.name === name)?.files ?? {});
  return Promise.all(
    source.files.map(async ({ path: file }): Promise<[string, Uint8Array]> => [file, await source.read(file)]),
  );
};

async function chooses(page: Page, folder: string, name: string): Promise<void> {
  for (const [file, bytes] of await contentsOf(name)) {
    await mkdir(path.dirname(path.join(folder, name, file)), { recursive: true });
    await writeFile(path.join(folder, name, file), bytes);
  }
  await page.getByLabel('A folder with its images and annotations').setInputFiles(path.join(folder, name));
}

test('a folder is previewed with its account before anything is stored, then uploaded with its boxes', async (t) => {
  await using folder = await tempFolder();
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  await atEachWidth({ client, t }, async ({ width, signIn }) => {
    const page = await signIn();
    const datasetId = await client.datasetClient.createDataset(`imported ${width}`, ready.org_id);
    await page.goto(`${ready.url}/datasets/${datasetId}`);
    await page.getByRole('button', { name: 'Add images' }).first().click();
    const upload = page.getByRole('button', { name: 'Upload', exact: true });

    await chooses(page, folder.path, 'yolo-without-names');
    await page.getByText('The folder looks like YOLO').waitFor();
    assert.ok(await upload.isDisabled(), 'a format that is half recognized');
    await checkPage(page, 'upload of an unclear format');
    await page.getByLabel('Format of labels and boxes').selectOption('folders');
    await page.getByText('1 image: 1 × images').waitFor();
    assert.ok(await upload.isEnabled());
    await page.getByLabel('Format of labels and boxes').selectOption('auto');

    await chooses(page, folder.path, 'coco-missing-category');
    await page.getByText('category_id 9 is not the id of one of the').waitFor();
    assert.ok(await upload.isDisabled(), 'annotations that cannot be understood');
    await page.getByLabel('Upload without what is missing or cannot be understood').check();
    assert.ok(await upload.isEnabled());
    await checkPage(page, 'upload with invalid annotations');

    await chooses(page, folder.path, 'wrong-extensions');
    await page.getByText('1 file, is a HEIC image: convert it to JPEG (cat/photo.jpg).').waitFor();

    await chooses(page, folder.path, 'coco-iscrowd-rle');
    await page.getByText('1 image: 1 box cup').waitFor();
    await page.getByText('1 annotation, crowd region (_annotations.coco.json: annotation 2).').waitFor();
    await page.getByText('2 annotations: 1 used, 0 of them changed, 1 left out.').waitFor();
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Every file and annotation as CSV' }).click(),
    ]);
    assert.match(await readFile(await saved.path(), 'utf8'), /"annotation 2","left out","crowd region"/);
    const drawn = await page.getByRole('img', { name: 'a.png: cup' }).boundingBox();
    const box = await page.locator('.import-box').boundingBox();
    assert.ok(drawn && box && Math.abs(box.x - drawn.x - drawn.width / 12) < 2, JSON.stringify([drawn, box]));
    await checkPage(page, 'preview of an upload');
    assert.equal((await client.dataClient.countBinaryData({ datasetId })).count, 0, 'nothing is stored yet');
    await upload.click();
    await page.getByText('1 image uploaded.').waitFor();
    const stored = await Array.fromAsync(client.dataClient.allBinaryData({ datasetId }));
    const boxes = stored.flatMap(({ metadata }) => metadata?.annotations?.bboxes ?? []);
    assert.deepEqual(
      boxes.map(({ label, xMinNormalized, yMaxNormalized }) => [label, xMinNormalized.toFixed(4), yMaxNormalized]),
      [['cup', '0.0833', 0.5]],
    );
    await page.close();
  });
});

interface WorkerScope {
  Blob: new (parts: object[]) => object;
  Worker: new (
    url: string,
    options: object,
  ) => {
    addEventListener(kind: 'message', take: (event: { data: object }) => void): void;
    postMessage(message: object, options: object): void;
    terminate(): void;
  };
  Uint8Array: typeof Uint8Array;
  atob(text: string): string;
}

/** Plans in the worker of the built web app. Maps become lists. */
const planInBrowser = (page: Page, worker: string, files: [string, string][]): Promise<string> =>
  page.evaluate(
    ([url, given]) => {
      const { Blob, Worker, Uint8Array: Bytes, atob } = globalThis as unknown as WorkerScope;
      const blobs = given.map(([name, base64]): [string, object] => [
        name,
        new Blob([Bytes.from(atob(base64), (character) => character.charCodeAt(0))]),
      ]);
      const program = new Worker(url, { type: 'module' });
      return new Promise<string>((resolve) => {
        program.addEventListener('message', ({ data }) => {
          program.terminate();
          resolve(JSON.stringify(data, (_key, value: unknown) => (value instanceof Map ? [...value] : value)));
        });
        program.postMessage({ files: new Map(blobs), format: 'auto' }, { transfer: [] });
      });
    },
    [worker, files] as const,
  );

test('in a browser every folder of the cases is planned as in Node', async () => {
  await using cloud = await startCloud();
  const assets = await readdir(path.join(checkout, 'apps', 'web', 'dist', 'assets'));
  const worker = `/assets/${assets.find((file) => /^import-worker-.*\.js$/.test(file)) ?? ''}`;
  const plans = async ({ signIn }: { signIn: () => Promise<Page> }): Promise<void> => {
    const page = await signIn();
    for (const { name, files } of cases) {
      const base64 = (await contentsOf(name)).map(([file, bytes]): [string, string] => [
        file,
        Buffer.from(bytes).toString('base64'),
      ]);
      const expected = JSON.stringify({ plan: await planImport(memorySource(files)) }, (_key, value: unknown) =>
        value instanceof Map ? [...value] : value,
      );
      assert.deepEqual(JSON.parse(await planInBrowser(page, worker, base64)), JSON.parse(expected), name);
    }
  };
  await atEachWidth({ client: clientOf(cloud.ready), widths: [1280] }, plans);
});
