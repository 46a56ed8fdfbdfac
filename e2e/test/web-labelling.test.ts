// Images labelled by keys in a real browser: key logs that are replayed to a truth file, what happens offline and after a
// reload, and two users at one image.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { PlatformClient } from '@platform/client';
import type { Page } from 'playwright-core';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { drawnPng } from '../src/drawn-images.ts';
import { checkPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';

const logs = path.resolve(import.meta.dirname, '..', 'key-logs');

/** An image of its number's colour with a disc, each another file. */
function imageOf(number: number, seed: number): Buffer {
  const [width, height] = [96, 64];
  const colour = [(number * 53) % 200, (number * 97) % 200, (seed * 31) % 200] as const;
  const isIn = (x: number, y: number): boolean => (x - 48) ** 2 + (y - 32) ** 2 < (12 + (number % 12)) ** 2;
  return drawnPng({ width, height }, (x, y) => (isIn(x, y) ? [230, 230, 220] : colour));
}

/** Each dataset has its own files: labels belong to the image. */
async function createDataset(
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

async function storedLabels(client: PlatformClient, datasetId: string): Promise<Map<string, string>> {
  const stored = await Array.fromAsync(client.dataClient.allBinaryData({ datasetId }));
  return new Map(
    stored.map(({ metadata }) => [metadata?.fileName ?? '', (metadata?.labels ?? []).toSorted().join(' ')]),
  );
}

/** Another user labels the image at this place. */
async function label(client: PlatformClient, datasetId: string, place: number, tags: string[]): Promise<void> {
  const stored = await Array.fromAsync(client.dataClient.allBinaryData({ datasetId }));
  await client.dataClient.addTagsToBinaryDataByIds(tags, [stored[place]?.metadata?.binaryDataId ?? '']);
}

const screen = (page: Page) => ({
  saved: () =>
    page.getByRole('status', { name: 'Saving' }).getByText('Saved', { exact: true }).waitFor({ timeout: 120_000 }),
  shows: (text: string) => page.getByRole('status', { name: 'Image', exact: true }).getByText(text).waitFor(),
  progress: (text: string) => page.getByRole('status', { name: 'Progress' }).getByText(text).waitFor(),
  /** Presses keys at the pace at which the browser takes them. */
  async press(keys: readonly string[]): Promise<void> {
    for (const key of keys) await page.keyboard.press(key);
  },
});

const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${String(at).padStart(3, '0')}.png`);

for (const { name, mostKeys } of [
  { name: 'one-label', mostKeys: 150 },
  { name: 'two-labels', mostKeys: 320 },
])
  test(`a key log of at most ${mostKeys} keys labels 100 images as its truth file says: ${name}`, async () => {
    const keys = (await readFile(path.join(logs, `${name}.keys`), 'utf8')).trim().split(/\s+/);
    const [, ...rows] = (await readFile(path.join(logs, `${name}.truth.csv`), 'utf8')).trim().split('\n');
    const truth = new Map(rows.map((row) => row.split(',') as [string, string]));
    assert.equal(truth.size, 100);
    assert.ok(keys.length <= mostKeys, `${keys.length} keys`);
    await using cloud = await startCloud();
    const client = clientOf(cloud.ready);
    const datasetId = await createDataset(client, cloud.ready.org_id, [...truth.keys()]);
    const stored = await Array.fromAsync(client.dataClient.allBinaryData({ datasetId }));
    // The log answers the images in the order of their names; the dataset has an order of its own.
    const order = stored.map(({ metadata }) => metadata?.fileName ?? '');
    assert.deepEqual(order, [...truth.keys()], 'the screen shows the images in the order of the upload');
    await atEachWidth({ client, widths: [1280] }, async ({ signIn }) => {
      const page = await signIn();
      await page.goto(`${cloud.ready.url}/datasets/${datasetId}/label`);
      const { press, progress, saved } = screen(page);
      await progress('0 of 100');
      await press(keys);
      await progress('100 of 100');
      await saved();
    });
    assert.deepEqual(await storedLabels(client, datasetId), truth);
  });

test('labels, undo, boxes, zoom and links on both widths and in both themes', async (t) => {
  await using cloud = await startCloud();
  const client = clientOf(cloud.ready);
  await atEachWidth({ client, t }, async ({ signIn }) => {
    const datasetId = await createDataset(client, cloud.ready.org_id, numbered(5));
    const page = await signIn();
    await page.goto(`${cloud.ready.url}/datasets/${datasetId}`);
    await page.getByRole('link', { name: 'Label images' }).click();
    const { press, progress, saved, shows } = screen(page);
    await progress('0 of 5');
    await press(['l', 'c', 'u', 'p', 'Enter', 'l', 'm', 'u', 'g', 'Enter']);
    await progress('2 of 5');
    await page.getByRole('button', { name: /^(1 )?cup$/ }).waitFor();
    await press(['End', '1', 'ArrowLeft']);
    await shows('2 / 5');
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await checkPage(page, `labelling ${colorScheme}`);
    }
    await press(['?']);
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await checkPage(page, 'keys of labelling');
    await press(['Escape']);
    await page.getByRole('dialog').waitFor({ state: 'detached' });

    const link = page.url();
    assert.match(link, /\/label/);
    await press(['z', 'z']);
    await progress('1 of 5');
    await shows('2 / 5');
    await press(['z']);
    await progress('0 of 5');
    await shows('1 / 5');
    await press(['Shift+Z', 'Shift+Z']);
    await progress('2 of 5');
    await saved();
    assert.deepEqual([...(await storedLabels(client, datasetId)).values()], ['cup', 'mug', '', '', '']);
  });
});

test('without the server, answers stay on the device, over a reload too, and are saved when it answers again', async () => {
  await using cloud = await startCloud();
  const client = clientOf(cloud.ready);
  await atEachWidth({ client, widths: [1280] }, async ({ signIn }) => {
    const datasetId = await createDataset(client, cloud.ready.org_id, numbered(6));
    await label(client, datasetId, 5, ['cup', 'mug']);
    const page = await signIn();
    const url = `${cloud.ready.url}/datasets/${datasetId}/label?mode=one`;
    await page.goto(url);
    const { press, progress, saved } = screen(page);
    const saving = page.getByRole('status', { name: 'Saving' });
    await progress('1 of 6');
    const calls = '**/AddTagsToBinaryDataByIDs';
    await page.route(calls, (route) => route.abort());
    await press(['1', '2', '1']);
    await saving.getByText('Offline · 3 kept on this device').waitFor();
    await progress('4 of 6');
    await checkPage(page, 'labelling offline');
    assert.equal((await storedLabels(client, datasetId)).get('000.png'), '');
    await page.goto(url);
    await progress('4 of 6');
    await saving.getByText('Offline · 3 kept on this device').waitFor();
    await press(['z', '2']);
    await page.unroute(calls);
    await page.getByRole('button', { name: 'Try again' }).click();
    await saved();
    const stored = await storedLabels(client, datasetId);
    assert.deepEqual([...stored.values()], ['cup', 'mug', 'cup', 'mug', '', 'cup mug']);
  });
});

test('two users at one image: the later one sees both answers and chooses', async () => {
  await using cloud = await startCloud();
  const client = clientOf(cloud.ready);
  await atEachWidth({ client }, async ({ width, signIn }) => {
    const datasetId = await createDataset(client, cloud.ready.org_id, numbered(4));
    await label(client, datasetId, 3, ['cup']);
    await label(client, datasetId, 2, ['mug']);
    const page = await signIn();
    let isRefused = false;
    // The page would see the other answer before the key; here both come at once.
    await page.route('**/BinaryDataByIDs', (route) => (isRefused ? route.continue() : route.abort()));
    page.on(
      'response',
      (response) => (isRefused ||= response.url().endsWith('/AddTagsToBinaryDataByIDs') && !response.ok()),
    );
    await page.goto(`${cloud.ready.url}/datasets/${datasetId}/label`);
    const { press, progress, saved } = screen(page);
    await progress('2 of 4');
    await label(client, datasetId, 0, ['cup']);
    await press(['2', '1']);
    const conflict = page.getByRole('alert', { name: 'Changed by another user' });
    await conflict.getByText('000.png').waitFor();
    await conflict.getByRole('button', { name: 'Keep theirs: cup' }).waitFor();
    await checkPage(page, 'labelling conflict');
    assert.deepEqual([...(await storedLabels(client, datasetId)).values()], ['cup', 'cup', 'mug', 'cup']);
    await conflict.getByRole('button', { name: width > 1000 ? 'Use mine: mug' : 'Keep theirs: cup' }).click();
    await conflict.waitFor({ state: 'detached' });
    await saved();
    const stored = await storedLabels(client, datasetId);
    assert.equal(stored.get('000.png'), width > 1000 ? 'mug' : 'cup');
    await progress('4 of 4');
  });
});

test('boxes are drawn, labelled and copied by keys, and the image is zoomed and panned', async () => {
  await using cloud = await startCloud();
  const client = clientOf(cloud.ready);
  await atEachWidth({ client }, async ({ width, signIn }) => {
    const datasetId = await createDataset(client, cloud.ready.org_id, numbered(3));
    const page = await signIn();
    await page.goto(`${cloud.ready.url}/datasets/${datasetId}/label?mode=boxes`);
    const { press, progress, saved, shows } = screen(page);
    await shows('no box');
    await press(['l', 'd', 'i', 's', 'c', 'Enter']);
    const frame = page.locator('.box-canvas');
    const draw = async (): Promise<void> => {
      await page.getByRole('img', { name: '00' }).waitFor();
      const at = await frame.boundingBox();
      assert.ok(at);
      await page.mouse.move(at.x + at.width * 0.3, at.y + at.height * 0.3);
      await page.mouse.down();
      await page.mouse.move(at.x + at.width * 0.7, at.y + at.height * 0.7, { steps: 4 });
      await page.mouse.up();
    };
    await draw();
    await page.getByRole('button', { name: /^Box 1: disc/ }).waitFor();
    await checkPage(page, 'labelling boxes');
    await press([' ', 'c']);
    await shows('2 / 3 disc');
    await progress('2 of 3');
    const before = (await frame.boundingBox())?.width ?? 0;
    await press(['+', '+', 'Shift+ArrowRight']);
    assert.ok(((await frame.boundingBox())?.width ?? 0) > before * 2, `at ${width} px`);
    await press(['0', 'z', 'z']);
    await progress('0 of 3');
    await press(['Shift+Z']);
    await saved();
    const stored = await Array.fromAsync(client.dataClient.allBinaryData({ datasetId }));
    assert.deepEqual(
      stored.map(({ metadata }) => metadata?.annotations?.bboxes.map((one) => one.label)),
      [['disc'], [], []],
    );
  });
});

test('several images are labelled by one key from the grid, and labels that look alike are merged by a click', async () => {
  await using cloud = await startCloud();
  const client = clientOf(cloud.ready);
  await atEachWidth({ client }, async ({ signIn }) => {
    const datasetId = await createDataset(client, cloud.ready.org_id, numbered(6));
    await label(client, datasetId, 0, ['Kröte']);
    await label(client, datasetId, 1, ['Kröte']);
    await label(client, datasetId, 2, ['kröte']);
    await label(client, datasetId, 3, ['Kröte '.normalize('NFD')]);
    const boxed = (await Array.fromAsync(client.dataClient.allBinaryData({ datasetId })))[4];
    const box = { label: 'kröte', xMin: 0.1, yMin: 0.1, xMax: 0.5, yMax: 0.5 };
    await client.dataClient.addBoundingBoxToImageById(boxed?.metadata?.binaryDataId ?? '', box);
    const page = await signIn();
    await page.goto(`${cloud.ready.url}/datasets/${datasetId}`);
    await page.getByText('These labels look alike').waitFor();
    await checkPage(page, 'labels that look alike');
    await page.getByRole('button', { name: 'Merge into Kröte' }).click();
    await page.getByText('These labels look alike').waitFor({ state: 'detached' });
    assert.deepEqual(
      [...(await storedLabels(client, datasetId)).values()],
      ['Kröte', 'Kröte', 'Kröte', 'Kröte', '', ''],
    );
    const merged = (await Array.fromAsync(client.dataClient.allBinaryData({ datasetId })))[4];
    assert.deepEqual(
      merged?.metadata?.annotations?.bboxes.map((one) => one.label),
      ['Kröte'],
    );

    await page.getByRole('checkbox', { name: 'Select 003.png' }).check();
    await page.getByRole('checkbox', { name: 'Select 004.png' }).check();
    await page.getByRole('checkbox', { name: 'Select 005.png' }).check();
    const bar = page.getByRole('region', { name: 'Selected images' });
    await bar.getByRole('button', { name: '1 Kröte' }).waitFor();
    await page.locator('h1').click();
    await page.keyboard.press('1');
    await bar.getByText('2 images labeled Kröte').waitFor();
    await checkPage(page, 'keys of the grid');
    assert.equal((await storedLabels(client, datasetId)).get('005.png'), 'Kröte');
    await page.keyboard.press('z');
    await bar.getByText('2 images labeled').waitFor({ state: 'detached' });
    assert.deepEqual([...(await storedLabels(client, datasetId)).values()].slice(3), ['Kröte', '', '']);
  });
});
