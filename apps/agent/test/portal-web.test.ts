// The captive portal in a real browser, on a phone and on a desktop, served by the process that devices run.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../../../e2e/src/browser.ts';
import { checkPage, watchComplaints } from '../../../e2e/src/page-checks.ts';
import { built } from './built.ts';
import { sampleView, startEndpoints, type RunningEndpoints } from './endpoints-rig.ts';

const command = (): string[] => [built('platform-agent').file, 'endpoints'];
const phone = { width: 360, height: 740 };
const network = (page: Page, name: string) => page.locator('label.network', { hasText: name }).locator('input');
const connect = (page: Page) => page.getByRole('button', { name: 'Connect' });
const password = (page: Page) => page.getByLabel('WiFi password');

test('on a phone: choose, correct, watch the device join, learn the reason of a failure, succeed', async () => {
  await using endpoints = await startEndpoints(command(), { view: { ...sampleView, hasCredentials: false } });
  await using browser = await closing(await launchBrowser());
  const context = await browser.it.newContext({ viewport: phone, isMobile: true, hasTouch: true });
  const complaints = watchComplaints(context);
  const page = await context.newPage();
  await page.goto(endpoints.url);
  await page.getByRole('heading', { name: 'Set up barn-01' }).waitFor();
  await page.getByText('About this device').click();
  await page.getByText(sampleView.fragmentId).waitFor();
  await checkPage(page, 'portal');
  await page.getByText('About this device').click();

  await entersAndCorrects(page, endpoints);
  await page.getByText('The device is joining Farm House').waitFor();
  await checkPage(page, 'portal joins');

  // The hotspot goes and comes back; its process is another one then.
  const before = await endpoints.pid();
  endpoints.view.set({ ...endpoints.view.get(), at: 'trying' });
  process.kill(before, 'SIGKILL');
  const attempt = { ssid: 'Farm House', result: 'wrong-password', text: 'as the agent says', wall: 1_700_000_000_000 };
  endpoints.view.set({ ...sampleView, lastAttempt: { ...attempt, result: 'wrong-password' } });
  await page.getByText('Wrong password for Farm House').waitFor({ timeout: 60_000 });
  await checkPage(page, 'portal wrong password');
  assert.equal(await password(page).inputValue(), '', 'the password is not given back');

  await network(page, 'Farm House').check();
  await password(page).fill('the right one');
  await connect(page).click();
  await page.getByText('The device is joining Farm House').waitFor();
  endpoints.view.set({ ...sampleView, at: 'done', isOnline: true, connectedTo: 'Farm House' });
  await page.getByText('The device is online through Farm House').waitFor();
  await checkPage(page, 'portal done');
  assert.deepEqual(complaints, []);
});

async function entersAndCorrects(page: Page, endpoints: RunningEndpoints): Promise<void> {
  const typed = page.getByLabel('Network name');
  assert.equal(await typed.isVisible(), false);
  await network(page, 'Another or hidden network').check();
  await typed.waitFor();
  await network(page, 'Farm House').check();
  assert.equal(await network(page, 'Office').isDisabled(), true);
  await password(page).fill('seven77');
  await page.getByRole('button', { name: 'Show' }).click();
  assert.equal(await password(page).getAttribute('type'), 'text');
  await page.getByRole('button', { name: 'Hide' }).click();

  // The list follows the radio while the user types; nothing that was entered is lost.
  const found = { ssid: 'New Neighbour', security: 'wpa-psk', signalPercent: 60 } as const;
  endpoints.view.set({ ...endpoints.view.get(), networks: [found, ...sampleView.networks] });
  await page.getByText('New Neighbour').waitFor();
  assert.equal(await network(page, 'Farm House').isChecked(), true);
  assert.equal(await password(page).inputValue(), 'seven77');
  assert.ok(endpoints.activity > 0, 'a user who types is active');

  const credentials = page.getByLabel('Device credentials');
  await credentials.fill('{"cloud":{"id":"p","secret":"s","app_address":"https://x"}}');
  await connect(page).click();
  await page.getByText('The password has only 7 characters.').waitFor();
  assert.deepEqual(endpoints.submissions, []);
  await password(page).fill('correct horse');
  await connect(page).click();
  await page.getByText('The device is joining').waitFor();
  assert.deepEqual(endpoints.submissions, [
    {
      wifi: { ssid: 'Farm House', psk: 'correct horse', isHidden: false },
      credentials: '{"cloud":{"id":"p","secret":"s","app_address":"https://x"}}',
    },
  ]);
}

test('on a desktop and in the dark, with the names that an attacker gives to networks: nothing runs, nothing overflows', async () => {
  const hostile = [
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    '\u202egnp.exe',
    'a\0b',
    '😈'.repeat(8),
  ];
  const networks = hostile.map((ssid) => ({ ssid, security: 'wpa-psk', signalPercent: 50 }) as const);
  const view = { ...sampleView, networks: [...sampleView.networks, ...networks], hostname: '</title><b>x' };
  await using endpoints = await startEndpoints(command(), { view });
  await using browser = await closing(await launchBrowser());
  const context = await browser.it.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: 'dark' });
  const complaints = watchComplaints(context);
  const page = await context.newPage();
  page.on('dialog', () => assert.fail('a script of a name ran'));
  await page.goto(endpoints.url);
  await page.getByText('<script>alert(1)</script>').waitFor();
  await checkPage(page, 'portal dark');
  assert.equal(await page.locator('img, main script, h1 b').count(), 0);
  for (const [at, ssid] of hostile.entries()) {
    await page
      .locator('label.network input')
      .nth(sampleView.networks.length + at)
      .check();
    await password(page).fill('long enough');
    await connect(page).click();
    await page.getByText('The device is joining').waitFor();
    assert.equal(endpoints.submissions.at(-1)?.wifi?.ssid, ssid, 'the exact bytes of the name come back');
    endpoints.view.set({ ...view, lastAttempt: { ssid, result: 'not-found', text: '', wall: at + 1 } });
    await page.getByText('The device did not find').waitFor();
  }
  assert.deepEqual(complaints, []);
});

async function closing(it: Browser): Promise<{ it: Browser } & AsyncDisposable> {
  return { it, [Symbol.asyncDispose]: () => it.close() };
}
