// Images labelled by keys in a real browser: key logs that are replayed to a truth file, boxes, and links.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { createDataset, label, numbered, screen, storedLabels } from '../src/labelling-screen.ts';
import { checkPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';

const logs = path.resolve(import.meta.dirname, '..', 'key-logs');

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
