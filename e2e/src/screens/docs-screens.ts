// The screenshots of the documentation: states that no address alone shows.
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import serverSchemas from '@platform/contract/gen/server-schemas.json' with { type: 'json' };
import type { PlatformClient } from '@platform/client';
import type { Page } from 'playwright-core';
import type { CloudReady } from '../cloud-process.ts';
import { installReports } from '../install-reports.ts';
import { makeModel } from '../small-model.ts';
import { checkout } from '../up-process.ts';
import { wireMachine } from '../wire-callers.ts';
import { addressOf, type ScreenIds, screenPages } from './screen-pages.ts';
import { composedImages, labels } from './seed-data.ts';
import { settle } from './settle.ts';

const images = path.join(checkout, 'docs', 'images');

interface Scene {
  readonly page: Page;
  readonly url: string;
  readonly client: PlatformClient;
  readonly ready: CloudReady;
  readonly organizationId: string;
  readonly ids: ScreenIds;
}

async function take(page: Page, name: string): Promise<void> {
  await settle(page);
  await page.screenshot({ path: path.join(images, `${name}.jpg`), type: 'jpeg', quality: 76 });
}

/** A folder per label, before anything is stored. */
async function importing({ page, url, client, organizationId }: Scene): Promise<void> {
  await using folder = await tempFolder();
  const datasetId = await client.datasetClient.createDataset('harvest', organizationId);
  for (const { name, label, jpeg } of (await composedImages()).filter((_, at) => at % 12 < 6)) {
    await mkdir(path.join(folder.path, label), { recursive: true });
    await writeFile(path.join(folder.path, label, name), jpeg);
  }
  await writeFile(path.join(folder.path, labels[0] ?? '', 'notes.txt'), 'no image');
  await page.goto(`${url}/datasets/${datasetId}`);
  await page.getByRole('button', { name: 'Add images' }).first().click();
  await page.getByLabel('A folder with its images and annotations').setInputFiles(folder.path);
  await page.getByText(/^18 images/).waitFor();
  await page.getByText('notes.txt').first().waitFor();
  await page.getByRole('dialog').getByRole('img').nth(9).waitFor();
  await take(page, 'import');
}

async function labelling({ page, url, ids }: Scene): Promise<void> {
  await page.goto(`${url}/datasets/${ids.datasetId}/label`);
  await page.getByText('30 of 36').waitFor();
  await page.locator('img').first().waitFor();
  await systemClock.sleep(500);
  await take(page, 'labelling');
}

async function logs({ page, url, ids }: Scene): Promise<void> {
  await page.goto(`${url}/machines/${ids.machineId}/logs`);
  await page.getByRole('region', { name: 'Log lines' }).getByText('prediction 980').waitFor();
  await page.locator('.log-ruler-visible').waitFor();
  await take(page, 'logs');
}

/** One line, and the steps of the machine on which it was pasted. */
async function adding({ page, url }: Scene): Promise<void> {
  await page.goto(`${url}/machines/add`);
  await page.getByLabel('Name').fill('press-4');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByLabel('Address of this server').fill('https://fleet.example');
  const line = (await page.getByRole('region', { name: 'Install line' }).textContent()) ?? '';
  const report = installReports(url, line);
  await report('started', 'Linux aarch64');
  await systemClock.sleep(3_000);
  await report('downloaded', 'platform-agent 1.4.2 for linux-arm64, 31 MB');
  await report('verified', 'SHA-256 in the list that the key of the server signed');
  await page.getByText(/the key of the server signed/).waitFor();
  await page.getByText('The installer is working').waitFor();
  await page.setViewportSize({ width: 1100, height: 900 });
  await take(page, 'add-machine');
  await page.setViewportSize({ width: 1100, height: 720 });
}

/** A camera and a model in the form, before anything is saved. */
async function configuring({ page, client, ready }: Scene): Promise<void> {
  await makeModel(client, ready);
  const created = await client.fleetClient.createMachine({ organizationId: ready.org_id, name: 'press-5' });
  await (await wireMachine(created.credentialsJson)).reportSchemas(serverSchemas);
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.goto(`${ready.url}/machines/${created.machine?.id ?? ''}/configure`);
  const add = async (what: RegExp): Promise<void> => {
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('dialog', { name: 'Add to the configuration' }).getByRole('button', { name: what }).click();
  };
  await add(/camera · folder/);
  // What was added is open.
  await add(/mlmodel · onnx_cpu/);
  const model = page.getByRole('group', { name: 'mlmodel-1', exact: true });
  await model.getByLabel('From the registry').selectOption({ label: 'finder' });
  await add(/vision · detector/);
  const camera = page.getByRole('group', { name: 'camera-1', exact: true });
  await camera.getByLabel('Folder', { exact: true }).fill('/data/belt');
  await page.evaluate('window.scrollTo(0, 0)');
  await take(page, 'configure');
  await page.setViewportSize({ width: 1100, height: 720 });
}

async function searching({ page, url }: Scene): Promise<void> {
  await page.goto(`${url}/machines`);
  await settle(page);
  await page.getByRole('button', { name: /Search or jump/ }).click();
  await page.getByRole('combobox', { name: 'Search' }).fill('barn');
  await page.getByRole('option', { name: 'barn-1' }).waitFor();
  await take(page, 'palette');
}

/** Those that the routes do not have are left out. */
const plainPages: readonly (readonly [name: string, path: string])[] = [
  ['overview', '/'],
  ['machines', '/machines'],
  ['machine', '/machines/$machineId/overview'],
  ['dataset', '/datasets/$datasetId'],
  ['job', '/training/$jobId'],
];

/** Writes docs/images, in the light theme at the width of the documentation. */
export async function writeDocsScreens(scene: Scene): Promise<void> {
  const { page, url, ids } = scene;
  await mkdir(images, { recursive: true });
  await page.setViewportSize({ width: 1100, height: 720 });
  const all = screenPages();
  for (const [name, wanted] of plainPages) {
    const found = all.find((one) => one.path === wanted);
    if (!found) continue;
    await page.goto(url + addressOf(found, ids));
    await take(page, name);
  }
  for (const story of [searching, labelling, logs, adding, importing, configuring]) await story(scene);
}
