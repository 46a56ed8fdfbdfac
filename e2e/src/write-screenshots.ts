// npm run screenshots: every page of the web app at two widths in both themes, from a server, a seeded installation and
// a browser that it starts. The list of routes is the list of pages.
//
//   --out FOLDER   where they go; .cache/screenshots by default
//   --only TEXT    only pages whose name contains it
//   --full         whole pages instead of the first window
//   --docs         also those of docs/images
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '@platform/kit/node';
import { memoryFolder } from '@platform/kit/testing';
import type { Browser } from 'playwright-core';
import { followSignInLink, launchBrowser } from './browser.ts';
import { buildWeb } from './build-web.ts';
import { clientOf, startCloudAt } from './cloud-process.ts';
import { writeDocsScreens } from './screens/docs-screens.ts';
import { addressOf, screenPages, type ScreenIds, screenName } from './screens/screen-pages.ts';
import { seedCamera, seedDatasets, seedJobs, seedOrganization } from './screens/seed-data.ts';
import { seedHistory } from './screens/seed-history.ts';
import { seedMachines } from './screens/seed-machines.ts';
import { settle } from './screens/settle.ts';
import { checkout } from './up-process.ts';

const sizes = [
  { width: 1280, height: 800 },
  { width: 360, height: 740 },
] as const;
const themes = ['light', 'dark'] as const;
type Variant = (typeof sizes)[number] & { colorScheme: (typeof themes)[number] };
const variants: readonly Variant[] = themes.flatMap((colorScheme) => sizes.map((size) => ({ ...size, colorScheme })));

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: path.join(checkout, '.cache', 'screenshots') },
    only: { type: 'string', default: '' },
    full: { type: 'boolean', default: false },
    docs: { type: 'boolean', default: false },
  },
});

const say = (text: string): void => void process.stderr.write(`${text}\n`);

async function signedIn(browser: Browser, link: string, { width, height, colorScheme }: Variant) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme });
  const page = await context.newPage();
  await followSignInLink(page, link);
  return page;
}

/** Sends what keeps machines online and leases alive, until it is disposed of. */
function keepAlive(beat: () => Promise<void>): AsyncDisposable {
  const end = new AbortController();
  const loop = async (): Promise<void> => {
    while (!end.signal.aborted) {
      await beat();
      await systemClock.sleep(8_000, end.signal);
    }
  };
  const done = loop().catch((error: unknown) => say(`The seeded installation went quiet: ${String(error)}`));
  return {
    async [Symbol.asyncDispose]() {
      end.abort();
      await done;
    },
  };
}

async function writeEveryPage(browser: Browser, url: string, link: () => Promise<string>, ids: ScreenIds) {
  const pages = screenPages().filter((one) => screenName(one).includes(values.only));
  for (const variant of variants) {
    const page = await signedIn(browser, await link(), variant);
    for (const one of pages) {
      await page.goto(url + addressOf(one, ids));
      await settle(page);
      const file = `${screenName(one)}-${variant.width}-${variant.colorScheme}.png`;
      await page.screenshot({ path: path.join(values.out, file), fullPage: values.full });
    }
    await page.context().close();
    say(`${pages.length} pages, ${variant.width} px, ${variant.colorScheme}`);
  }
}

buildWeb();
await using folder = await memoryFolder();
// Whatever this host has free.
const place = { checkout, dataDir: path.join(folder.path, 'cloud'), port: 0 };
await using cloud = await startCloudAt(place, '--low-disk-gb', '0');
const { ready } = cloud;
const client = clientOf(ready);
const organizationId = ready.org_id;
say('Seeding an installation …');
await seedHistory(folder.path, organizationId);
const machines = await seedMachines(client, organizationId);
await using _machines = keepAlive(machines.beat);
const { datasetId, imageId } = await seedDatasets(client, organizationId);
await seedCamera(client, machines.partId);
const jobs = await seedJobs(client, ready, datasetId);
await using _jobs = keepAlive(jobs.beat);
const fragmentId = await seedOrganization(client, organizationId);
const { machineId } = machines;
const { jobId } = jobs;
const ids: ScreenIds = { machineId, datasetId, imageId, jobId, fragmentId };
// The overview shows what the server measured last: the seeded machines, not the empty installation.
const isMeasured = async (): Promise<boolean> => {
  const { numbers } = await client.conditionClient.getOverview({ organizationId });
  return (numbers?.machines ?? 0) > 0 && (numbers?.online ?? 0) > 0;
};
while (!(await isMeasured())) await systemClock.sleep(500);
await mkdir(values.out, { recursive: true });
await using browser = await launchBrowser();
const link = async (): Promise<string> => (await client.sessionClient.createSignInLink({})).url;
await writeEveryPage(browser, ready.url, link, ids);
if (values.docs) {
  const page = await signedIn(browser, await link(), { width: 1280, height: 800, colorScheme: 'light' });
  await writeDocsScreens({ page, url: ready.url, ready, client, organizationId, ids });
}
say(`Written to ${values.out}`);
