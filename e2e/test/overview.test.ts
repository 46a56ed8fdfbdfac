// The operator's first look: an empty installation, a full disk, a muted condition, a server that is gone and comes back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { systemClock } from '@platform/kit/node';
import type { Page } from 'playwright-core';
import { followSignInLink, launchBrowser } from '../src/browser.ts';
import { clientOf, type CloudReady, startCloudAt } from '../src/cloud-process.ts';
import { checkPage, untilInPage, watchComplaints } from '../src/page-checks.ts';
import { checkout, dataFolder } from '../src/up-process.ts';
import { type WireMachine, wireMachine } from '../src/wire-callers.ts';

const full = {
  code: 'DISK_FULL',
  severity: Severity.ERROR,
  message: 'No space is free on /data.',
  remedy: 'Delete files there.',
};
const note = { ...full, code: 'OS_REBOOT_NEEDED', severity: Severity.NOTE, message: 'A reboot is needed.' };

const row = (page: Page, text: string) => page.getByRole('listitem').filter({ hasText: text });
const allWell = (page: Page) => page.getByText('All well', { exact: false });
const onlyNotes = (page: Page) => page.getByText('No errors or warnings are open.');

/** The machine checks in all the time, until the end. */
async function stayOnline(machine: WireMachine, end: AbortSignal): Promise<void> {
  while (!end.aborted) {
    await machine.beat().catch(() => undefined);
    await systemClock.sleep(2_000, end);
  }
}

/** The three steps; the first one ticks off when a machine has checked in. */
async function firstLook(page: Page, ready: CloudReady, end: AbortSignal) {
  await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
  assert.equal(new URL(page.url()).pathname, '/');
  await page.getByText('0 of 3 done').waitFor();
  for (const name of ['Add a machine', 'Add images', 'Train a model']) await page.getByRole('link', { name }).waitFor();
  await page.getByText('1 note: No backups.').waitFor();
  assert.equal(await allWell(page).count(), 0, 'nothing is kept if this disk is lost');
  await checkPage(page, 'overview, empty');
  const { fleetClient } = clientOf(ready);
  const made = await fleetClient.createMachine({ organizationId: ready.org_id, name: 'barn' });
  const machine = await wireMachine(made.credentialsJson);
  await machine.check({ conditions: [full, note] });
  void stayOnline(machine, end);
  await page.getByText('1 of 3 done').waitFor();
  await row(page, 'The disk of barn is full').getByRole('link', { name: 'Open machine' }).waitFor();
  assert.equal(await allWell(page).count(), 0);
  await page.getByRole('link', { name: '1 of them failing' }).waitFor();
  await checkPage(page, 'overview, a full disk');
  await page.emulateMedia({ colorScheme: 'dark' });
  await checkPage(page, 'overview, a full disk, dark');
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 360, height: 740 });
  await checkPage(page, 'overview, a full disk');
  await page.setViewportSize({ width: 1280, height: 800 });
  return { machine, id: made.machine?.id ?? '' };
}

/** Muted with a reason, found apart, and listed again. */
async function mutes(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Mute: The disk of barn is full' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('A new disk comes on Friday');
  await dialog.getByLabel('For').selectOption('1 week');
  await checkPage(page, 'mute a condition');
  await dialog.getByRole('button', { name: 'Mute', exact: true }).click();
  await row(page, 'The disk of barn is full').waitFor({ state: 'detached' });
  await untilInPage(page, `document.activeElement.tagName === 'H1'`);
  await onlyNotes(page).getByRole('link', { name: '2 notes' }).waitFor();
  assert.equal(await allWell(page).count(), 0, 'notes are open');
  await page.getByRole('link', { name: '1 muted' }).click();
  await page.getByText(/Muted until .* A new disk comes on Friday/).waitFor();
  await checkPage(page, 'conditions, muted');
  await page.getByRole('button', { name: 'Unmute' }).click();
  await row(page, 'The disk of barn is full').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Open', exact: true }).click();
  await row(page, 'The disk of barn is full').waitFor();
  await page.getByLabel('Severity').selectOption('Notes');
  await row(page, 'A reboot is needed.').getByRole('button', { name: 'Reboot …' }).waitFor();
  await row(page, 'The disk of barn is full').waitFor({ state: 'detached' });
  assert.equal(new URL(page.url()).searchParams.get('severity'), 'note');
  await page.reload();
  await page.getByLabel('Search').fill('nothing like it');
  await page.getByRole('heading', { name: 'None match' }).waitFor();
  await page.getByRole('button', { name: 'Show all' }).click();
  await row(page, 'The disk of barn is full').waitFor();
  await page.getByRole('navigation', { name: 'Main' }).locator('[aria-current]').getByText('Overview').waitFor();
  await page.getByLabel('Search').fill('BARN');
  await row(page, 'A reboot is needed.').waitFor();
  await page.setViewportSize({ width: 360, height: 740 });
  await checkPage(page, 'conditions');
  await page.setViewportSize({ width: 1280, height: 800 });
}

test('story: the overview says what needs attention, and nothing is green that was not measured lately', async () => {
  const data = await dataFolder();
  const backups = await dataFolder();
  const place = { checkout, dataDir: data.path, port: 0 };
  const browser = await launchBrowser();
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const complaints = watchComplaints(context);
  const page = await context.newPage();
  const end = new AbortController();
  // Whatever this host has free.
  const anyDisk = ['--low-disk-gb', '0'];
  const first = await startCloudAt(place, ...anyDisk);
  const { ready } = first;
  const since = async () => {
    const { conditions } = await clientOf(ready).conditionClient.listConditions({
      organizationId: ready.org_id,
      code: full.code,
    });
    return conditions[0]?.since;
  };
  try {
    await followSignInLink(page, ready.sign_in_url);
    const { machine, id } = await firstLook(page, ready, end.signal);
    await mutes(page);
    await page.goto(`${ready.url}/machines/${id}`);
    await page.getByRole('button', { name: 'Mute and history of conditions' }).click();
    const panel = page.getByRole('region', { name: 'Needs attention' });
    await panel.getByText('No space is free on /data.').waitFor();
    assert.equal(await page.locator('.note').count(), 0, 'the list stands in place of the notes');
    await checkPage(page, 'the conditions of a machine');
    const began = await since();
    assert.ok(began);
    await first[Symbol.asyncDispose]();
    await using again = await startCloudAt({ ...place, port: ready.port }, ...anyDisk, '--backup-dir', backups.path);
    assert.equal(again.ready.port, ready.port);
    await page.goto(`${ready.url}/`);
    await row(page, 'The disk of barn is full').waitFor();
    assert.deepEqual(await since(), began);
    await machine.check({ conditions: [] });
    await allWell(page).waitFor();
    await page.getByRole('link', { name: 'History' }).click();
    await row(page, 'The disk of barn is full').waitFor();
    await page.goto(`${ready.url}/`);
    await allWell(page).waitFor();
    await again[Symbol.asyncDispose]();
    await page.getByText('Not known: what is shown is old.').waitFor();
    assert.equal(await allWell(page).count(), 0);
    await untilInPage(page, `document.querySelectorAll('.fleet-good').length === 0`);
    await checkPage(page, 'overview without contact');
  } finally {
    end.abort();
    await browser.close();
    await first[Symbol.asyncDispose]();
  }
  assert.deepEqual(complaints, []);
});
