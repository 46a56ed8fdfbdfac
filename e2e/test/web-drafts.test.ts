// What users type into CONFIGURE is kept over tabs, reloads and sign-outs, and merged with what others saved.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { secretPlaceholder } from '@platform/contract/config/placeholders';
import type { Page } from 'playwright-core';
import { followSignInLink, launchBrowser } from '../src/browser.ts';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage, openJson, watchComplaints } from '../src/page-checks.ts';

const saved = `{
  "agent": {
    "advanced_settings": {
      "debug": false
    },
    "additional_networks": [
      { "type": "wifi", "name": "yard", "ssid": "barn", "psk": "the saved one" }
    ]
  }
}
`;

/** As everybody but the machine reads it. */
const shown = saved.replace('the saved one', secretPlaceholder);

const textOf = async (page: Page): Promise<string> =>
  (await (await openJson(page)).innerText()).replaceAll('\u00a0', ' ');
const link = (page: Page, name: string) => page.getByRole('link', { name });
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });

/** Replaces the text in the editor as users do. */
async function type(page: Page, text: string): Promise<void> {
  await (await openJson(page)).click();
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.insertText(text);
  await page.getByText(/not saved yet/i).waitFor();
}

async function saves(page: Page, comment?: string): Promise<void> {
  await button(page, 'Review and save …').click();
  const dialog = page.getByRole('dialog', { name: 'Save this configuration?' });
  if (comment !== undefined) await dialog.getByLabel('Comment (optional)').fill(comment);
  await checkPage(page, 'save with a comment');
  await dialog.getByRole('button', { name: 'Save', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByText(/^Saved as revision/).waitFor();
}

test('what is typed on CONFIGURE is kept, and merged with what others saved', async (t) => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  const { machine } = await client.fleetClient.createMachine({ organizationId: ready.org_id, name: 'press' });
  const partId = machine?.partId ?? '';
  const save = (configJson: string) => client.fleetClient.saveConfig({ partId, configJson });
  await save(saved);
  await using browser = await launchBrowser();
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const complaints = watchComplaints(context);
  const signIn = async (page: Page): Promise<void> =>
    followSignInLink(page, (await client.sessionClient.createSignInLink({})).url);
  const address = `${ready.url}/machines/${machine?.id}/configure`;
  const page = await context.newPage();
  await signIn(page);
  await page.goto(address);

  const mine = shown.replace('"debug": false', '"debug": true').replace(secretPlaceholder, 'typed just now');
  await t.test('over another tab of the app, a reload, and without secrets in the browser', async () => {
    await type(page, mine);
    await link(page, 'LOGS').click();
    await link(page, 'CONFIGURE').click();
    await page.getByText('Not saved yet.').waitFor();
    assert.match(await textOf(page), /"debug": true/);
    await page.reload();
    await page.getByText('Not saved yet.').waitFor();
    assert.match(await textOf(page), /"debug": true/);
    // The password must be typed again, and can't be saved as what stands in its place.
    await page.getByText('was not kept: the browser stores no secrets.').first().waitFor();
    await button(page, 'Review and save …').click();
    assert.equal(await page.getByRole('dialog').count(), 0);
    await checkPage(page, 'a draft that came back');
    const stored = await page.evaluate<string>(`new Promise((resolve, reject) => {
      const opened = indexedDB.open('platform-drafts');
      opened.onerror = () => reject(opened.error);
      opened.onsuccess = () => {
        const all = opened.result.transaction('drafts').objectStore('drafts').getAll();
        all.onsuccess = () => resolve(JSON.stringify(all.result));
      };
    })`);
    assert.match(stored, /debug/);
    for (const secret of ['the saved one', 'typed just now']) assert.ok(!stored.includes(secret), stored);
  });

  const half = `${shown.slice(0, shown.indexOf('"debug"'))}"debu`;
  await t.test('text that is not JSON, without a jump of the editor', async () => {
    const before = await (await openJson(page)).boundingBox();
    await type(page, half);
    await page.getByRole('region', { name: 'Problems' }).getByText(/JSON/).first().waitFor();
    assert.equal((await (await openJson(page)).boundingBox())?.y, before?.y);
    await page.reload();
    await page.getByText('Not saved yet.').waitFor();
    assert.equal((await textOf(page)).trimEnd(), half.trimEnd());
    await checkPage(page, 'a draft that is not JSON');
  });

  await t.test('over the end of the session, with the sign-in above the page', async () => {
    const changed = shown.replace('"debug": false', '"debug": true');
    await type(page, changed);
    const cookies = await context.cookies();
    await context.clearCookies();
    const again = page.getByRole('dialog', { name: 'Sign in again' });
    await again.waitFor();
    await checkPage(page, 'a session that ended');
    assert.notEqual(cookies.length, 0);
    const other = await context.newPage();
    await signIn(other);
    await again.waitFor({ state: 'detached' });
    assert.match(await textOf(page), /"debug": true/);
    await other.close();
    await page.keyboard.press('Escape');
  });

  await t.test('beside a change that another user saved: merged, line by line', async () => {
    await save(saved.replace('"barn"', '"house"'));
    await page.getByText('The configuration was changed elsewhere: revision 2 is the newest.').waitFor();
    await button(page, 'Compare and merge …').click();
    await page.getByText('The changes do not touch the same lines').waitFor();
    await button(page, 'Put the merged text into the editor').click();
    const merged = await textOf(page);
    assert.match(merged, /"house", "psk": "\(secret kept by the server\)"/);
    assert.match(merged, /"debug": true/);
    await saves(page, 'Debug for a day');
    const { configJson, revision } = await client.fleetClient.getConfig({ partId });
    assert.equal(revision, 3n);
    assert.equal(configJson, shown.replace('"barn"', '"house"').replace('"debug": false', '"debug": true'));
  });

  await t.test('both changed one line: chosen by hand', async () => {
    const { configJson } = await client.fleetClient.getConfig({ partId });
    await type(page, configJson.replace('"house"', '"mine"'));
    await save(configJson.replace('"house"', '"theirs"'));
    await page.getByText('revision 4 is the newest').waitFor();
    await button(page, 'Compare and merge …').click();
    const dialog = page.getByRole('dialog', { name: 'Compare and merge' });
    const done = dialog.getByRole('button', { name: 'Put the merged text into the editor' });
    assert.equal(await done.isDisabled(), true);
    await page.setViewportSize({ width: 360, height: 740 });
    await checkPage(page, 'a conflict to choose');
    await page.setViewportSize({ width: 1280, height: 900 });
    await dialog.getByRole('radio', { name: 'Mine' }).check();
    await done.click();
    assert.match(await textOf(page), /"mine"/);
    assert.equal(await page.getByText('Saved as revision 3').count(), 0, 'revision 4 is the base now');
    await saves(page);
    assert.match((await client.fleetClient.getConfig({ partId })).configJson, /"mine"/);
  });

  await t.test('two tabs: the one with keystrokes keeps them and says so', async () => {
    const { configJson } = await client.fleetClient.getConfig({ partId });
    const second = await context.newPage();
    await second.goto(address);
    await second
      .getByText('Started from revision 5.')
      .or(second.getByText(/^Revision 5/))
      .first()
      .waitFor();
    await type(page, configJson.replace('"mine"', '"first tab"'));
    await second.getByText('Not saved yet.').waitFor();
    assert.match(await textOf(second), /"first tab"/, 'a tab without keystrokes follows');
    await type(second, configJson.replace('"mine"', '"second tab"'));
    await page.getByText('Another tab changed the draft of this configuration.').waitFor();
    assert.match(await textOf(page), /"first tab"/);
    await checkPage(page, 'a draft that another tab changed');
    await second.close();
    await button(page, 'Discard draft').click();
  });

  await t.test('a revision is restored as a draft, with its secrets, and saved with a comment', async () => {
    await link(page, 'REVISIONS').click();
    await page.getByText('Debug for a day').waitFor();
    await checkPage(page, 'revisions with comments');
    await button(page, 'Show changes of revision 1').click();
    await button(page, /Restore this revision|Replace my draft/).click();
    await page.getByText('Not saved yet.').waitFor();
    assert.match(await textOf(page), /"barn", "psk": "\(secret kept by the server\)"/);
    await saves(page);
    assert.equal((await client.fleetClient.getConfig({ partId })).configJson, shown);
    const { revisions } = await client.fleetClient.listConfigRevisions({ partId });
    assert.equal(revisions.find(({ revision }) => revision === 6n)?.comment, 'Restores revision 1.');
  });
  assert.deepEqual(complaints, []);
  await context.close();
});

test('an editor that comes late takes no keys that are meant for a field, and its text stays where it cannot come', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  const configJson = '{ "agent": { "network_configuration": { "hotspot_password": "kept here" } } }';
  const { machine } = await client.fleetClient.createMachine({ organizationId: ready.org_id, name: 'press' });
  await client.fleetClient.saveConfig({ partId: machine?.partId ?? '', configJson });
  await using browser = await launchBrowser();
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  let gate = Promise.withResolvers<boolean>();
  await page.route(/\/assets\/config-editor/, async (route) =>
    (await gate.promise) ? route.continue() : route.abort(),
  );
  await followSignInLink(page, (await client.sessionClient.createSignInLink({})).url);
  await page.goto(`${ready.url}/machines/${machine?.id}/configure`);
  const text = page.getByRole('region', { name: 'Configuration as JSON' });
  await text.focus();
  await page.locator('.editor .json-text').waitFor();
  gate.resolve(false);
  await button(page, 'Reload the page').waitFor();
  assert.match(await text.innerText(), /"hotspot_password"/);
  await checkPage(page, 'an editor that cannot be fetched');
  gate = Promise.withResolvers<boolean>();
  await button(page, 'Reload the page').click();
  await text.focus();
  await page.locator('.editor .json-text').waitFor();
  const field = page.getByLabel('Hotspot password', { exact: true });
  await field.focus();
  gate.resolve(true);
  await page.locator('.cm-content').waitFor();
  await page.keyboard.insertText('typed on');
  assert.equal(await field.inputValue(), 'typed on');
});

test('the schema of the configuration changes while CONFIGURE is open: what was typed stays, with its history', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  const { machine } = await client.fleetClient.createMachine({ organizationId: ready.org_id, name: 'press' });
  await client.fleetClient.saveConfig({ partId: machine?.partId ?? '', configJson: saved });
  await using browser = await launchBrowser();
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.route(/\/assets\/config\.schema/, async (route) => {
    const answer = await route.fetch();
    const body = await answer.text();
    const [, name = ''] = /export\s*\{\s*([\w$]+) as default\s*\}/.exec(body) ?? [];
    const change = `globalThis.changeSchema = () => {
      const agent = { ...${name}.properties.agent, title: 'Another title' };
      ${name} = { ...${name}, properties: { ...${name}.properties, agent } };
    };`;
    await route.fulfill({ response: answer, body: `${body}\n${change}` });
  });
  const signIn = async (at: Page): Promise<void> =>
    followSignInLink(at, (await client.sessionClient.createSignInLink({})).url);
  await signIn(page);
  await page.goto(`${ready.url}/machines/${machine?.id}/configure`);
  const typed = shown.replace('"barn"', '"stable"');
  await type(page, typed);
  await page.evaluate('changeSchema()');
  // The sign-in loads again what the page had loaded, the schema among it.
  await context.clearCookies();
  const again = page.getByRole('dialog', { name: 'Sign in again' });
  await again.waitFor();
  const other = await context.newPage();
  await signIn(other);
  await again.waitFor({ state: 'detached' });
  await other.close();
  await page.getByRole('heading', { name: 'Another title' }).waitFor();
  assert.equal((await textOf(page)).trimEnd(), typed.trimEnd());
  await (await openJson(page)).click();
  await page.keyboard.press('ControlOrMeta+z');
  assert.equal((await textOf(page)).trimEnd(), shown.trimEnd());
});
