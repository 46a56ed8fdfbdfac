// CONFIGURE at its limits: a configuration of 1 MiB, names that turn the text around, a browser that stores nothing, a key
// that is revoked while its user types, and an editor that does not move.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { followSignInLink, launchBrowser } from '../src/browser.ts';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage, openJson, untilInPage, watchComplaints } from '../src/page-checks.ts';

/** Right-to-left letters, and a control that turns what follows it. */
const turned = ['רכז', 'abc\u202egnp.exe', '\u2067x\u2066'];
const limitBytes = 1024 * 1024;

/** A text as long as the limit, with many entries. */
function largest(): string {
  const names = [...turned, ...Array.from({ length: 400 }, (_, at) => `camera-${at}`)];
  const components = names.map((name) => ({ name, type: 'camera', model: 'folder', attributes: { path: '/a' } }));
  const text = JSON.stringify({ components, agent: { advanced_settings: { debug: false } }, custom: '' }, null, 1);
  return text.replace('"custom": ""', `"custom": "${'x'.repeat(limitBytes - Buffer.byteLength(text))}"`);
}

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const group = (page: Page, name: string) => page.getByRole('group', { name, exact: true });

async function world() {
  const cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  const { machine } = await client.fleetClient.createMachine({ organizationId: ready.org_id, name: 'press' });
  const browser = await launchBrowser();
  return {
    ready,
    client,
    partId: machine?.partId ?? '',
    address: `${ready.url}/machines/${machine?.id ?? ''}/configure`,
    newContext: async () => {
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
      return { context, complaints: watchComplaints(context) };
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
      await cloud[Symbol.asyncDispose]();
    },
  };
}

async function openAdvanced(page: Page): Promise<ReturnType<typeof group>> {
  const form = group(page, 'Advanced');
  const head = form.getByRole('button').first();
  if ((await head.getAttribute('aria-expanded')) === 'false') await head.click();
  return form;
}

test('a configuration of 1 MiB is edited in the form and saved byte for byte, whatever its names are', async () => {
  await using here = await world();
  const { client, partId } = here;
  const before = largest();
  assert.equal(Buffer.byteLength(before), limitBytes);
  await client.fleetClient.saveConfig({ partId, configJson: before });
  const { context, complaints } = await here.newContext();
  const page = await context.newPage();
  await followSignInLink(page, (await client.sessionClient.createSignInLink({})).url);
  await page.goto(here.address);
  const form = await openAdvanced(page);
  await form.getByRole('radiogroup', { name: 'Debug log' }).getByLabel('On').check();
  await page.getByText('Not saved yet.').waitFor();
  // No name turns what stands beside it, or its own end, around.
  const heads = page.locator('.form-entry-head bdi');
  for (const [at, name] of turned.entries()) {
    const shown = (await heads.nth(at).textContent()) ?? '';
    assert.doesNotMatch(shown, /[\u202a-\u202e]/, name);
  }
  await checkPage(page, 'the largest configuration');
  await button(page, /^Review and save/).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText(/Saved as revision 2/).waitFor();
  const { configJson } = await client.fleetClient.getConfig({ partId });
  assert.ok(configJson === before.replace('"debug": false', '"debug": true'), 'only the edited place differs');
  assert.deepEqual(complaints, []);
});

test('without IndexedDB the page works, says that it keeps no draft, and does not move while text is not JSON', async () => {
  await using here = await world();
  const { client, partId } = here;
  await client.fleetClient.saveConfig({
    partId,
    configJson: '{ "agent": { "advanced_settings": { "debug": false } } }',
  });
  const { context, complaints } = await here.newContext();
  await context.addInitScript(`Object.defineProperty(window, 'indexedDB', { value: undefined });
    window.shift = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((one) => { window.shift += one.value; }))
      .observe({ type: 'layout-shift' });`);
  const page = await context.newPage();
  await followSignInLink(page, (await client.sessionClient.createSignInLink({})).url);
  await page.goto(here.address);
  const form = await openAdvanced(page);
  const editor = await openJson(page);
  await form.getByRole('radiogroup', { name: 'Debug log' }).getByLabel('On').check();
  await page.getByText('This browser stores nothing for this page').waitFor();
  await checkPage(page, 'a browser that stores nothing');
  await editor.click();
  const top = (await editor.boundingBox())?.y;
  await page.evaluate('window.shift = 0');
  await page.keyboard.press('ControlOrMeta+End');
  await page.keyboard.type('"');
  await page.getByText('The JSON is not valid').waitFor();
  await page.getByRole('region', { name: 'Problems' }).getByText('This is not valid JSON.').waitFor();
  assert.equal((await editor.boundingBox())?.y, top, 'the editor stays where it is');
  const shift = await page.evaluate<number>('window.shift');
  assert.ok(shift <= 0.02, `layout shift ${shift}`);
  await page.keyboard.press('ControlOrMeta+z');
  await button(page, /^Review and save/).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText(/Saved as revision 2/).waitFor();
  assert.deepEqual(complaints, []);
});

test('a key that is revoked while its user types: sign-in above the page, and nothing typed is lost', async () => {
  await using here = await world();
  const { ready, client, partId } = here;
  const { context } = await here.newContext();
  const page = await context.newPage();
  await followSignInLink(page, (await client.sessionClient.createSignInLink({})).url);
  await page.goto(here.address);
  const form = await openAdvanced(page);
  const timeout = form.getByLabel('Start timeout of the machine server', { exact: true });
  await timeout.fill('12');
  // The session came from a link of this key.
  const { id, key } = await client.appClient.rotateKey({ id: ready.api_key_id });
  const next = clientOf({ ...ready, api_key_id: id, api_key: key });
  await timeout.fill('123');
  const again = page.getByRole('dialog', { name: 'Sign in again' });
  await again.waitFor();
  await checkPage(page, 'a key that was revoked');
  const other = await context.newPage();
  await followSignInLink(other, (await next.sessionClient.createSignInLink({})).url);
  await again.waitFor({ state: 'detached' });
  assert.equal(await timeout.inputValue(), '123');
  await openJson(page);
  await untilInPage(page, `document.querySelector('.cm-content').textContent.includes('123')`);
  await button(page, /^Review and save/).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText(/Saved as revision 1/).waitFor();
  const { configJson } = await next.fleetClient.getConfig({ partId });
  assert.deepEqual(JSON.parse(configJson), {
    agent: { advanced_settings: { platform_server_start_timeout_minutes: 123 } },
  });
});
