// The operator's day with many machines: found by facets and suggestions, tagged all at once, a few first, then the rest.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage, untilInPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';
import { wireMachine } from '../src/wire-callers.ts';

const names = Array.from({ length: 7 }, (_, n) => `barn-${n}`);

/** A value of a facet, and a field and a value by suggestions with the keyboard only. */
async function finds(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Online 1$/ }).click();
  await page.getByText(/^1 of 8 machines/).waitFor();
  assert.equal(new URL(page.url()).searchParams.get('q'), 'state:online');
  await page.getByRole('button', { name: /^Online 1$/ }).click();
  await page.getByText(/^8 machines/).waitFor();
  const filter = page.getByLabel('Filter');
  await filter.pressSequentially('ta');
  await page.getByRole('option', { name: /^tag:/ }).waitFor();
  await filter.press('ArrowDown');
  await filter.press('Enter');
  await page.getByRole('option', { name: /^tag:old 1 machine$/ }).waitFor();
  await filter.press('ArrowDown');
  await filter.press('Enter');
  await page.getByRole('link', { name: 'talks', exact: true }).waitFor();
  await page.getByText(/^1 of 8 machines/).waitFor();
  assert.equal(await filter.inputValue(), 'tag:old');
  // Suggestions are those of the word at the caret, wherever the keys move it.
  const suggestion = page.getByRole('option', { name: /^tag:old/ });
  await filter.fill('');
  await filter.pressSequentially('talks tag:');
  await suggestion.waitFor();
  // Its value is about to be typed: it is wrong once the caret has left it.
  assert.equal(await filter.getAttribute('aria-invalid'), 'false');
  assert.equal(await page.locator('mark').count(), 0);
  await page.getByText(/^1 of 8 machines/).waitFor();
  await filter.press('Home');
  await suggestion.waitFor({ state: 'detached' });
  await page.locator('mark', { hasText: 'tag:' }).waitFor();
  await filter.fill('barn');
  await page.getByText(/^7 of 8 machines/).waitFor();
}

/** A dialog that closes gives the focus back to the button that opened it. */
const hasFocus = (page: Page, text: string): Promise<void> =>
  untilInPage(page, `document.activeElement.textContent === ${JSON.stringify(text)}`);

async function changesAll(page: Page): Promise<void> {
  await page.getByLabel('Select barn-1', { exact: true }).check();
  await page.getByLabel('Select barn-4', { exact: true }).click({ modifiers: ['Shift'] });
  await page.getByText('4 selected').waitFor();
  await page.getByRole('button', { name: 'Select all 7' }).click();
  await page.getByText('7 selected').waitFor();
  await page.getByRole('button', { name: 'Restart', exact: true }).click();
  await page.getByText('0 change · 7 cannot').waitFor();
  await page.getByText(/no agent has checked in for it yet/).waitFor();
  assert.ok(await page.getByRole('button', { name: 'Start', exact: true }).isDisabled());
  await page.keyboard.press('Escape');
  await hasFocus(page, 'Restart');
  await page.getByRole('button', { name: 'Tag', exact: true }).click();
  await page.getByLabel('Tags to add').fill('north');
  await page.getByText('7 change').waitFor();
  await checkPage(page, 'the preview of a change of many machines');
  await page.getByRole('button', { name: 'Start with 5' }).click();
  await page.getByText('5 done, 2 wait').waitFor();
  await page.getByRole('button', { name: 'Continue with 2' }).click();
  await page.getByText('7 done').waitFor();
  await page.getByRole('link', { name: 'Show these machines' }).click();
  await page.getByText(/^7 of 8 machines/).waitFor();
  assert.equal(new URL(page.url()).searchParams.get('q'), 'operation:1');
  await page.getByRole('cell', { name: 'north', exact: true }).first().waitFor();
}

async function choosesColumns(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('menuitemcheckbox', { name: 'Host' }).click();
  await page.keyboard.press('Escape');
  const host = page.getByRole('columnheader', { name: 'Host' });
  await host.getByRole('button').click();
  await page.reload();
  await host.waitFor();
  assert.equal(await host.getAttribute('aria-sort'), 'ascending');
  const inView = `[...document.querySelectorAll('tr[data-index]')].length`;
  assert.ok((await page.evaluate<number>(inView)) >= 7);
}

async function savesView(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Save view' }).click();
  await page.getByLabel('Name').fill('By host');
  await page.getByRole('dialog').getByRole('button', { name: 'Save view' }).click();
  const view = page.getByRole('link', { name: 'By host', exact: true });
  const current = page.getByRole('navigation', { name: 'Views' }).locator('[aria-current=page]');
  await current.filter({ hasText: 'By host' }).waitFor();
  await page.getByRole('link', { name: 'All', exact: true }).click();
  await page.getByText(/^8 machines/).waitFor();
  await current.filter({ hasText: 'All' }).waitFor();
  await view.click();
  await page.getByText(/^7 of 8 machines/).waitFor();
  await page.getByRole('columnheader', { name: 'Host' }).waitFor();
  // The field says what the list shows, also of a query that was shown before.
  assert.equal(await page.getByLabel('Filter').inputValue(), 'operation:1');
  await checkPage(page, 'a saved view of the machines');
  await page.getByRole('button', { name: 'Delete view' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete view' }).click();
  await view.waitFor({ state: 'detached' });
}

/** All that a query finds: the dialog stays to say that they are gone, and nothing is selected afterwards. */
async function deletesAll(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Machines', exact: true }).first().click();
  await page.getByLabel('Filter').fill('barn-1');
  await page.getByText(/^1 of 8 machines/).waitFor();
  await page.getByLabel('Select the machine').check();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Start with 1' }).click();
  await page.getByText('No machine matches').waitFor();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('1 done').waitFor();
  assert.equal(await dialog.getByRole('link').count(), 0);
  await dialog.getByRole('button', { name: 'Done' }).click();
  await page.getByLabel('Filter').fill('');
  await page.getByText(/^7 machines/).waitFor();
  assert.equal(await page.getByRole('region', { name: 'Selected machines' }).count(), 0);
}

async function tagsOne(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'barn-3', exact: true }).click();
  await page.getByRole('button', { name: 'Add tag' }).click();
  await page.getByLabel('Tag', { exact: true }).fill('West?');
  await page.getByText(/^only letters, digits/).waitFor();
  await page.getByLabel('Tag', { exact: true }).fill('West');
  await page.getByRole('dialog').getByRole('button', { name: 'Add tag' }).click();
  await hasFocus(page, 'Add tag');
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Delete machine …' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel' }).click();
  await hasFocus(page, 'More');
  await page.getByRole('button', { name: 'Remove the tag north' }).click();
  await page.getByRole('link', { name: 'north', exact: true }).waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'west', exact: true }).click();
  await page.getByText(/^1 of 8 machines/).waitFor();
}

test('machines are found by facets and suggestions, and changed all at once', { timeout: 200_000 }, async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  const organizationId = ready.org_id;
  for (const name of names) await client.fleetClient.createMachine({ organizationId, name });
  const created = await client.fleetClient.createMachine({ organizationId, name: 'talks' });
  await client.fleetClient.tagMachine({ id: created.machine?.id ?? '', add: ['old'] });
  const machine = await wireMachine(created.credentialsJson);
  await atEachWidth({ client, widths: [1280] }, async ({ signIn }) => {
    await machine.check({ hostname: 'pi' });
    const page = await signIn();
    await finds(page);
    await changesAll(page);
    await choosesColumns(page);
    await savesView(page);
    await tagsOne(page);
    await deletesAll(page);
  });
});
