// Labelling without the server, and two users at one image.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { createDataset, label, numbered, screen, storedLabels } from '../src/labelling-screen.ts';
import { checkPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';

test('without the server, answers stay on the device, over a reload too, and are saved when it answers again', async () => {
  await using cloud = await startCloud();
  const client = clientOf(cloud.ready);
  await atEachWidth({ client, widths: [1280] }, async ({ signIn }) => {
    const datasetId = await createDataset(client, cloud.ready.org_id, numbered(6));
    await label(client, datasetId, 5, ['cup', 'mug']);
    const page = await signIn();
    const url = `${cloud.ready.url}/datasets/${datasetId}/label?mode=one`;
    await page.goto(url);
    const { press, progress, saved, hasLabel } = screen(page);
    const saving = page.getByRole('status', { name: 'Saving' });
    await progress('1 of 6');
    for (const one of ['cup', 'mug']) await hasLabel(one);
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
    for (const one of ['cup', 'mug']) await hasLabel(one);
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
  await atEachWidth({ client, widths: [1280, 360] }, async ({ width, signIn }) => {
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
    const { press, progress, saved, hasLabel } = screen(page);
    await progress('2 of 4');
    for (const one of ['cup', 'mug']) await hasLabel(one);
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
