// What the app says once its own connection to the server is gone, and what of a failed call.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage, openJson } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';
import { stayOnline } from '../src/stay-online.ts';
import { wireMachine } from '../src/wire-callers.ts';

test('a page without contact shows no machine as online, and goes on by itself', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  await atEachWidth({ client }, async ({ width, context, signIn }) => {
    const name = `press ${width}`;
    const created = await client.fleetClient.createMachine({ organizationId: ready.org_id, name });
    const machine = await wireMachine(created.credentialsJson);
    await machine.check({});
    await using _online = stayOnline(machine);
    const page = await signIn();
    const row = page.getByRole('row', { name });
    await row.getByText('Online', { exact: true }).waitFor();
    const facets = page.getByRole('complementary', { name: 'Facets' });
    if (width > 1100) await facets.getByText('Online', { exact: true }).waitFor();
    await context.setOffline(true);
    await page.getByText('The server does not answer.').first().waitFor();
    await row.getByText('Was online', { exact: true }).waitFor();
    assert.equal(await page.getByText('Online', { exact: true }).count(), 0);
    await checkPage(page, `machines without contact, ${width} px`);
    await context.setOffline(false);
    await row.getByText('Online', { exact: true }).waitFor();

    await page.goto(`${ready.url}/machines/${created.machine?.id}/configure`);
    const part = (state: string) => page.getByRole('button', { name: `Part status: ${state}` });
    await part('Online').waitFor();
    if (width < 1080) await page.getByRole('button', { name: 'JSON', exact: true }).click();
    const editor = await openJson(page);
    await editor.click();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.insertText('{ "agent": {} }');
    await context.setOffline(true);
    await part('Was online').waitFor();
    await page.getByText('Saving waits for the server.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Review and save …' }).isDisabled(), true);
    assert.match(await editor.innerText(), /"agent"/);
    await checkPage(page, `configure without contact, ${width} px`);
    await context.setOffline(false);
    await page.getByText('This page shows what was known').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Review and save …' }).click();
    await page.getByRole('dialog').waitFor();
  });
});

test('a failed call does not show as a missing thing, and a missing dataset offers nothing', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  const id = await client.datasetClient.createDataset('cups', ready.org_id);
  await atEachWidth({ client }, async ({ width, signIn }) => {
    const page = await signIn();
    await page.route(/ListDatasetsByIDs$/, (route) => route.fulfill({ status: 500, body: 'broken' }));
    await page.goto(`${ready.url}/datasets/${id}`);
    await page.getByText('failed with HTTP status 500').waitFor();
    assert.equal(await page.getByText('not found', { exact: false }).count(), 0);
    await checkPage(page, `dataset that failed, ${width} px`);
    await page.unroute(/ListDatasetsByIDs$/);
    await page.goto(`${ready.url}/datasets/0f0f0f0f-0f0f-4f0f-8f0f-0f0f0f0f0f0f`);
    await page.getByRole('heading', { name: 'Dataset not found' }).waitFor();
    assert.equal(await page.getByText('No images').count(), 0);
    assert.equal(await page.getByRole('button', { name: 'Add images' }).count(), 0);
    await checkPage(page, `missing dataset, ${width} px`);
  });
});
