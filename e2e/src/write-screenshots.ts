// npm run screenshots: the screenshots of the web app in docs/images, from a server and a browser that it starts.
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { PlatformClient } from '@platform/client';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { composeObjects10 } from '@platform/objects-10';
import type { Page } from 'playwright-core';
import { followSignInLink, launchBrowser } from './browser.ts';
import { clientOf, startCloud } from './cloud-process.ts';
import { checkout } from './up-process.ts';
import { wireMachine } from './wire-callers.ts';

const images = path.join(checkout, 'docs', 'images');
const labels = ['balloon', 'bear', 'corn'];
const minute = 60_000;

async function take(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: path.join(images, `${name}.jpg`), type: 'jpeg', quality: 85 });
}

async function composed(): Promise<{ label: string; name: string; jpeg: Uint8Array }[]> {
  const all = composeObjects10({ seed: 5, side: 320, trainPerClass: 6, testPerClass: 0, objects: labels });
  return Array.fromAsync(all, ({ name, label, jpeg }) => ({ name: path.basename(name), label, jpeg }));
}

/** A folder per label, before anything is stored. */
async function importing(page: Page, { url, datasetId, folder }: { url: string; datasetId: string; folder: string }) {
  for (const { name, label, jpeg } of await composed()) {
    await mkdir(path.join(folder, label), { recursive: true });
    await writeFile(path.join(folder, label, name), jpeg);
  }
  await writeFile(path.join(folder, labels[0] ?? '', 'notes.txt'), 'no image');
  await page.goto(`${url}/datasets/${datasetId}`);
  await page.getByRole('button', { name: 'Add images' }).first().click();
  await page.getByLabel('A folder with its images and annotations').setInputFiles(folder);
  await page.getByText(/^18 images/).waitFor();
  await page.getByText('notes.txt').first().waitFor();
  await page.getByRole('dialog').getByRole('img').nth(9).waitFor();
  await take(page, 'import');
}

async function labelling(
  page: Page,
  { url, datasetId, client }: { url: string; datasetId: string; client: PlatformClient },
) {
  const uploads = (await composed()).map(({ name, label, jpeg }, at) => ({
    bytes: jpeg,
    fileName: name,
    fileExtension: 'jpg',
    takenAt: Date.UTC(2026, 0, 1) + at * 1_000,
    ...(at < 12 ? { tags: [label] } : {}),
  }));
  await client.dataClient.uploadImages(uploads, { partId: '', datasetIds: [datasetId] });
  await page.goto(`${url}/datasets/${datasetId}/label`);
  await page.getByText('12 of 18').waitFor();
  await page.locator('img').first().waitFor();
  await systemClock.sleep(500);
  await take(page, 'labelling');
}

async function logs(page: Page, { url, client, orgId }: { url: string; client: PlatformClient; orgId: string }) {
  const created = await client.fleetClient.createMachine({ organizationId: orgId, name: 'barn' });
  const machine = await wireMachine(created.credentialsJson);
  await machine.beat();
  const now = systemClock.wall();
  await machine.logAll(
    Array.from({ length: 1_000 }, (_, n) => {
      const at = now - minute - (999 - n) * minute;
      if (n % 240 > 228) return { level: 'error', message: 'open /dev/video0: no such device', at };
      return {
        level: n % 17 === 0 ? 'warn' : n % 3 === 0 ? 'debug' : 'info',
        message: `prediction ${n}: cow 0.93`,
        at,
      };
    }),
  );
  await page.goto(`${url}/machines/${created.machine?.id ?? ''}/logs`);
  await page.getByRole('region', { name: 'Log lines' }).getByText('prediction 980').waitFor();
  await page.locator('.log-ruler-visible').waitFor();
  await take(page, 'logs');
}

await using cloud = await startCloud();
await using folder = await tempFolder();
await using browser = await launchBrowser();
const { ready } = cloud;
const client = clientOf(ready);
await mkdir(images, { recursive: true });
const context = await browser.newContext({ viewport: { width: 1100, height: 800 } });
const page = await context.newPage();
await followSignInLink(page, (await client.sessionClient.createSignInLink({})).url);
const make = (name: string) => client.datasetClient.createDataset(name, ready.org_id);
await importing(page, { url: ready.url, datasetId: await make('things'), folder: folder.path });
await labelling(page, { url: ready.url, datasetId: await make('things to label'), client });
await logs(page, { url: ready.url, client, orgId: ready.org_id });
