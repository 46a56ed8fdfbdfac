// "Add a machine": a user copies one line, pastes it on a machine without anything, and watches it come online.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { createPlatformClient } from '@platform/client';
import { systemClock } from '@platform/kit/node';
import { issue, smallPng, tempFolder } from '@platform/kit/testing';
import type { Locator, Page } from 'playwright-core';
import { bareMachine } from '../src/bare-machine.ts';
import { followSignInLink, launchBrowser } from '../src/browser.ts';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { installReports } from '../src/install-reports.ts';
import { checkPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';
import { checkout, dataFolder, startUp } from '../src/up-process.ts';
import { wireMachine } from '../src/wire-callers.ts';

const host = 'fleet.test';
const day = 86_400_000;
const validity = { from: Date.now() - day, to: Date.now() + day };
const step = (page: Page, name: string, state: string) =>
  page
    .getByRole('region', { name: 'Steps of the installation' })
    .locator(`.install-step.is-${state}`, { hasText: name });
const lineOf = async (page: Page): Promise<string> =>
  (await page.getByRole('region', { name: 'Install line' }).textContent()) ?? '';

test('story: one paste of the line brings a real agent online, over TLS of an authority of its own', async (t) => {
  await using folder = await dataFolder();
  await using own = await tempFolder();
  const authority = issue({ name: 'Authority of a hall', ...validity, authority: true, keyUsage: [5, 6] });
  const site = issue({ name: host, ...validity, by: authority, dns: [host] });
  await writeFile(own.file('cert.pem'), `${site.cert}${authority.cert}`);
  await writeFile(own.file('key.pem'), site.key);
  const tls = ['--tls-cert', own.file('cert.pem'), '--tls-key', own.file('key.pem')];
  const up = await startUp(folder.path, '--empty', '--host', '0.0.0.0', ...tls);
  await using browser = await launchBrowser(`--host-resolver-rules=MAP ${host} 127.0.0.1`);
  await using machine = await bareMachine(host);
  try {
    const ready = (await up.answer) as Record<string, string> | undefined;
    assert.ok(ready, await Promise.race([up.stderr, Promise.resolve('no line')]));
    const { port } = new URL(ready['url'] ?? '');
    const client = createPlatformClient({
      baseUrl: `http://127.0.0.1:${port}`,
      credentials: { type: 'api-key', authEntity: ready['api_key_id'] ?? '', payload: ready['api_key'] ?? '' },
    });
    const isReleased = async () =>
      (await client.releaseClient.listReleases('platform-agent')).some((one) => one.channels.includes('stable'));
    while (!(await isReleased())) await systemClock.sleep(100);

    const images = own.file('images');
    await mkdir(images);
    await writeFile(path.join(images, 'a.png'), smallPng('a'));
    const keys = { entity: ready['api_key_id'] ?? '', payload: ready['api_key'] ?? '' };
    await storeModel(`http://127.0.0.1:${port}`, ready['org_id'] ?? '', keys, own.path);

    const context = await browser.newContext({
      viewport: { width: 1280, height: 900 },
      ignoreHTTPSErrors: true,
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const page = await context.newPage();
    await followSignInLink(page, (await client.sessionClient.createSignInLink({})).url);
    await page.getByRole('link', { name: 'Add a machine' }).click();
    await page.getByLabel('Name').fill('press 4');
    await page.getByText('Container', { exact: true }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText(/from an authority of its own/).waitFor();
    await page.getByRole('button', { name: 'Copy the line' }).click();
    await page.getByText('Copied').waitFor();
    const line = await page.evaluate<string>('navigator.clipboard.readText()');
    assert.equal(line, await lineOf(page));
    assert.match(
      line,
      new RegExp(`^docker run -d --restart unless-stopped --name platform-press-4 .* https://${host}:${port}/`),
    );
    await checkPage(page, 'add machine, line');

    // Docker would start a container with this command.
    const begin = systemClock.now();
    const command = line.replace(/^docker run .*?(?=\/bin\/sh -c )/, '');
    await machine.paste(command);
    for (const name of ['Downloaded', 'Verified', 'Installed', 'Online'])
      await step(page, name, 'done').waitFor({ timeout: 120_000 });
    t.diagnostic(`online ${Math.round((systemClock.now() - begin) / 1_000)} s after the paste`);
    await page
      .getByText(/signed/)
      .first()
      .waitFor();
    await page.getByText(/runs as the main process of a container/).waitFor();
    await checkPage(page, 'add machine, online');

    await page.reload();
    await step(page, 'Online', 'done').waitFor();
    await page.getByText(/The line was used .* and works on no other computer/).waitFor();
    // The container starts again: it keeps its credentials, and asks for nothing.
    const elsewhere = await bareMachine(host);
    const refused = await (await elsewhere.paste(command)).exited;
    const output = await elsewhere.output();
    await elsewhere[Symbol.asyncDispose]();
    assert.equal(refused.code, 1, output);
    assert.match(output, /one-time key of this line was used.*Make a new line/);
    await page.getByText(/A computer at 127\.0\.0\.1 tried the line/).waitFor();

    await page.getByRole('link', { name: 'Open CONFIGURE' }).click();
    await page.getByRole('heading', { name: 'press 4', level: 1 }).waitFor();
    await configuresWithoutJson(page, images);
    await ordersRestarts(page);
    await page.goto(
      page
        .url()
        .replace(/\/configure.*$/, '')
        .replace('/machines/', '/machines/add?machine='),
    );
    await step(page, 'Configured', 'done').waitFor({ timeout: 60_000 });
  } catch (error) {
    throw new Error(await machine.output(), { cause: error });
  } finally {
    up.group.signal('SIGINT');
    await up.group.exited;
  }
});

/** A model of three colours in the registry, as a training leaves it. */
async function storeModel(
  url: string,
  orgId: string,
  { entity, payload }: { entity: string; payload: string },
  folder: string,
): Promise<void> {
  const model = path.join(checkout, 'apps/machine-server/test/fixtures/colours.onnx');
  await copyFile(model, path.join(folder, 'colours.onnx'));
  await writeFile(path.join(folder, 'labels.txt'), 'red\ngreen\nblue\n');
  await promisify(execFile)('tar', ['-czf', 'colours.tar.gz', 'colours.onnx', 'labels.txt'], { cwd: folder });
  const signIn = await fetch(`${url}/proto.rpc.v1.AuthService/Authenticate`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ entity, credentials: { type: 'api-key', payload } }),
  });
  const { accessToken } = (await signIn.json()) as { accessToken: string };
  const stored = await fetch(`${url}/packages/${orgId}/colours?type=ml_model&version=1`, {
    method: 'POST',
    headers: { authorization: `Bearer ${accessToken}` },
    body: await readFile(path.join(folder, 'colours.tar.gz')),
  });
  assert.equal(stored.status, 201, await stored.text());
}

/** The agent, a camera and a model, with the mouse and the names of things. */
async function configuresWithoutJson(page: Page, images: string): Promise<void> {
  const group = async (name: string): Promise<Locator> => {
    const found = page.getByRole('group', { name, exact: true });
    const head = found.getByRole('button').first();
    if ((await head.getAttribute('aria-expanded')) === 'false') await head.click();
    return found;
  };
  const add = async (what: RegExp): Promise<void> => {
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('dialog', { name: 'Add to the configuration' }).getByRole('button', { name: what }).click();
  };
  await (await group('Advanced')).getByRole('radiogroup', { name: 'Debug log' }).getByLabel('On').check();
  await add(/camera · folder/);
  await (await group('camera-1')).getByLabel('Folder', { exact: true }).fill(images);
  await add(/mlmodel · onnx_cpu/);
  const model = await group('mlmodel-1');
  await model.getByLabel('From the registry').selectOption({ label: 'colours' });
  await add(/vision · classifier/);
  await group('vision-1');
  await checkPage(page, 'configured without JSON');
  await page.getByRole('button', { name: 'Review and save …' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText(/Saved as revision 1/).waitFor();
  await page.getByText(/in effect on the machine/).waitFor({ timeout: 60_000 });
  await page.getByRole('link', { name: 'LOGS' }).click();
  // What the model sees in the image of the camera.
  await page.getByRole('region', { name: 'Log lines' }).getByText('prediction').first().waitFor({ timeout: 60_000 });
  await page.getByRole('link', { name: 'CONFIGURE' }).click();
}

/** The real agent restarts itself and its server; in a container it may not reboot. */
async function ordersRestarts(page: Page): Promise<void> {
  await page.getByRole('button', { name: /Part status/ }).click();
  const status = page.getByRole('dialog', { name: 'Part status' });
  await status.getByText('This agent may not reboot its device').waitFor();
  for (const [button, title, done] of [
    ['Restart agent', 'Restart of the agent', 'done, the agent runs again'],
    ['Restart server', 'Restart of the machine server', 'done, the server runs again'],
  ] as const) {
    await status.getByRole('button', { name: button }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Restart' }).click();
    const order = status.getByRole('listitem').filter({ hasText: title });
    await order.getByText(done).waitFor({ timeout: 90_000 });
  }
  await checkPage(page, 'part status, orders done');
  await page.keyboard.press('Escape');
}

test('the page says what keeps machines away, why an installation stopped, and what a reload forgets', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  // The narrow screen is dark.
  await atEachWidth({ client, widths: [1280, 360] }, async ({ width, signIn }) => {
    const page = await signIn();
    if (width === 360) await page.emulateMedia({ colorScheme: 'dark' });
    await page.goto(`${ready.url}/machines/add?machine=00000000-0000-4000-8000-000000000000`);
    await page.getByText(/There is no machine/).waitFor();
    await checkPage(page, 'add machine, unknown');
    await page.getByRole('link', { name: 'Add another machine' }).click();
    await page.getByLabel('Name').fill(`press ${width}`);
    await checkPage(page, 'add machine, name');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText(/No other machine reaches/).waitFor();
    assert.match(
      await lineOf(page),
      new RegExp(`^sudo /bin/sh -c "PLATFORM_API_KEY_ID=\\S+ PLATFORM_API_KEY=once_\\S+ .*${ready.url}/install\\.sh`),
    );
    await page.getByLabel('Address of this server').fill('fleet.example');
    await page.getByText(/it must begin with https/).waitFor();
    await page.getByLabel('Address of this server').fill('http://fleet.example:8080');
    await page.getByText('http://fleet.example:8080 has no TLS.').waitFor();
    const line = await lineOf(page);
    assert.match(line, /curl -fsSL http:\/\/fleet\.example:8080\/install\.sh/);
    await page.getByText('QR code of the line').click();
    await page.getByRole('img', { name: 'QR code of the install line' }).waitFor();
    await checkPage(page, 'add machine, loopback');

    const report = installReports(ready.url, line);
    await report('started', 'Linux x86_64');
    await step(page, 'Downloaded', 'running').waitFor();
    await report('downloaded', 'platform-agent 1.4.2 for linux-amd64, 31 MB');
    await report(
      'failed',
      'what was downloaded has the sha256 0a0a, and it should have 0b0b. It was removed; run this again.',
    );
    await step(page, 'Verified', 'failed')
      .getByText(/It was removed; run this again/)
      .waitFor();
    await checkPage(page, 'add machine, stopped');
    await page.reload();
    await page.getByText(/It is shown once\. If the machine has it, wait here/).waitFor();
    await step(page, 'Verified', 'failed').waitFor();

    await page.getByText('Card image').click();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download platform.json' }).click();
    const stream = await (await download).createReadStream();
    let credentials = '';
    for await (const chunk of stream) credentials += String(chunk);
    await page.getByText('Install the agent on a card').click();
    await page.getByText('One image for many devices').click();
    await page.getByLabel('Manufacturer').fill('Alpenhof');
    await page
      .getByRole('region', { name: 'platform-defaults.json' })
      .getByText('"manufacturer": "Alpenhof"')
      .waitFor();
    await checkPage(page, 'add machine, card');
    const machine = await wireMachine(credentials);
    await machine.check({});
    await step(page, 'Online', 'done').waitFor();

    await page.getByText('Windows', { exact: true }).click();
    await page.getByRole('button', { name: 'Make a new line' }).click();
    await page.getByText('No agent for Windows is released').waitFor();
    await page.getByText(/was installed before, and is online/).waitFor();
    await checkPage(page, 'add machine, installed before');
  });
});
