// Live views: a user looks at the cameras of a machine on its page, through the real server and a real machine server. The
// test simulates the agent alone.
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { ServerState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { plainEnvironment, spawnGroup, systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { followSignInLink, launchBrowser } from '../src/browser.ts';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { drawnPng } from '../src/drawn-images.ts';
import { checkPage, untilInPage, watchComplaints } from '../src/page-checks.ts';
import { checkout } from '../src/up-process.ts';
import { wireMachine } from '../src/wire-callers.ts';

const camera = (name: string, folder: string) => ({
  name,
  type: 'camera',
  model: 'folder',
  attributes: { path: folder },
});
const report = {
  appliedRevision: 1n,
  platform: 'linux/amd64',
  serverState: ServerState.RUNNING,
  agent: { runningVersion: '1.5.0' },
  server: { runningVersion: '1.5.0' },
};
const sizeOfImage = `[document.querySelector('.live-image')].map((one) => one.naturalWidth + ' × ' + one.naturalHeight)[0]`;
const setVisibility = (state: string): string =>
  `Object.defineProperty(document, 'visibilityState', { configurable: true, value: '${state}' });
  document.dispatchEvent(new Event('visibilitychange'));`;

test('story: a user looks at a camera live', async (t) => {
  await using folder = await tempFolder();
  await using processes = new AsyncDisposableStack();
  const { ready } = processes.use(await startCloud());
  const client = clientOf(ready);
  const { machine: created, credentialsJson } = await client.fleetClient.createMachine({
    organizationId: ready.org_id,
    name: 'barn-0412',
  });
  const partId = created?.partId ?? '';
  const images = folder.file('images');
  await mkdir(images);
  const barn = drawnPng({ width: 1600, height: 900 }, (x, y) =>
    x > 500 && x < 900 && y > 300 && y < 800 ? [240, 235, 225] : [120, 100 + (y % 60), 70],
  );
  await writeFile(path.join(images, 'barn.png'), barn);
  const components = [camera('front', images), camera('yard', images), camera('rear', folder.file('no-images'))];
  await client.fleetClient.saveConfig({ partId, configJson: JSON.stringify({ components }) });
  await (await wireMachine(credentialsJson)).check(report);
  await writeFile(folder.file('platform.json'), credentialsJson, { mode: 0o600 });
  const server = await spawnGroup({
    command: process.execPath,
    args: [
      path.join(checkout, 'apps/machine-server/src/main.ts'),
      '-config',
      folder.file('platform.json'),
      '-data',
      folder.file('data'),
    ],
    env: plainEnvironment(),
    logFile: folder.file('server.log'),
  });
  processes.defer(async () => void (await server.stop({ termMs: 5_000 })));
  const logged = async (text: string | RegExp): Promise<void> => {
    const end = systemClock.now() + 30_000;
    while ((await readFile(folder.file('server.log'), 'utf8')).search(text) === -1) {
      assert.ok(systemClock.now() < end, `${text}`);
      await systemClock.sleep(50);
    }
  };
  await logged('new configuration');
  const browser = await launchBrowser();
  t.after(() => browser.close());
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const complaints = watchComplaints(context);
  const page = await context.newPage();
  await followSignInLink(page, ready.sign_in_url);
  await page.goto(`${ready.url}/machines/${created?.id ?? ''}`);

  const cameras = page.getByRole('region', { name: 'Cameras' });
  await cameras.getByText(/^Live views sent 0 B of 200 MB today/).waitFor();
  await cameras.getByRole('button', { name: 'Live view of front' }).click();
  const image = cameras.getByRole('img', { name: 'Live image of front' });
  await image.waitFor();
  await cameras.getByText('live', { exact: true }).waitFor();
  const size = await page.evaluate<string>(sizeOfImage);
  assert.equal(size, '640 × 360');
  const first = await cameras.locator('time.live-time').innerText();
  await untilInPage(page, `document.querySelector('time.live-time').innerText !== '${first}'`);
  await cameras.getByRole('button', { name: 'Live view of rear' }).click();
  await cameras.getByText(/no-images does not exist on the machine/).waitFor();
  await cameras.getByText(/^Live views sent [\d.]+ kB of/).waitFor();
  await checkPage(page, 'live view');

  // Each step goes on while the machine ends the view of the camera before.
  await cameras.getByRole('button', { name: 'Live view of yard' }).click();
  await cameras.getByRole('img', { name: 'Live image of yard' }).waitFor();
  await cameras.getByRole('button', { name: 'Stop the live view of front' }).click();
  await cameras.getByText('No image of this camera was captured.').waitFor();
  server.signal('SIGSTOP');
  await cameras.getByText(/^no image for \d+ s$/).waitFor();
  assert.equal(await cameras.getByText('live', { exact: true }).count(), 0);
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setViewportSize({ width: 360, height: 740 });
  await checkPage(page, 'live view without images, dark');
  server.signal('SIGCONT');
  await cameras.getByText('live', { exact: true }).waitFor();
  await logged(/live view ends.*front/);
  await page.evaluate(setVisibility('hidden'));
  await page.evaluate(setVisibility('visible'));
  await cameras.getByText('The live view ended while this page was hidden.').first().waitFor();
  assert.equal(await cameras.getByRole('img').count(), 0);
  await cameras.getByRole('button', { name: 'Continue the live view of yard' }).click();
  await cameras.getByRole('img', { name: 'Live image of yard' }).waitFor();
  assert.deepEqual(complaints, []);
});
