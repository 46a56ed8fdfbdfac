// The whole way of a user: the web page, the code, the page of the device's hotspot, and the device online. Processes of
// the real server, agent and portal; only the radio is simulated.
import assert from 'node:assert/strict';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { spawnGroup, systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import type { Page } from 'playwright-core';
import { followSignInLink, launchBrowser } from '../src/browser.ts';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage } from '../src/page-checks.ts';
import { checkout } from '../src/up-process.ts';

/** A device; `hotspot` waits until its page is there again. */
async function startDevice(folder: string, fragmentId: string) {
  const script = path.join(checkout, 'apps/agent/test/set-up-device.ts');
  const group = await spawnGroup({ command: process.execPath, args: [script, folder, fragmentId] });
  assert.ok(group.stdout);
  const lines = createInterface({ input: group.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<Record<string, string>> => {
    const { value, done } = await lines.next();
    assert.ok(done !== true, 'the device ended');
    return JSON.parse(value) as Record<string, string>;
  };
  const { portal = '' } = await next();
  const until = async (mode: string): Promise<void> => {
    while ((await next())['mode'] !== mode);
  };
  return { portal, until, [Symbol.asyncDispose]: async () => void (await group.stop({ termMs: 20_000 })) };
}

/** The page of the hotspot; it answers a moment after the hotspot is up. */
async function open(phone: Page, portal: string): Promise<void> {
  for (let isThere = false; !isThere; await systemClock.sleep(200))
    isThere = await phone.goto(portal).then(
      () => true,
      () => false,
    );
}

async function enter(phone: Page, portal: string, code: string): Promise<void> {
  await open(phone, portal);
  await phone.getByText('Farm House').first().click();
  await phone.getByLabel('WiFi password').fill('password1');
  await phone.getByLabel(/Device credentials/).fill(code);
  await phone.getByRole('button', { name: 'Connect' }).click();
}

test('story: the page, a mistyped code, the reason on both pages, the right code, and the device is online', async () => {
  await using cloud = await startCloud();
  await using folder = await tempFolder();
  const { ready } = cloud;
  const client = clientOf(ready);
  const base = { organizationId: ready.org_id, name: 'base', configJson: '{}' };
  const fragmentId = (await client.appClient.createFragment(base)).fragment?.id ?? '';
  await using device = await startDevice(folder.path, fragmentId);
  const browser = await launchBrowser();
  try {
    const context = await browser.newContext({ viewport: { width: 360, height: 740 } });
    const page = await context.newPage();
    await followSignInLink(page, (await client.sessionClient.createSignInLink({})).url);
    await page.getByRole('link', { name: 'Add a machine' }).click();
    await page.getByText('By phone').click();
    await page.getByLabel('Name', { exact: true }).fill('barn');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'Create the code' }).click();
    const code = (await page.getByRole('region', { name: 'set-up code' }).textContent()) ?? '';

    await device.until('hotspot');
    const phone = await context.newPage();
    await enter(phone, device.portal, code.replace(/^./, ''));
    await phone.getByText('a set-up code has 8 letters, and this has 7').waitFor();
    await enter(phone, device.portal, code.replace(/^(.)(.)/, code.startsWith('AB') ? 'BA' : 'AB'));
    await device.until('normal');
    await device.until('hotspot');
    await open(phone, device.portal);
    await phone.getByText('This set-up code is wrong, has expired, or was used by another device.').waitFor();
    await checkPage(phone, 'portal with a refused code, 360 px');

    await enter(phone, device.portal, code);
    await page.bringToFront();
    await page.getByText('barn is online.').waitFor({ timeout: 90_000 });
    await page.getByText(/It redeemed the code/).waitFor();
    await checkPage(page, 'set-up online, 360 px');
    const { machines } = await client.fleetClient.listMachines({ organizationId: ready.org_id, named: 'barn' });
    const { configJson, savedBy } = await client.fleetClient.getConfig({ partId: machines[0]?.partId ?? '' });
    assert.deepEqual(JSON.parse(configJson), { fragments: [fragmentId] }, 'the fragment that the device names');
    assert.doesNotMatch(savedBy, /^(?:api_key|part) /, 'with the rights of who made the code');
  } finally {
    await browser.close();
  }
});
