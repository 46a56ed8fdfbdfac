// Saved secrets on CONFIGURE: hidden in form, JSON, differences and merges; owners reveal them after signing in.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { secretPlaceholder } from '@platform/contract/config/placeholders';
import type { Page } from 'playwright-core';
import { followSignInLink, launchBrowser } from '../src/browser.ts';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage, watchComplaints } from '../src/page-checks.ts';

const saved = `{
  "agent": {
    "network_configuration": { "hotspot_password": "the first one" },
    "additional_networks": [
      {
        "ssid": "yard", "type": "wifi",
        "psk": "the second one"
      }
    ]
  }
}
`;

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });

/** All that the page shows and has in its inputs. */
const contentOf = (page: Page): Promise<string> =>
  page.evaluate<string>(
    `document.documentElement.outerHTML + [...document.querySelectorAll('input, textarea')].map((one) => one.value).join(' ')`,
  );

test('saved secrets are hidden on CONFIGURE, kept by a save, and revealed to an owner who signed in', async (t) => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  const { machine } = await client.fleetClient.createMachine({ organizationId: ready.org_id, name: 'press' });
  const partId = machine?.partId ?? '';
  await client.fleetClient.saveConfig({ partId, configJson: saved });
  await using browser = await launchBrowser();
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const complaints = watchComplaints(context);
  const page = await context.newPage();
  await followSignInLink(page, (await client.sessionClient.createSignInLink({})).url);
  await page.goto(`${ready.url}/machines/${machine?.id}/configure`);
  const password = page.getByLabel('Hotspot password', { exact: true });

  await t.test('no secret is in the page; at its field and at the JSON it is revealed, and hidden again', async () => {
    await password.waitFor();
    const content = await contentOf(page);
    for (const secret of ['the first one', 'the second one']) assert.ok(!content.includes(secret), secret);
    assert.equal(await password.inputValue(), '');
    await button(page, 'Reveal Hotspot password').click();
    await button(page, 'Hide Hotspot password').waitFor();
    assert.equal(await password.inputValue(), 'the first one');
    await checkPage(page, 'a revealed secret at its field');
    await button(page, 'Hide Hotspot password').click();
    assert.equal(await password.inputValue(), '');
    await page.getByText('2 saved secrets').click();
    await button(page, 'Reveal agent.additional_networks[0].psk').click();
    await page.getByText('the second one').waitFor();
    await checkPage(page, 'a revealed secret at the JSON');
    await page.setViewportSize({ width: 360, height: 740 });
    await button(page, 'JSON').click();
    await page.getByText('the second one').waitFor();
    await checkPage(page, 'a revealed secret at the JSON');
    await page.setViewportSize({ width: 1280, height: 900 });
    await button(page, 'Hide agent.additional_networks[0].psk').click();
    const { entries } = await client.auditClient.listAuditEntries({ organizationId: ready.org_id });
    assert.equal(entries.filter(({ action }) => action === 'reveal secrets').length, 2);
  });

  await t.test('a new value is called changed in the differences, and hidden once it is saved', async () => {
    await password.fill('a newer password');
    await button(page, 'Review and save …').click();
    const dialog = page.getByRole('dialog', { name: 'Save this configuration?' });
    await dialog.getByText('(secret, changed)').waitFor();
    assert.ok(!(await dialog.innerHTML()).includes('a newer password'));
    await checkPage(page, 'a changed secret');
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText(/^Saved as revision 2/).waitFor();
    assert.ok(!(await contentOf(page)).includes('a newer password'));
    const shown = saved.replace('the first one', secretPlaceholder).replace('the second one', secretPlaceholder);
    assert.equal((await client.fleetClient.getConfig({ partId })).configJson, shown);
    await button(page, 'Reveal Hotspot password').click();
    await button(page, 'Hide Hotspot password').waitFor();
    assert.equal(await password.inputValue(), 'a newer password');
    await button(page, 'Hide Hotspot password').click();
  });

  await t.test('another user changes the same secret: a conflict that shows neither', async () => {
    await password.fill('my own password');
    await client.fleetClient.saveConfig({ partId, configJson: saved.replace('the first one', 'their password') });
    await page.getByText('revision 3 is the newest').waitFor();
    await button(page, 'Compare and merge …').click();
    const dialog = page.getByRole('dialog', { name: 'Compare and merge' });
    await dialog.getByText('(secret, changed)').waitFor();
    await dialog.getByText('(secret 1, typed here)').waitFor();
    const html = await dialog.innerHTML();
    for (const secret of ['my own password', 'their password']) assert.ok(!html.includes(secret), secret);
    await checkPage(page, 'a conflict of secrets');
    await dialog.getByRole('radio', { name: 'Mine' }).check();
    await button(page, 'Put the merged text into the editor').click();
    await button(page, 'Review and save …').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText(/^Saved as revision 4/).waitFor();
    await button(page, 'Reveal Hotspot password').click();
    await button(page, 'Hide Hotspot password').waitFor();
    assert.equal(await password.inputValue(), 'my own password');
    await page.getByRole('link', { name: 'REVISIONS' }).click();
    await button(page, 'Show changes of revision 3').click();
    await page.getByRole('dialog').getByText('(secret, changed)').waitFor();
  });
  assert.deepEqual(complaints, []);
  await context.close();
});
