// Two computers with the credentials of one machine in the web app: what it shows, and the click that splits them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { followSignInLink, launchBrowser } from '../src/browser.ts';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage, watchComplaints } from '../src/page-checks.ts';
import { wireMachine } from '../src/wire-callers.ts';

test('two computers with one identity are shown, and split by one click', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const { fleetClient } = clientOf(ready);
  const { machine, credentialsJson } = await fleetClient.createMachine({ organizationId: ready.org_id, name: 'press' });
  const id = machine?.id ?? '';
  const wire = await wireMachine(credentialsJson);
  const began = systemClock.now();
  const runs = [1, 2].map((n) => new Uint8Array(16).fill(n));
  /** Both check in. @returns the code that the second one gets. */
  const both = async (): Promise<string> => {
    let code = '';
    for (const [n, run] of runs.entries()) code = await wire.checkOf(run, systemClock.now() - began, `twin-${n + 1}`);
    return code;
  };
  for (const end = began + 60_000; !(await fleetClient.getMachine({ id })).machine?.sharedIdentity;) {
    assert.ok(systemClock.now() < end, 'the server noticed nothing');
    await both();
    await systemClock.sleep(500);
  }
  const browser = await launchBrowser();
  try {
    const context = await browser.newContext();
    const complaints = watchComplaints(context);
    const page = await context.newPage();
    await followSignInLink(page, ready.sign_in_url);
    await page.goto(`${ready.url}/machines`);
    await page.getByRole('row', { name: /press/ }).getByText('shared identity').waitFor();
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(`${ready.url}/machines/${id}`);
    await page.getByText(/Two computers use the credentials of this machine: twin-1 .* and twin-2/).waitFor();
    await page.getByRole('button', { name: 'Make it a machine of its own …' }).click();
    const dialog = page.getByRole('dialog', { name: 'Make it a machine of its own' });
    await dialog.getByText('twin-1').waitFor();
    await dialog.getByText('twin-2').waitFor();
    await checkPage(page, 'split a machine, narrow');
    await dialog.getByLabel('Name of the new machine').fill('lathe');
    await dialog.getByRole('button', { name: 'Split' }).click();
    await page.getByRole('link', { name: 'lathe' }).waitFor();
    await page.getByText(/becomes machine lathe when it checks in again/).waitFor();
    assert.match(await both(), /^[A-Z]{8}$/);
    assert.deepEqual(complaints, []);
  } finally {
    await browser.close();
  }
});
