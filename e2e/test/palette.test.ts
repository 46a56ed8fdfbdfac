// The palette, the shortcuts, and where the focus is after a navigation: a story by the keyboard alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage, untilInPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';
import { wireMachine } from '../src/wire-callers.ts';

const palette = (page: Page) => page.getByRole('dialog', { name: 'Search' });
const field = (page: Page) => palette(page).getByRole('combobox');
const focusIs = (page: Page, selector: string, text: string): Promise<void> =>
  untilInPage(
    page,
    `document.activeElement.matches(${JSON.stringify(selector)}) && document.activeElement.textContent.includes(${JSON.stringify(text)})`,
  );

async function search(page: Page, words: string, option: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await field(page).waitFor();
  await page.keyboard.type(words);
  await palette(page).getByRole('option', { name: option }).first().waitFor();
}

async function closes(page: Page): Promise<void> {
  await page.keyboard.press('Escape');
  await palette(page).waitFor({ state: 'detached' });
}

/** Pages: the focus is on the heading, the title names the page, and going back returns to what had the focus. */
async function navigates(page: Page): Promise<void> {
  await untilInPage(page, `document.title === 'Machines · Platform'`);
  // The shortcuts come after the first page.
  await page.getByRole('button', { name: /Search or jump/ }).click();
  await field(page).waitFor();
  await closes(page);
  await page.keyboard.press('g');
  await page.keyboard.press('d');
  await focusIs(page, 'h1', 'Datasets');
  await untilInPage(page, `document.title === 'Datasets · Platform'`);
  await page.getByRole('link', { name: 'cows at night' }).focus();
  await page.keyboard.press('Enter');
  await focusIs(page, 'h1', 'cows at night');
  await page.goBack();
  await focusIs(page, 'a.row-link', 'cows at night');
}

/** A shortcut does nothing while a user types, and in a dialog. */
async function types(page: Page): Promise<void> {
  await page.keyboard.press('g');
  await page.keyboard.press('m');
  await focusIs(page, 'h1', 'Machines');
  await page.keyboard.press('/');
  await untilInPage(page, `document.activeElement.getAttribute('aria-label') === 'Filter'`);
  await page.keyboard.type('gd?');
  assert.equal(await page.getByLabel('Filter').inputValue(), 'gd?');
  assert.equal(await page.getByRole('dialog').count(), 0);
  await page.getByLabel('Filter').fill('');
  await page.getByRole('heading', { name: 'Machines' }).focus();
  await page.keyboard.press('?');
  const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await list.getByText('Search, or jump to a page').waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('d');
  assert.ok(page.url().includes('/machines'));
  await checkPage(page, 'list of shortcuts');
  await list.getByLabel('Keys without Ctrl are on').uncheck();
  await page.keyboard.press('Escape');
  await list.waitFor({ state: 'detached' });
  await page.keyboard.press('?');
  await search(page, 'shelves', 'hall A shelves');
  assert.equal(await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).count(), 0, 'single keys are off');
  await closes(page);
}

async function finds(page: Page): Promise<void> {
  await search(page, 'mchns', 'Machines');
  await page.keyboard.press('Control+a');
  // "Train a model" has these letters, too, and is there before the machine, which is the better one.
  await page.keyboard.type('arn');
  await palette(page).getByRole('option', { name: 'barn-1', selected: true }).waitFor();
  await checkPage(page, 'palette');
  await page.keyboard.press('Enter');
  await focusIs(page, 'h1', 'barn-1');
  await page.keyboard.press('Control+k');
  await palette(page).getByRole('group', { name: 'Recent' }).getByRole('option', { name: 'barn-1' }).waitFor();
  await closes(page);
  await search(page, 'upload cows', 'Add images to cows at night');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: /Add images/ }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await search(page, 'restart barn', 'Restart the machine server of barn-1');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: /^Restart the machine server of/ }).waitFor();
  await page.getByRole('button', { name: 'Restart server' }).focus();
  await page.keyboard.press('Enter');
  await focusIs(page, 'h1', 'barn-1');
}

test('story: machines, datasets and actions are found and done by the keyboard alone', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  const created = await client.fleetClient.createMachine({ organizationId: ready.org_id, name: 'barn-1' });
  const machine = await wireMachine(created.credentialsJson);
  await machine.check({ restartAllowed: true });
  for (const name of ['cows at night', 'hall A shelves']) await client.datasetClient.createDataset(name, ready.org_id);
  await atEachWidth({ client, widths: [1280] }, async ({ signIn }) => {
    const page = await signIn();
    await navigates(page);
    await types(page);
    await finds(page);
    await page.setViewportSize({ width: 360, height: 740 });
    await page.emulateMedia({ colorScheme: 'dark' });
    await search(page, 'a', 'Add a machine');
    await checkPage(page, 'palette, 360 px, dark');
  });
  assert.equal(await machine.mustRestart(), true);
});
