// The list of machines of a large fleet: found by a query, sorted, scrolled to the end, all of it in the URL.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { inTurns } from '../src/in-turns.ts';
import { checkPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';
import { wireMachine } from '../src/wire-callers.ts';

const machines = 3_000;
const mostNodes = 1_500;
const nth = (n: number): string => `n${String(n).padStart(4, '0')}`;
const rowLinks = (page: Page) => page.getByRole('row').getByRole('link');

async function checkNodes(page: Page, what: string): Promise<void> {
  const nodes = await page.evaluate<number>('document.querySelectorAll("*").length');
  assert.ok(nodes <= mostNodes, `${what}: ${nodes} nodes`);
}

async function scrolls(page: Page, width: number): Promise<void> {
  await page.evaluate('window.scrollTo(0, document.documentElement.scrollHeight)');
  await page.getByRole('link', { name: 'talks', exact: true }).waitFor();
  await checkNodes(page, 'the end of the list');
  await page.evaluate('window.scrollTo(0, document.documentElement.scrollHeight / 2)');
  await page
    .getByRole('link', { name: /^n1[45]\d\d$/ })
    .first()
    .waitFor();
  if (width > 760) {
    // "Back" returns to the place in the list.
    const place = page.getByRole('link', { name: nth(1_500), exact: true });
    await place.click();
    await page.getByRole('heading', { name: nth(1_500), exact: true }).waitFor();
    await page.goBack();
    await place.waitFor();
  }
  await page.evaluate('window.scrollTo(0, 0)');
  await page.getByRole('link', { name: nth(0), exact: true }).waitFor();
}

async function searches(page: Page, width: number): Promise<void> {
  const filter = page.getByLabel('Filter');
  await filter.fill('N01 -state:online');
  await page.getByText(/^100 of 3\s001 machines, 0 online$|^100 of 3\s001 machines$/).waitFor();
  assert.equal(new URL(page.url()).searchParams.get('q'), 'N01 -state:online');
  await page.reload();
  await page.getByText(/^100 of 3\s001 machines/).waitFor();
  assert.equal(await filter.inputValue(), 'N01 -state:online');
  await page.getByRole('link', { name: nth(101), exact: true }).click();
  await page.getByRole('heading', { name: nth(101), exact: true }).waitFor();
  await page.goBack();
  await page.getByText(/^100 of 3\s001 machines/).waitFor();
  assert.equal(await filter.inputValue(), 'N01 -state:online');

  await filter.fill('n01 stat:online');
  await page.locator('mark', { hasText: 'stat:online' }).waitFor();
  await page.getByText(/machines have no field "stat".*Write state:offline, or/).waitFor();
  await page.getByText('No machines are shown').waitFor();
  assert.equal(await rowLinks(page).count(), 0);
  await checkPage(page, `machines with a wrong word, ${width} px`);
  await page.reload();
  await page.locator('mark', { hasText: 'stat:online' }).waitFor();
  assert.equal(await rowLinks(page).count(), 0);

  // A search of digits only is a text; so few are not the start of an ID.
  await filter.fill('299');
  await page.getByText(/^13 of 3\s001 machines/).waitFor();
  await page.reload();
  await page.getByRole('link', { name: nth(299), exact: true }).waitFor();
  await filter.fill('');
  await page.getByText(/^3\s001 machines$/).waitFor();
  assert.equal(new URL(page.url()).search, '');
}

async function sorts(page: Page, width: number): Promise<void> {
  const sortBy = async (text: string, by: string): Promise<void> => {
    if (width < 760) await page.getByLabel('Order').selectOption(by);
    else await page.getByRole('columnheader', { name: text }).getByRole('button').click();
  };
  await sortBy('Last seen', 'seen');
  await rowLinks(page).first().filter({ hasText: 'talks' }).waitFor();
  assert.equal(new URL(page.url()).searchParams.get('sort'), 'seen');
  await page.reload();
  await rowLinks(page).first().filter({ hasText: 'talks' }).waitFor();
  await sortBy('Name', 'name');
  await rowLinks(page)
    .first()
    .filter({ hasText: nth(0) })
    .waitFor();
  await sortBy('Name', '-name');
  await rowLinks(page).first().filter({ hasText: 'talks' }).waitFor();
}

/** From the filter to a machine, by Tab and Enter only. */
async function usesKeyboard(page: Page): Promise<void> {
  await page.getByLabel('Filter').fill(nth(7));
  await page.getByText(/^1 of/).waitFor();
  await page.getByLabel('Filter').focus();
  // The columns, all rows, each heading, the first row.
  const isAtRow = () => page.evaluate<boolean>('document.activeElement?.classList.contains("row-link") === true');
  for (let tabs = 0; tabs < 16 && !(await isAtRow()); tabs += 1) await page.keyboard.press('Tab');
  assert.ok(await isAtRow(), 'Tab reaches the row');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: nth(7), exact: true }).waitFor();
}

test('one of 3,000 machines is found, and the URL keeps query and order', { timeout: 400_000 }, async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  const organizationId = ready.org_id;
  await inTurns(machines, (n) => client.fleetClient.createMachine({ organizationId, name: nth(n) }));
  const created = await client.fleetClient.createMachine({ organizationId, name: 'talks' });
  await (await wireMachine(created.credentialsJson)).check({ server: { runningVersion: '1.2.0' } });
  await atEachWidth({ client, widths: [1280, 360] }, async ({ width, signIn }) => {
    const page = await signIn();
    await page.getByText(/^3\s001 machines$/).waitFor();
    await page.getByRole('link', { name: nth(0), exact: true }).waitFor();
    await checkNodes(page, 'the start of the list');
    await checkPage(page, `3,000 machines, ${width} px`);
    await scrolls(page, width);
    await searches(page, width);
    await sorts(page, width);
    await usesKeyboard(page);
    // A link with a query, and a machine that appears meanwhile.
    const name = `made at ${width}`;
    await page.goto(`${ready.url}/machines?q=${encodeURIComponent(`"${name}"`)}`);
    await page.getByText('No machine matches').waitFor();
    await client.fleetClient.createMachine({ organizationId, name });
    const machine = page.getByRole('link', { name, exact: true });
    await machine.waitFor();
    const found = await client.fleetClient.listMachines({ organizationId, named: name });
    await client.fleetClient.deleteMachine({ id: found.machines[0]?.id ?? '' });
    await machine.waitFor({ state: 'detached' });
  });
});
