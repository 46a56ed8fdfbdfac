// The page of a machine opens on its story: a true sentence, charts with what happened, and one time line. The test simulates
// the machine; the server is real and killed at the end.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  BootReason,
  NetworkLinkState,
  NetworkLinkType,
  OrderKind,
  ServerState,
  Severity,
  UpdateState,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { systemClock } from '@platform/kit/node';
import { followSignInLink, launchBrowser } from '../src/browser.ts';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { drawnPng } from '../src/drawn-images.ts';
import { checkPage, untilInPage, watchComplaints } from '../src/page-checks.ts';
import { wireMachine } from '../src/wire-callers.ts';

const minute = 60_000;
const ago = (minutes: number) => timestampFromMs(systemClock.wall() - minutes * minute);

const front = 'The camera "front" gives no image: no such device.';
const config = {
  components: [
    { name: 'front', type: 'camera', model: 'folder', attributes: { path: '/dev/video0' } },
    { name: 'rear', type: 'camera', model: 'folder', attributes: { path: '/srv/rear' } },
  ],
};
const report = (revision: bigint) => ({
  appliedRevision: revision,
  hostname: 'barn-0412',
  os: 'Debian GNU/Linux 12',
  platform: 'linux/arm64',
  serverState: ServerState.RUNNING,
  knownOrders: [OrderKind.REBOOT],
  facts: {
    model: 'Raspberry Pi 5',
    architecture: 'aarch64',
    memoryBytes: 8_000_000_000n,
    disk: { sizeBytes: 64_000_000_000n, freeBytes: 6_100_000_000n },
    temperatureCelsius: 58,
    uptime: { seconds: 3n * 3600n },
    bootReason: BootReason.ORDERED,
  },
  network: {
    hasLink: true,
    links: [
      {
        interface: 'eth0',
        type: NetworkLinkType.WIRED,
        state: NetworkLinkState.CONNECTED,
        addresses: ['10.4.12.61/24'],
      },
      {
        interface: 'wlan0',
        type: NetworkLinkType.WIFI,
        state: NetworkLinkState.CONNECTED,
        ssid: 'שלום',
        signalPercent: 71,
        addresses: ['10.4.80.19/22'],
      },
    ],
  },
  agent: { runningVersion: '1.5.0', installedVersion: '1.5.0', wantedVersion: '1.5.0' },
  server: {
    runningVersion: '1.5.0',
    installedVersion: '1.5.0',
    wantedVersion: '1.5.0',
    uptime: { seconds: 7200n },
    lastUpdate: { version: '1.5.0', fromVersion: '1.4.2', state: UpdateState.HEALTHY, since: ago(119) },
  },
});
const failing = {
  code: 'CAMERA_FAILED',
  severity: Severity.ERROR,
  message: front,
  remedy: 'Provide it on the machine.',
  since: ago(47),
  path: 'components[0].attributes.path',
};

/** One sample a minute of the last ten hours, with a quarter of an hour in which the machine was off. */
const samples = {
  spoolId: 'a',
  firstSequence: 1n,
  start: BigInt(Math.floor(systemClock.wall() / 1000) - 600 * 60),
  samples: Array.from({ length: 585 }, (_, n) => ({
    seconds: (n < 400 ? n : n + 15) * 60,
    processorPermille: Math.round(300 + 200 * Math.sin(n / 40) + 60 * Math.sin(n / 3)),
    memoryPermille: 520 + (n % 20),
    diskPermille: 700 + Math.round(n / 4),
    temperatureTenths: 560 + Math.round(40 * Math.sin(n / 50)),
    receivedBytesPerSecond: BigInt(900_000 + (n % 60) * 5_000),
    sentBytesPerSecond: BigInt(300_000 + (n % 40) * 4_000),
  })),
};

test('the page of a machine opens on its story', async (t) => {
  await using processes = new AsyncDisposableStack();
  const cloud = processes.use(await startCloud());
  const { ready } = cloud;
  const client = clientOf(ready);
  const { machine: created, credentialsJson } = await client.fleetClient.createMachine({
    organizationId: ready.org_id,
    name: 'barn-0412',
  });
  const partId = created?.partId ?? '';
  const machine = await wireMachine(credentialsJson);
  await client.fleetClient.saveConfig({ partId, configJson: JSON.stringify(config), comment: 'a rear camera' });
  const boxes = [{ label: 'cow', xMin: 0.1, yMin: 0.3, xMax: 0.5, yMax: 0.9 }];
  const bytes = drawnPng({ width: 320, height: 320 }, (x, y) =>
    x > 32 && x < 160 && y > 96 && y < 288 ? [240, 235, 225] : [120, 100 + (y % 30), 70],
  );
  await client.dataClient.uploadImage({ bytes, fileExtension: 'png', boxes }, { partId, componentName: 'rear' });
  const browser = await launchBrowser();
  t.after(() => browser.close());
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const complaints = watchComplaints(context);
  await context.addInitScript(watchShifts);
  const page = await context.newPage();
  await followSignInLink(page, ready.sign_in_url);
  await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
  await page.getByRole('link', { name: 'Machines', exact: true }).click();
  await page.getByRole('link', { name: 'barn-0412' }).click();

  const sentence = page.getByRole('region', { name: 'State' }).getByRole('heading');
  await sentence.getByText('Awaits its set-up: no agent has connected').waitFor();
  await page.getByText('Revision 1 waits for it.').waitFor();
  await page.getByRole('region', { name: 'State' }).getByRole('link', { name: 'Add this machine' }).waitFor();
  await machine.check(report(1n), samples);
  await sentence.getByText('Runs revision 1. It reports no problem.').waitFor();
  await machine.check({ ...report(1n), conditions: [failing] });
  await sentence.getByText(/^Runs revision 1\. The camera "front" gives no image: no such device, since/).waitFor();
  await page
    .getByRole('region', { name: 'State' })
    .getByText('CAMERA_FAILED · components[0].attributes.path')
    .waitFor();
  assert.equal(await page.getByText(failing.remedy).count(), 1, 'the sentence and its remedy stand there once');

  const cameras = page.getByRole('region', { name: 'Cameras' });
  const image = cameras.getByRole('img', { name: 'Newest captured image of rear: cow' });
  await image.waitFor();
  const [shown, card] = [await image.boundingBox(), await cameras.getByRole('figure').last().boundingBox()];
  assert.ok(shown && card && Math.abs(shown.width - shown.height) < 1.5, 'a square image is drawn as a square');
  assert.ok(shown.width > 100 && shown.y >= card.y && shown.y + shown.height < card.y + card.height, 'whole');
  await cameras.getByText('No image of this camera was captured.').waitFor();
  const resources = page.getByRole('region', { name: 'Resources' });
  await resources.getByText('1 of 2 without a problem').waitFor();
  await resources.getByRole('listitem').first().getByText(front).waitFor();

  await page
    .getByRole('region', { name: 'Networks' })
    .getByRole('row', { name: /wlan0.*71 %.*10\.4\.80\.19/ })
    .waitFor();
  const use = page.getByRole('region', { name: 'Use' });
  await use.getByRole('img', { name: /^Processor in the last 24 hours: .*; marked: .*1 update/ }).waitFor();
  const line = page.getByRole('region', { name: 'Time line' });
  await line.getByText('Machine server 1.4.2 → 1.5.0: healthy').waitFor();
  await line.getByText('Nothing was measured for 16 min').waitFor();
  await line.getByText('Revision 1 was saved').waitFor();
  await line.getByText('first key (key): a rear camera').waitFor();
  await checkPage(page, 'story of a machine');
  await line.getByRole('link', { name: 'Revisions', exact: true }).click();
  await line.getByText('Nothing was measured').waitFor({ state: 'detached' });
  assert.equal(new URL(page.url()).searchParams.get('events'), 'revision');
  assert.equal(await line.locator('[aria-current]').innerText(), 'Revisions');

  await resources.getByRole('link', { name: 'Configure' }).first().click();
  await untilInPage(page, "getSelection()?.toString().includes('/dev/video0') ?? false");
  await untilInPage(page, "document.title === 'barn-0412 · CONFIGURE · Platform'");

  await page.goto(`${ready.url}/machines/${created?.id ?? ''}`);
  await cameras.getByRole('img').waitFor();
  await use.getByRole('img', { name: /^Processor in .*; marked/ }).waitFor();
  const shift = await page.evaluate<number>('window.shifts');
  assert.ok(shift <= 0.02, `the page moved by ${shift} while it loaded`);

  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setViewportSize({ width: 360, height: 740 });
  await checkPage(page, 'story of a machine, dark');

  await machine.goodbye();
  await sentence.getByText(/^Uninstalled: its agent reported its removal at/).waitFor();
  await resources.getByText('0 of 2 without a problem').waitFor();
  await processes.disposeAsync();
  await sentence.getByText(/^Not known now: the server has not answered since/).waitFor();
  await checkPage(page, 'story of a machine without its server');
  assert.equal(await page.locator('.story .is-good').count(), 0, 'nothing is green');
  assert.deepEqual(complaints, []);
});

/** Sums up the shifts of each page that no input of a user caused. */
const watchShifts = `window.shifts = 0;
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) window.shifts += value;
  }).observe({ type: 'layout-shift', buffered: true });`;
