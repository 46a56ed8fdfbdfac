// A machine with another product's agent in the web app, on a wide and on a narrow screen.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { followSignInLink, launchBrowser } from '../src/browser.ts';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage, watchComplaints } from '../src/page-checks.ts';
import { wireMachine } from '../src/wire-callers.ts';

test("the app shows the command that moves a machine from another product's agent", async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const { fleetClient } = clientOf(ready);
  const made = await fleetClient.createMachine({ organizationId: ready.org_id, name: 'barn' });
  const id = made.machine?.id ?? '';
  await (await wireMachine(made.credentialsJson)).checkAsOther('0.28.1');
  const browser = await launchBrowser();
  try {
    const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
    const complaints = watchComplaints(context);
    const page = await context.newPage();
    await followSignInLink(page, ready.sign_in_url);
    const command = `npm run -s platform -- machine migrate ${id}`;
    for (const [name, width, height] of [
      ['wide', 1280, 800],
      ['narrow', 360, 740],
    ] as const) {
      await page.setViewportSize({ width, height });
      await page.goto(`${ready.url}/machines/${id}`);
      await page.getByRole('button', { name: /Part status/ }).click();
      const status = page.getByRole('dialog', { name: 'Part status' });
      await status.getByText(command).waitFor();
      await status.getByText('0.28.1').first().waitFor();
      await checkPage(page, `another product's agent, ${name}`);
      await page.evaluate("navigator.clipboard.writeText('')");
      await status.getByRole('button', { name: 'Copy the command' }).click();
      await status.getByRole('button', { name: 'Copied' }).waitFor();
      assert.equal(await page.evaluate('navigator.clipboard.readText()'), command);
    }
    assert.deepEqual(complaints, []);
  } finally {
    await browser.close();
  }
});
