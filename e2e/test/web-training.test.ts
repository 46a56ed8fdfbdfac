// Datasets, training of every kind and the registry in a real browser against the real server, on a wide and on a narrow screen.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { createPlatformClient, ModelType } from '@platform/client';
import type { PlatformClient } from '@platform/client';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { composeObjects10 } from '@platform/objects-10';
import type { Page } from 'playwright-core';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import type { CloudReady } from '../src/cloud-process.ts';
import { checkPage, untilInPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';
import { wireRunner } from '../src/wire-callers.ts';

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

const jpegs = async (label: 'balloon' | 'bear' | 'corn', count: number) => {
  const composed = composeObjects10({ seed: 3, side: 96, trainPerClass: count, testPerClass: 0, objects: [label] });
  return Array.fromAsync(composed, ({ name, jpeg }) => ({ name, jpeg }));
};

/** Drops files as the browser passes them to the page. */
async function drops(page: Page, files: readonly { name: string; jpeg: Uint8Array }[]): Promise<void> {
  const plain = files.map(({ name, jpeg }) => ({ name, base64: Buffer.from(jpeg).toString('base64') }));
  await page.evaluate((dropped) => {
    const { document, DataTransfer, DragEvent, File, Uint8Array: Bytes, atob } = globalThis as unknown as BrowserWorld;
    const transfer = new DataTransfer();
    for (const { name, base64 } of dropped)
      transfer.items.add(new File([Bytes.from(atob(base64), (c) => c.charCodeAt(0))], name, { type: 'image/jpeg' }));
    const target = document.querySelector('.page');
    for (const kind of ['dragover', 'drop'])
      target?.dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }, plain);
}
interface BrowserWorld {
  document: { querySelector(what: string): { dispatchEvent(event: object): void } | null };
  DataTransfer: new () => { items: { add(file: object): void } };
  DragEvent: new (kind: string, of: object) => object;
  File: new (parts: object[], name: string, of: object) => object;
  Uint8Array: typeof Uint8Array;
  atob(text: string): string;
}

async function collects({ page, client, ready, mark }: Session): Promise<string> {
  const id = await client.datasetClient.createDataset(`draft ${mark}`, ready.org_id);
  await page.goto(`${ready.url}/datasets/${id}`);
  await button(page, 'Rename').click();
  await page.getByLabel('Name', { exact: true }).fill(`things ${mark}`);
  await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click();
  await page.getByRole('heading', { name: `things ${mark}` }).waitFor();

  await drops(page, await jpegs('balloon', 12));
  await page.getByText('12 images without a label').waitFor();
  await page.getByLabel('Label of all of them').fill('balloon');
  await button(page, 'Upload').click();
  await page.getByText('12 images uploaded.').waitFor();
  await page.getByRole('dialog').getByText('Close', { exact: true }).click();
  await page.getByText('The images have 1 label; a model needs at least 2.').waitFor();

  await drops(page, await jpegs('bear', 10));
  await button(page, 'Upload').click();
  await page.getByText('10 images uploaded.').waitFor();
  await page.getByRole('dialog').getByText('Close', { exact: true }).click();
  await page.getByText(/10 without a label/).waitFor();

  // The newest images are the ten without a label.
  // Only rows near the window are in the document; checking one scrolls to it.
  const unchecked = page.getByRole('checkbox', { name: /^Select .*bear/, checked: false });
  for (let at = 0; at < 10; at++) await unchecked.first().check();
  const bar = page.getByRole('region', { name: 'Selected images' });
  await bar.getByText('10 images selected').waitFor();
  await bar.getByLabel('Label', { exact: true }).fill('bear');
  await checkPage(page, 'selected images');
  await bar.getByRole('button', { name: 'Add label' }).click();
  await page.getByRole('row', { name: 'bear' }).getByText('10', { exact: true }).waitFor();
  assert.equal((await client.dataClient.countBinaryData({ datasetId: id, tagsFilter: { tags: ['bear'] } })).count, 10);
  await bar.getByRole('button', { name: 'Select none' }).click();
  await page
    .getByRole('checkbox', { name: /^Select .*balloon/ })
    .first()
    .check();
  await bar.getByRole('button', { name: 'Take out of the dataset' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Take out' }).click();
  await page.getByText('21 images', { exact: true }).waitFor();
  await checkPage(page, 'dataset with counts');
  return id;
}

/** Boxes with the mouse and with the keyboard alone, undo, and the boxes that the server stores. */
async function frames({ page, client }: Session, datasetId: string): Promise<void> {
  await page.locator('.image a').first().click();
  const boxes = page.locator('.box-canvas .box');
  const canvas = page.locator('.box-canvas');
  await page.locator('.box-canvas img').waitFor();
  await untilInPage(page, `document.querySelector('.box-canvas img').naturalWidth > 0`);
  const id = new URL(page.url()).searchParams.get('id') ?? '';
  const kept = async () => {
    const [data] = await client.dataClient.binaryDataByIds([id], false);
    return (data?.metadata?.annotations?.bboxes ?? []).map((box) => [
      box.label,
      ...[box.xMinNormalized, box.yMinNormalized, box.xMaxNormalized, box.yMaxNormalized].map((one) =>
        Number(one.toFixed(2)),
      ),
    ]);
  };
  assert.equal(await button(page, 'Add a box in the middle').isDisabled(), true, 'a box needs a label');
  await page.getByLabel('Label of the next box').fill('lid');

  const place = await canvas.boundingBox();
  assert.ok(place);
  const at = (x: number, y: number) => [place.x + x * place.width, place.y + y * place.height] as const;
  await page.mouse.move(...at(0.2, 0.2));
  await page.mouse.down();
  await page.mouse.move(...at(0.4, 0.5), { steps: 4 });
  await page.mouse.up();
  await boxes.first().waitFor();
  await page.getByRole('status', { name: 'State of the boxes' }).getByText('Saved', { exact: true }).waitFor();
  const [drawn] = await kept();
  assert.equal(drawn?.[0], 'lid');
  for (const [index, wanted] of [0.2, 0.2, 0.4, 0.5].entries())
    assert.ok(Math.abs(Number(drawn?.[index + 1]) - wanted) <= 0.02, `edge ${index}: ${drawn?.[index + 1]}`);
  await checkPage(page, 'image with a box');

  await button(page, 'Add a box in the middle').click();
  await boxes.nth(1).waitFor();
  await boxes.nth(1).focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Shift+ArrowDown');
  await until(
    async () => (await kept())[1]?.join() === 'lid,0.36,0.35,0.66,0.66',
    async () => JSON.stringify(await kept()),
  );
  await page.keyboard.press('Control+z');
  await until(
    async () => (await kept())[1]?.join() === 'lid,0.36,0.35,0.66,0.65',
    async () => JSON.stringify(await kept()),
  );
  await boxes.nth(1).focus();
  await page.keyboard.press('Delete');
  await boxes.nth(1).waitFor({ state: 'detached' });
  await button(page, 'Undo').click();
  await boxes.nth(1).waitFor();
  const keeps = (count: number) =>
    until(
      async () => (await kept()).length === count,
      async () => `${(await kept()).length} boxes are kept, not ${count}`,
    );
  await keeps(2);
  await button(page, /^Remove box 1/).click();
  await keeps(1);

  const labels = page.getByRole('region', { name: 'Labels' });
  await labels.getByLabel('Another label').fill('dusty');
  await labels.getByRole('button', { name: 'Add label' }).click();
  await labels.getByRole('button', { name: 'Remove the label dusty' }).waitFor();
  await labels.getByRole('button', { name: 'Remove the label dusty' }).click();
  await labels.getByRole('button', { name: 'Remove the label dusty' }).waitFor({ state: 'detached' });
  await link(page, 'Next').click();
  await boxes.first().waitFor({ state: 'detached' });
  await page.goto(`${new URL(page.url()).origin}/datasets/${datasetId}`);
}

const limitMs = 60_000;
/** Polls until the condition holds: changes that the page shows may still be in flight. */
async function until(isSo: () => Promise<boolean>, what: () => Promise<string>): Promise<void> {
  for (const end = systemClock.now() + limitMs; systemClock.now() < end; await systemClock.sleep(50))
    if (await isSo()) return;
  assert.fail(await what());
}

const head = {
  evaluated_on: 'test',
  count: 4,
  chosen: 'probe',
  labels: ['balloon', 'bear'],
  device: { name: 'cpu', reason: 'There is no GPU.' },
};

async function trainsTagger(session: Session, datasetId: string): Promise<void> {
  const { page, ready, mark } = session;
  await page.goto(`${ready.url}/training/new?dataset=${datasetId}`);
  await page.getByLabel('Type').selectOption({ label: 'Object detection' });
  await page.getByText(/Few images have one of: lid \(1\)/).waitFor();
  await page.getByLabel('Type').selectOption({ label: 'Multi-label classification' });
  await page.getByRole('checkbox', { name: 'balloon 11' }).waitFor();
  await page.getByRole('checkbox', { name: 'bear 10' }).waitFor();
  await page.getByText('Limits').click();
  await page.getByLabel('GPUs').fill('many');
  await page.getByText('Limits are whole numbers').waitFor();
  await page.getByLabel('GPUs').fill('');
  await page.getByLabel('Model name').fill(`tagger-${mark}`);
  await page.getByLabel('Model version').fill('1');
  await checkPage(page, 'submit with limits');
  await button(page, 'Start training').click();
  await page.getByText('position 1 in the queue').waitFor();

  const runner = await wireRunner(ready.url, ready.runner_key_id, ready.runner_key, {
    kinds: ['multi_label_classification'],
  });
  await runner.train(0.5, [0.5]);
  await page.getByText('training began').waitFor();
  await runner.complete(
    { [`tagger-${mark}.onnx`]: `weights ${mark}` },
    {
      ...head,
      task: 'multi_label_classification',
      micro_f1: 0.91,
      macro_f1: 0.9,
      exact_match: 0.75,
      mean_average_precision: 0.95,
      per_class: [
        { label: 'bear', precision: 1, recall: 0.8, f1: 0.89, support: 5, average_precision: 0.9, threshold: 0.42 },
      ],
    },
  );
  const report = page.getByRole('region', { name: 'Evaluation' });
  await report.getByText('91.0 %').waitFor();
  await report.getByRole('row', { name: 'bear' }).getByText('0.42').waitFor();
  await checkPage(page, 'evaluation of several labels');
  await page.getByRole('heading', { name: 'Log' }).waitFor();
}

async function readsDetector({ page, ready, client, mark }: Session): Promise<void> {
  const { org_id: organization, url } = ready;
  const datasetId = await client.datasetClient.createDataset(`boxes ${mark}`, organization);
  const images = await jpegs('corn', 16);
  const ids = await client.dataClient.uploadImages(
    images.map(({ name, jpeg }) => ({
      bytes: jpeg,
      fileName: name,
      fileExtension: 'jpg',
      boxes: [{ label: 'corn', xMin: 0.1, yMin: 0.1, xMax: 0.9, yMax: 0.9 }],
    })),
    { partId: '', datasetIds: [datasetId] },
  );
  const id = await client.mlTrainingClient.submitTrainingJob(
    organization,
    datasetId,
    `finder-${mark}`,
    '1',
    ModelType.OBJECT_DETECTION,
    ['corn'],
  );
  const runner = await wireRunner(url, ready.runner_key_id, ready.runner_key, {
    kinds: ['object_detection'],
    host: 'press-2',
    noScriptsBecause: 'bubblewrap is missing.',
  });
  const box = {
    label: 'corn',
    x_min_normalized: 0.1,
    y_min_normalized: 0.1,
    x_max_normalized: 0.6,
    y_max_normalized: 0.6,
  };
  const image = { image_path: 'x', file_name: 'corn.jpg', sha256: '1', binary_data_id: ids[0] };
  await runner.complete(
    { [`finder-${mark}.onnx`]: `boxes ${mark}` },
    {
      ...head,
      task: 'object_detection',
      labels: ['corn'],
      map50: 0.714,
      map75: 0.5,
      map: 0.4,
      per_class: [
        { label: 'corn', precision: 1, recall: 0.8, f1: 0.89, support: 5, ap50: 0.71, ap75: 0.5, threshold: 0.3 },
      ],
      worst: [{ ...image, missed: [box], wrong: [{ ...box, score: 0.66 }] }],
    },
  );
  await page.goto(`${url}/training/${id}`);
  const report = page.getByRole('region', { name: 'Evaluation' });
  await report.getByText('71.4 %').waitFor();
  await report.getByText('corn (66 %)').waitFor();
  assert.equal(await report.locator('svg rect').count(), 2, 'what was missed and what was wrong are drawn');
  await checkPage(page, 'evaluation of a detector');

  await link(page, 'Models').click();
  const card = page.getByRole('region', { name: `finder-${mark}` });
  await card.getByText('mAP50 71.4 %').waitFor();
  assert.equal(await card.getByRole('link', { name: 'dataset' }).getAttribute('href'), `/datasets/${datasetId}`);
  await card.getByRole('button', { name: /^Edit/ }).click();
  await page.getByLabel('Visible to').selectOption({ index: 1 });
  await page.getByText('Whatever others can see needs a description.').waitFor();
  await page.getByLabel('Description').fill('Finds corn.');
  await checkPage(page, 'edit of a model');
  await button(page, 'Save').click();
  await card.getByText('public', { exact: true }).waitFor();
  await checkPage(page, 'registry');
}

/** Lists queued jobs by status; cancels and deletes them after a confirmation. */
async function managesJobs({ page, ready, mark }: Session, datasetId: string): Promise<void> {
  await page.goto(`${ready.url}/training/new?dataset=${datasetId}`);
  await page.getByRole('checkbox', { name: 'bear 10' }).waitFor();
  await page.getByLabel('Model name').fill(`stuck-${mark}`);
  await page.getByText('Limits').click();
  await page.getByLabel('GPUs').fill('16');
  await button(page, 'Start training').click();
  await page
    .getByText(/No runner /)
    .first()
    .waitFor();
  await checkPage(page, 'job that waits');
  await link(page, 'Training').first().click();
  await link(page, 'Completed').click();
  await page
    .getByRole('row', { name: `tagger-${mark}` })
    .getByText('91.0 %')
    .waitFor();
  assert.equal(await page.getByRole('row', { name: `stuck-${mark}` }).count(), 0);
  await link(page, 'Queued').click();
  await page.getByRole('link', { name: `stuck-${mark}` }).waitFor();
  await checkPage(page, 'queued jobs');
  await page.getByRole('link', { name: `stuck-${mark}` }).click();
  await button(page, 'Cancel job').click();
  await button(page, 'Cancel the job').click();
  await page.getByText('Canceled', { exact: true }).waitFor();
  await button(page, 'Delete job').click();
  await button(page, 'Delete the job').click();
  await page.getByRole('heading', { name: 'Training', exact: true }).waitFor();
  await page.getByRole('link', { name: `stuck-${mark}` }).waitFor({ state: 'detached' });
}

async function seesRunners({ page, client, ready, mark }: Session): Promise<void> {
  await link(page, 'Runners').click();
  await page.getByRole('row', { name: 'press-2' }).getByText('detection').waitFor();
  await page.getByText('runs no training scripts: bubblewrap is missing.').first().waitFor();
  await button(page, 'Add a runner').click();
  await page.getByLabel('Name of the key').fill(`gpu box ${mark}`);
  await button(page, 'Create key').click();
  const command = await page.getByRole('region', { name: 'command that joins the runner' }).innerText();
  await checkPage(page, 'join command');
  const [, authEntity = '', payload = ''] = /PLATFORM_RUNNER_TOKEN=([^:]+):(\S+) npm run runner/.exec(command) ?? [];
  const runner = createPlatformClient({ baseUrl: ready.url, credentials: { type: 'api-key', authEntity, payload } });
  await assert.rejects(() => runner.mlTrainingClient.listTrainingJobs(ready.org_id), /PERMISSION|NOT_OWNER/);
  await button(page, 'I have copied it').click();
  await checkPage(page, 'runners');

  const { apiKeys } = await client.appClient.listKeys({ orgId: ready.org_id });
  assert.ok(apiKeys.some((one) => one.apiKey?.name === `gpu box ${mark}`));
}

/** Submits a script of the registry with arguments, and checks its job and its model. */
async function runsScript({ page, client, ready, mark }: Session, datasetId: string): Promise<void> {
  const { url, org_id: organization } = ready;
  const before = await client.trainingScriptClient.listTrainingScripts(organization);
  if (before.length === 0) {
    await page.goto(`${url}/training/new?script=`);
    await page.getByText('There is no training script yet').waitFor();
    await checkPage(page, 'no script to train with');
    await page.goto(`${url}/scripts`);
    await page.getByText('No training scripts yet').waitFor();
    await checkPage(page, 'no script');
  }
  const name = `counter-${mark}`;
  for (const version of ['one', 'two'])
    await client.trainingScriptClient.uploadTrainingScript(organization, name, await scriptArchive(), { version });
  const containers = [
    { key: 'py:3.11', uri: 'host:/usr/bin/python3', framework: 'python', description: 'Python 3.11' },
  ];
  const offer = { kinds: ['custom'], host: 'press-3', containers };
  const runner = await wireRunner(url, ready.runner_key_id, ready.runner_key, offer);
  const leased = runner.train(0.5, []);

  await page.goto(`${url}/scripts`);
  const card = page.getByRole('region', { name });
  await card.getByText('latest').waitFor();
  const address = await card.getByRole('link', { name: /Download version one/ }).getAttribute('href');
  assert.equal((await page.request.get(`${url}${address ?? ''}`)).status(), 200);
  await checkPage(page, 'scripts');
  await until(
    async () => (await client.mlTrainingClient.listSupportedContainers()).length > 0,
    async () => 'no runner offers a container',
  );
  await card.getByRole('link', { name: 'Train with it' }).click();
  await page.getByLabel('Dataset').selectOption(datasetId);
  await page.getByLabel('Version of the script').selectOption('one');
  await page.getByLabel('Environment').selectOption('py:3.11');
  await page.getByLabel('Arguments').fill('epochs');
  await page.getByText('“epochs” is not of the form key=value').waitFor();
  await page.getByLabel('Arguments').fill('epochs=2\nword=a b');
  await page.getByLabel('Model name').fill(`counted-${mark}`);
  await page.getByLabel('Model version').fill('1');
  await checkPage(page, 'submit of a script');
  await button(page, 'Start training').click();
  await leased;
  await page.getByText('Running', { exact: true }).waitFor();
  await page.getByText('Details').click();
  await page.getByText('epochs=2 word=a b').waitFor();
  await checkPage(page, 'job of a script');
  await runner.complete({ 'model.txt': `counted ${mark}` }, {});
  await page.getByText('Completed', { exact: true }).waitFor();
  await link(page, 'Models').click();
  await page
    .getByRole('region', { name: `counted-${mark}` })
    .getByText(new RegExp(`script .*:${name} one`))
    .waitFor();
}

/** Creates the smallest project that the registry accepts, packed with tar. */
async function scriptArchive(): Promise<Uint8Array<ArrayBuffer>> {
  await using folder = await tempFolder();
  await mkdir(folder.file('model'));
  await writeFile(folder.file('setup.py'), 'from setuptools import setup\nsetup(name="model")\n');
  await writeFile(folder.file('model', 'training.py'), 'print("counted")\n');
  const { status, stdout } = spawnSync('tar', ['-cz', '-C', folder.path, 'setup.py', 'model']);
  assert.equal(status, 0);
  return new Uint8Array(stdout);
}

test('datasets are labelled, models of every kind trained and looked at in the browser', async (t) => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  await atEachWidth({ client, t }, async ({ width, signIn }) => {
    const session: Session = { page: await signIn(), ready, client, mark: String(width) };
    const datasetId = await collects(session);
    await frames(session, datasetId);
    await trainsTagger(session, datasetId);
    await readsDetector(session);
    await managesJobs(session, datasetId);
    await seesRunners(session);
    await runsScript(session, datasetId);
  });
});
