// Lists longer than a page of the web app: a click loads the rest, and a menu contains everything.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { followSignInLink, launchBrowser } from '../src/browser.ts';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { inTurns } from '../src/in-turns.ts';
import { checkPage, watchComplaints } from '../src/page-checks.ts';

const datasets = 203;
const nth = (n: number): string => `n${String(n).padStart(4, '0')}`;

/** Clicks until all rows are visible. @returns the number of rows after each step. */
async function clickThrough(page: Page, what: string): Promise<number[]> {
  const rows = page.locator('tbody tr');
  const more = page.getByRole('button', { name: `Show more ${what}`, exact: true });
  await rows.first().waitFor();
  const steps = [await rows.count()];
  while ((await more.count()) > 0) {
    const before = steps.at(-1) ?? 0;
    await more.click();
    await rows.nth(before).waitFor();
    steps.push(await rows.count());
  }
  return steps;
}

test('Show more datasets, and a menu of all datasets', { timeout: 180_000 }, async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  const organizationId = ready.org_id;
  await inTurns(datasets, (n) => client.datasetClient.createDataset(nth(n), organizationId));

  const browser = await launchBrowser();
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    const complaints = watchComplaints(page.context());
    await followSignInLink(page, ready.sign_in_url);
    await page.goto(`${ready.url}/datasets`);
    assert.deepEqual(await clickThrough(page, 'datasets'), [200, datasets]);
    const names = await page.locator('tbody tr td.lead').allInnerTexts();
    assert.deepEqual(
      names,
      Array.from({ length: datasets }, (_, n) => nth(n)),
    );
    await checkPage(page, 'datasets of two pages');

    await page.goto(`${ready.url}/training/new`);
    await page.getByLabel('Dataset', { exact: true }).waitFor();
    assert.equal(await page.getByLabel('Dataset', { exact: true }).locator('option').count(), datasets);
    assert.deepEqual(complaints, []);
  } finally {
    await browser.close();
  }
});
