// The web app in a real browser against the real server: an operator's actions, on a wide and on a narrow screen.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { createPlatformClient } from '@platform/client';
import type { PlatformClient } from '@platform/client';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { ServerState, UpdateState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { droppedLinesField } from '@platform/contract/logs/marker';
import { composeObjects10 } from '@platform/objects-10';
import { plainEnvironment, atomicWrite, spawnGroup, systemClock } from '@platform/kit/node';
import type { Page } from 'playwright-core';
import { followSignInLink, launchBrowser } from '../src/browser.ts';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import type { CloudReady } from '../src/cloud-process.ts';
import { checkPage, openJson, untilInPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';
import { checkout, dataFolder } from '../src/up-process.ts';
import { stayOnline } from '../src/stay-online.ts';
import { wireMachine, wireRunner } from '../src/wire-callers.ts';
import type { WireMachine } from '../src/wire-callers.ts';

interface Session {
  page: Page;
  ready: CloudReady;
  client: PlatformClient;
  /** Distinguishes the names of two runs of the story. */
  mark: string;
}

const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });
const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', typeof name === 'string' ? { name, exact: true } : { name });

async function writeConfig(page: Page, config: object): Promise<string> {
  const text = `${JSON.stringify(config, null, 2)}\n`;
  const editor = page.getByRole('textbox', { name: 'Configuration as JSON' });
  // A narrow screen shows the form or the JSON; a wide one shows its text until a user turns to it.
  const shown = page.getByRole('region', { name: 'Configuration as JSON' });
  await editor.or(button(page, 'JSON')).or(shown).first().waitFor();
  if (await button(page, 'JSON').isVisible()) {
    if (!(await editor.isVisible())) await button(page, 'JSON').click();
  } else await openJson(page);
  await editor.click();
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.insertText(text);
  return text;
}

async function signsIn({ page, ready, client }: Session): Promise<void> {
  await page.goto(`${ready.url}/machines`);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.getByText('npm run -s platform -- sign-in').waitFor();
  await checkPage(page, 'sign-in');
  const { url } = await client.sessionClient.createSignInLink({});
  await page.goto(url);
  await checkPage(page, 'sign-in-link');
  await followSignInLink(page, url);
  await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
  await page.getByRole('link', { name: 'Machines', exact: true }).click();
  await page.getByRole('heading', { name: 'Machines', exact: true }).waitFor();
  await checkPage(page, 'machines');
}

/** Creates a machine in the browser; with its credentials the test simulates the machine. */
async function createsMachine({ page, mark, client }: Session): Promise<WireMachine> {
  const text = await addedMachine(page, client, `press ${mark}`);
  await checkPage(page, 'add a machine');
  await page.getByRole('navigation').first().getByRole('link', { name: 'Machines' }).click();
  const row = page.getByRole('row', { name: `press ${mark}` });
  await row.getByText('Awaiting setup').waitFor();
  const machine = await wireMachine(text);
  await machine.check(report(0));
  await row.getByText('Online').waitFor();
  await row.getByRole('link').click();
  await page.getByRole('heading', { name: `press ${mark}` }).waitFor();
  await link(page, 'CONFIGURE').click();
  return machine;
}

/** Adds a machine on its page. @returns the credentials that its line would fetch */
async function addedMachine(page: Page, client: PlatformClient, name: string): Promise<string> {
  await link(page, 'Add a machine').click();
  await page.getByLabel('Name').fill(name);
  await button(page, 'Continue').click();
  await page.getByRole('region', { name: 'Install line' }).waitFor();
  const id = new URL(page.url()).searchParams.get('machine') ?? '';
  const { machine } = await client.fleetClient.getMachine({ id });
  return (await client.fleetClient.getCredentials({ partId: machine?.partId ?? '' })).credentialsJson;
}

const report = (revision: number) => ({
  appliedRevision: BigInt(revision),
  agent: { runningVersion: '0.1.0', installedVersion: '0.1.0', wantedVersion: '0.1.0' },
  server: { runningVersion: '1.0.0', installedVersion: '1.1.0', wantedVersion: '1.1.0', restartNeeded: true },
  serverState: ServerState.RUNNING,
});

async function edits({ page, client }: Session, machine: WireMachine): Promise<void> {
  const machineId = new URL(page.url()).pathname.split('/')[2] ?? '';
  const found = await client.fleetClient.getMachine({ id: machineId });
  const partId = found.machine?.partId ?? '';
  const saved = () => client.fleetClient.getConfig({ partId });
  const problems = page.getByRole('region', { name: 'Problems' });

  await writeConfig(page, {
    agent: { network_configuration: { user_idle_minutes: 0 }, additional_networks: [{ type: 'fax' }] },
  });
  await problems.getByText('agent.network_configuration.user_idle_minutes').waitFor();
  await problems.getByText('agent.additional_networks[0].type').waitFor();
  await button(page, /^Review and save/).click();
  await problems.getByText('it cannot be saved').waitFor();
  await page.locator('[aria-label="Problems"]:focus').waitFor();
  assert.equal(await page.getByRole('dialog').count(), 0, 'a configuration with errors is not offered for saving');
  assert.equal((await saved()).revision, 0n);
  await checkPage(page, 'configure with problems');

  const first = await writeConfig(page, { agent: { network_configuration: { user_idle_minutes: 7 } }, colour: 'red' });
  await problems.getByText('colour').waitFor();
  await button(page, /^Review and save/).click();
  const dialog = page.getByRole('dialog', { name: 'Save this configuration?' });
  await dialog.getByText('"user_idle_minutes": 7').waitFor();
  await checkPage(page, 'differences');
  await dialog.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved as revision 1').waitFor();
  assert.deepEqual([(await saved()).revision, (await saved()).configJson], [1n, first]);
  await page.getByText('not in effect yet').waitFor();
  await machine.check(report(1));
  await page.getByText(/Saved as revision 1 · in effect on the machine/).waitFor();

  // Another user saves while this text is being edited.
  await writeConfig(page, { agent: { network_configuration: { user_idle_minutes: 9 } } });
  await client.fleetClient.saveConfig({ partId, configJson: '{"agent": {}}' });
  await page.getByText('The configuration was changed elsewhere').waitFor();
  await button(page, /^Compare and merge/).click();
  await page.getByRole('radio', { name: 'Mine' }).check();
  await button(page, 'Put the merged text into the editor').click();
  await button(page, /^Review and save/).click();
  await dialog.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved as revision 3').waitFor();
  assert.match((await saved()).configJson, /"user_idle_minutes": 9/);

  await link(page, 'REVISIONS').click();
  await button(page, /^Show changes of revision 3/).click();
  await page.getByRole('dialog', { name: 'Revision 3' }).getByText('"user_idle_minutes": 9').waitFor();
  await button(page, 'Close').click();
  await checkPage(page, 'revisions');
}

async function reads({ page }: Session, machine: WireMachine): Promise<void> {
  const line = (level: string, message: string) => machine.log({ level, message, at: systemClock.wall() });
  await line('info', 'written before the page was opened');
  await link(page, 'LOGS').click();
  const log = page.getByRole('region', { name: 'Log lines' });
  await log.getByText('written before the page was opened').waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  await line('warn', 'a camera is slow');
  await log.getByText('a camera is slow').waitFor();
  await machine.log({
    level: 'warn',
    message: 'no room',
    at: systemClock.wall(),
    fields: [{ [droppedLinesField]: 12 }],
  });
  await log.getByText('12 lines lost here.').waitFor();
  await line('error', 'a camera is gone');
  await log.getByText('a camera is gone').waitFor();
  await checkPage(page, 'logs');

  await page.getByRole('checkbox', { name: 'warn' }).uncheck();
  await log.getByText('a camera is slow').waitFor({ state: 'detached' });
  await page.getByRole('searchbox', { name: 'Search' }).fill('gone');
  await log.getByText('written before').waitFor({ state: 'detached' });
  assert.equal(await log.locator('.log-line').count(), 1, 'one line is left');
  await page.getByRole('searchbox', { name: 'Search' }).fill('');
  await page.getByRole('checkbox', { name: 'warn' }).check();

  await line('info', 'written after the search');
  await log.getByText('written after the search').waitFor();
}

async function restarts({ page }: Session, machine: WireMachine): Promise<void> {
  await button(page, /Part status/).click();
  const status = page.getByRole('dialog', { name: 'Part status' });
  await status.getByText('Another file is installed').waitFor();
  await checkPage(page, 'part status');
  await status.getByText('Agent 0.1.0 does not know this order').first().waitFor();
  await status.getByRole('button', { name: 'Restart server' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Restart' }).click();
  const order = status.getByRole('listitem').filter({ hasText: 'Restart of the machine server' });
  await order.getByText(/ordered .*: the agent does it next\./).waitFor();
  assert.equal(await machine.mustRestart(), true);
  await order.getByText('the agent has taken it').waitFor();
  await checkPage(page, 'part status with an order');
  await page.keyboard.press('Escape');
}

/** Versions: chosen in menus, tried, rolled back with a reason, and tried again. */
async function givesUp({ page, client, ready, mark }: Session, machine: WireMachine): Promise<void> {
  await link(page, 'CONFIGURE').click();
  const { machines } = await client.fleetClient.listMachines({ organizationId: ready.org_id });
  const partId = machines.find((one) => one.name === `press ${mark}`)?.partId ?? '';
  const menu = page.getByLabel('Machine server version');
  await menu.selectOption('dev');
  await page.getByText('Not saved yet.').waitFor();
  await page.getByLabel('Agent version').selectOption({ label: 'Another version or address …' });
  const other = page.getByRole('dialog', { name: 'Agent version' });
  await other.getByLabel('Version or address').fill('file:///opt/builds/agent');
  await other.getByText('No release key signs such a file').waitFor();
  await checkPage(page, 'another version');
  await other.getByRole('button', { name: 'Choose' }).click();
  await page
    .getByRole('region', { name: 'Problems' })
    .getByText(/no release key signed: (https|file):/)
    .waitFor();
  await checkPage(page, 'version menus');
  await button(page, /^Review and save/).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText(/^Saved as revision/).waitFor();
  const { configJson } = await client.fleetClient.getConfig({ partId });
  assert.deepEqual((JSON.parse(configJson) as { agent: { version_control: object } }).agent.version_control, {
    'platform-server': 'dev',
    agent: 'file:///opt/builds/agent',
  });

  const running = { runningVersion: '1.0.0', installedVersion: '1.0.0', wantedVersion: '1.1.0' };
  const since = timestampFromMs(systemClock.wall() - 90_000);
  await machine.check({
    server: {
      ...running,
      lastUpdate: {
        version: '1.1.0',
        fromVersion: '1.0.0',
        state: UpdateState.DOWNLOADING,
        downloadedBytes: 24_000_000n,
        sizeBytes: 96_000_000n,
        since,
      },
    },
    serverState: ServerState.RUNNING,
  });
  await button(page, /Part status/).click();
  const status = page.getByRole('dialog', { name: 'Part status' });
  await status.getByText('24.0 MB of 96.0 MB').waitFor();
  await status.locator('[aria-valuenow="25"]').waitFor();
  const trial = { version: '1.1.0', previousVersion: '1.0.0', starts: 1, since };
  await machine.check({ server: { ...running, runningVersion: '1.1.0', trial }, serverState: ServerState.RUNNING });
  await status.getByText('is on trial for').waitFor();
  await checkPage(page, 'a trial');
  const reason = 'it was not ready within 10 min';
  const exit = { version: '1.1.0', reason: 'signal SIGSEGV', lines: ['loading', 'Segmentation fault'], since };
  await machine.check({
    server: {
      ...running,
      why: 'Version 1.1.0 failed its trial.',
      quarantined: [{ version: '1.1.0', sha256: new Uint8Array(32).fill(0xab), reason, since, exit }],
      lastUpdate: { version: '1.1.0', fromVersion: '1.0.0', state: UpdateState.REVERTED, reason, since },
    },
    serverState: ServerState.RUNNING,
  });
  await status.getByText('Version 1.1.0 failed its trial.').waitFor();
  await status.getByText('1.1.0 ended: signal SIGSEGV').waitFor();
  await checkPage(page, 'a version rolled back');
  await page.keyboard.press('Escape');
  await page.getByText('The machine server rolled back 1.1.0').waitFor();
  await page
    .getByRole('region', { name: 'The machine server 1.1.0: last lines' })
    .getByText('Segmentation fault')
    .waitFor();
  await link(page, 'Machines').first().click();
  const row = page.getByRole('row').filter({ hasText: 'reverted' });
  await row.waitFor();
  await checkPage(page, 'a machine in a list with a quarantined version');
  await row.getByRole('link').click();
  await button(page, 'Try again').click();
  await page.getByText('The machine retries the desired version').waitFor();
  await machine.check({ server: running, serverState: ServerState.RUNNING });
  await page.getByText('The machine retries the desired version').waitFor({ state: 'detached' });
  await button(page, 'Try again').waitFor({ state: 'detached' });
}

/** Creates a dataset and uploads images of two objects, all in the browser. */
async function collects({ page, mark }: Session): Promise<void> {
  await link(page, 'Datasets').click();
  await checkPage(page, 'datasets');
  await button(page, 'New dataset').click();
  await page.getByLabel('Name').fill(`two things ${mark}`);
  await button(page, 'Create').click();
  await page.getByText('No images').waitFor();
  for (const label of ['balloon', 'bear'] as const) {
    const composed = composeObjects10({
      seed: Number(mark),
      side: 64,
      trainPerClass: 15,
      testPerClass: 0,
      objects: [label],
    });
    const files = await Array.fromAsync(composed, ({ name, jpeg }) => ({ name, mimeType: 'image/jpeg', buffer: jpeg }));
    await button(page, 'Add images').first().click();
    const notes = { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('no image') };
    await page.getByLabel('Or single images').setInputFiles([...files, notes]);
    await page.getByText('15 images without a label').waitFor();
    await page.getByLabel('Label of all of them').fill(label);
    await page.getByText(`15 × ${label}`).waitFor();
    await page.getByText('1 file, names no image (notes.txt).').waitFor();
    await checkPage(page, 'add images');
    await button(page, 'Upload').click();
    await page.getByText('15 images uploaded.').waitFor();
    await page.getByRole('dialog').getByText('Close', { exact: true }).click();
  }
  await page.getByText('30 images').waitFor();
}

async function trains({ page, ready, mark }: Session): Promise<void> {
  const { org_id: organization, url } = ready;
  // The newest images come first.
  const image = page.getByRole('img', { name: /bear/ }).first();
  await image.waitFor();
  await untilInPage(page, `document.querySelector('img[alt*="bear"]').naturalWidth === 64`);
  await checkPage(page, 'dataset');

  await link(page, 'Train a model').click();
  await page.getByRole('heading', { name: 'Train a model' }).waitFor();
  await page.getByRole('checkbox', { name: /^balloon/ }).uncheck();
  await page.getByLabel('Model name').fill('not a name');
  await button(page, 'Start training').click();
  await page.getByText('Choose at least 2 labels.').waitFor();
  await page.getByText('Use letters, digits').waitFor();
  await checkPage(page, 'submit');
  await page.getByRole('checkbox', { name: /^balloon/ }).check();
  await page.getByLabel('Model name').fill(`things-${mark}`);
  await page.getByLabel('Model version').fill('one');
  await button(page, 'Start training').click();
  await page.getByText('position 1 in the queue').waitFor();

  const runner = await wireRunner(url, ready.runner_key_id, ready.runner_key);
  await runner.train(0.25, [0.5, 0.7]);
  await page.getByText('Running', { exact: true }).waitFor();
  await page.locator('[aria-valuenow="25"]').waitFor();
  await page.getByRole('img', { name: /validation accuracy 70.0 %/ }).waitFor();
  await page.getByText('training began').waitFor();
  await checkPage(page, 'running job');
  const model = { [`things-${mark}.onnx`]: 'weights', 'labels.txt': 'balloon\nbear\n' };
  const labels = ['balloon', 'bear'];
  await runner.complete(model, {
    task: 'single_label_classification',
    labels,
    accuracy: 0.875,
    count: 8,
    confusion: [
      [4, 0],
      [1, 3],
    ],
    evaluated_on: 'test',
  });
  await page.getByText('Completed', { exact: true }).waitFor();
  await page.getByRole('region', { name: 'Evaluation' }).getByText('7 of 8').waitFor();
  await page.getByTitle('1 of 4 images of bear were called balloon').waitFor();
  await page.getByText(`"package": "${organization}/things-${mark}"`).waitFor();
  await checkPage(page, 'finished job');
  const address = await link(page, 'Download package').getAttribute('href');
  const archive = await page.request.get(address ?? '');
  assert.deepEqual([archive.status(), archive.headers()['content-type']], [200, 'application/x-gzip']);

  await link(page, 'Training').first().click();
  await page
    .getByRole('row', { name: `things-${mark}` })
    .getByText('7 of 8')
    .waitFor();
  await checkPage(page, 'training');
  await link(page, 'Models').click();
  await page
    .getByRole('region', { name: `things-${mark}` })
    .getByText('latest')
    .waitFor();
  await checkPage(page, 'models');
}

async function makesKey({ page, ready, mark }: Session): Promise<void> {
  await link(page, 'Settings').click();
  await link(page, 'API keys').click();
  await page.getByRole('region', { name: 'API keys' }).locator('tbody').first().waitFor();
  await button(page, 'Create key').click();
  await page.getByLabel('Name').fill(`key ${mark}`);
  await button(page, 'Create').click();
  const shown = await page.getByRole('region', { name: 'key' }).innerText();
  const [, authEntity = ''] = /PLATFORM_API_KEY_ID=(\S+)/.exec(shown) ?? [];
  const [, payload = ''] = /PLATFORM_API_KEY=(\S+)/.exec(shown) ?? [];
  const holder = createPlatformClient({ baseUrl: ready.url, credentials: { type: 'api-key', authEntity, payload } });
  assert.equal((await holder.sessionClient.whoAmI({})).name, `key ${mark}`);
  await button(page, 'I have copied it').click();
  await checkPage(page, 'API keys');
  await link(page, 'Organization').click();
  await page.getByRole('region', { name: 'Usage' }).getByText(', no limit').waitFor();
  await checkPage(page, 'settings');
  await link(page, 'Server').click();
  const server = page.getByRole('region', { name: 'Server' });
  await server.getByText(/[GT]B of .* [GT]B free/).waitFor();
  await server.getByText(/There is no backup: .*--backup-dir/).waitFor();
  await checkPage(page, 'server');
  await link(page, 'API keys').click();
  await button(page, `Delete key ${mark}`).click();
  await button(page, 'Delete key').click();
  // While the dialog is open, no row has a role.
  await page.getByRole('alertdialog').waitFor({ state: 'detached' });
  await page.getByRole('row', { name: `key ${mark}` }).waitFor({ state: 'detached' });
  await assert.rejects(() => holder.sessionClient.whoAmI({}));
}

test('an operator signs in and runs machines and training in the browser', async (t) => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  await atEachWidth({ client, t }, async ({ width, context }) => {
    const session: Session = { page: await context.newPage(), ready, client, mark: String(width) };
    await signsIn(session);
    const machine = await createsMachine(session);
    await using _online = stayOnline(machine);
    await checkPage(session.page, 'configure');
    await edits(session, machine);
    await reads(session, machine);
    await restarts(session, machine);
    await givesUp(session, machine);
    await collects(session);
    await trains(session);
    await makesKey(session);
    await session.page.goto(`${ready.url}/nowhere`);
    await session.page.getByText('Page not found').waitFor();
    await button(session.page, 'Sign out').first().click();
    await session.page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });
});

/** Starts the real agent of a machine, with its own folder. */
async function startAgent(credentials: string) {
  const folder = await dataFolder();
  const file = path.join(folder.path, 'machine.json');
  await atomicWrite(file, credentials, { mode: 0o600 });
  const program = path.join(checkout, 'apps', 'agent', 'src', 'main.ts');
  const group = await spawnGroup({
    command: process.execPath,
    args: [
      '--disable-warning=ExperimentalWarning',
      program,
      '--config',
      file,
      '--root',
      path.join(folder.path, 'root'),
    ],
    env: plainEnvironment(),
    cwd: folder.path,
  });
  group.stdout?.resume();
  group.stderr?.resume();
  return {
    async [Symbol.asyncDispose]() {
      await group.stop({ termMs: 20_000 });
      await folder[Symbol.asyncDispose]();
    },
  };
}

test('a real agent comes online, takes over what is saved, and its log lines come back', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await followSignInLink(page, ready.sign_in_url);
    await using _agent = await startAgent(await addedMachine(page, clientOf(ready), 'rover'));
    await link(page, 'Open CONFIGURE').click();
    await button(page, /Online/).waitFor();
    await writeConfig(page, { agent: { advanced_settings: { debug: true } } });
    await button(page, /^Review and save/).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText(/Saved as revision 1 · in effect on the machine/).waitFor();
    await link(page, 'LOGS').click();
    await page.getByRole('region', { name: 'Log lines' }).getByText('configuration received revision=1').waitFor();
    await button(page, /Part status/).click();
    const status = page.getByRole('dialog', { name: 'Part status' });
    await status.getByText(/revision 1 in effect/i).waitFor();
    await status.getByRole('region', { name: 'Agent' }).getByText('0.1.0').first().waitFor();
  } finally {
    await browser.close();
  }
});

interface Chunk {
  file: string;
  imports?: string[];
  css?: string[];
}

/** Compressed bytes of these parts of the app, with all that they import. */
function bytesOf(...entries: string[]): number {
  const dist = path.join(checkout, 'apps', 'web', 'dist');
  const chunks = JSON.parse(readFileSync(path.join(dist, '.vite', 'manifest.json'), 'utf8')) as Record<string, Chunk>;
  const files = new Set<string>();
  const visit = (name: string): void => {
    const chunk = chunks[name];
    if (chunk === undefined || files.has(chunk.file)) return;
    files.add(chunk.file);
    for (const style of chunk.css ?? []) files.add(style);
    for (const next of chunk.imports ?? []) visit(next);
  };
  for (const entry of entries) {
    assert.ok(chunks[entry], entry);
    visit(entry);
  }
  const sizes = [...files].map((file) => gzipSync(readFileSync(path.join(dist, file)), { level: 9 }).length);
  return sizes.reduce((sum, size) => sum + size, 0);
}

const kib = 1024;
const firstParts = ['index.html', 'src/app/app.tsx'];
const configureParts = [
  ...firstParts,
  'src/features/machines/page/machine-page.tsx',
  'src/features/configure/configure-tab.tsx',
];
const overviewParts = [
  ...firstParts,
  'src/features/machines/page/machine-page.tsx',
  'src/features/machines/page/overview-tab.tsx',
];
const chartParts = ['src/features/machines/page/sample-plot.tsx'];
const jsonParts = ['src/features/configure/editor/config-editor.tsx', 'src/features/configure/editor/config-diff.tsx'];

test('parts of the app have at most these compressed bytes', () => {
  const [first, form] = [bytesOf(...firstParts), bytesOf(...configureParts)];
  assert.ok(first <= 130 * kib, `the first page: ${first}`);
  assert.ok(form <= 200 * kib, `CONFIGURE with its form: ${form}`);
  const overview = bytesOf(...overviewParts, ...chartParts);
  assert.ok(overview <= 200 * kib, `OVERVIEW with its charts: ${overview}`);
  const json = bytesOf(...configureParts, ...jsonParts) - form;
  assert.ok(
    json > 50_000 && json <= 120 * kib,
    `the JSON of CONFIGURE and its differences, fetched when they are first shown: ${json}`,
  );
});
