// Suggestions of a model on the labelling screen in a real browser: a key log that is replayed to a truth file, boxes, and
// the review of labels. What the model says is given here; e2e/test/cli-suggestions.test.ts has a real one.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { ModelType, type PlatformClient } from '@platform/client';
import { smallPng } from '@platform/kit/testing';
import type { PredictionLine } from '@platform/contract/job/predictions';
import { type CloudReady, clientOf, startCloud } from '../src/cloud-process.ts';
import { drawnPng } from '../src/drawn-images.ts';
import { checkPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';
import { wireRunner } from '../src/wire-callers.ts';

const logs = path.resolve(import.meta.dirname, '..', 'key-logs');
const mostKeys = 60;

async function rowsOf(file: string): Promise<string[][]> {
  const [, ...rows] = (await readFile(path.join(logs, file), 'utf8')).trim().split('\n');
  return rows.map((row) => row.split(','));
}

/** An image of its number's colours, each another file. */
const imageOf = (number: number, seed: number): Buffer =>
  drawnPng({ width: 48, height: 32 }, (x) => [(number * 53) % 200, (x * 5) % 200, (seed * 31 + number) % 200]);

async function createDataset(client: PlatformClient, orgId: string, names: readonly string[]): Promise<string> {
  const seed = (await client.datasetClient.listDatasetsByOrganizationId(orgId)).length + 1;
  const id = await client.datasetClient.createDataset(`suggested ${seed}`, orgId);
  // The newest image comes first.
  const uploads = names.map((fileName, at) => ({
    bytes: imageOf(at, seed),
    fileName,
    fileExtension: 'png',
    takenAt: Date.UTC(2026, 0, 1) - at * 1_000,
  }));
  await client.dataClient.uploadImages(uploads, { partId: '', datasetIds: [id] });
  return id;
}

/** A version of a model that a job delivered. */
async function createModel(client: PlatformClient, ready: CloudReady, kind: 'single' | 'boxes'): Promise<string> {
  const datasetId = await client.datasetClient.createDataset(`trained ${kind}`, ready.org_id);
  const box = { label: 'cup', xMin: 0.1, yMin: 0.1, xMax: 0.9, yMax: 0.9 };
  const images = Array.from({ length: 20 }, (_, n) => ({
    bytes: smallPng(`${kind} ${n}`),
    fileName: `${n}.png`,
    fileExtension: 'png',
    ...(kind === 'boxes' ? { boxes: [box] } : { tags: [n % 2 === 0 ? 'cup' : 'mug'] }),
  }));
  await client.dataClient.uploadImages(images, { partId: '', datasetIds: [datasetId] });
  const [type, labels, job] =
    kind === 'boxes'
      ? ([ModelType.OBJECT_DETECTION, ['cup'], 'object_detection'] as const)
      : ([ModelType.SINGLE_LABEL_CLASSIFICATION, ['cup', 'mug'], 'single_label_classification'] as const);
  await client.mlTrainingClient.submitTrainingJob(ready.org_id, datasetId, kind, '1', type, [...labels]);
  const runner = await wireRunner(client.url, ready.runner_key_id, ready.runner_key, { kinds: [job] });
  await runner.complete({ [`${kind}.onnx`]: 'weights', 'labels.txt': labels.join('\n') }, {});
  return kind;
}

type Prediction = Omit<PredictionLine, 'binary_data_id'>;

/** A prediction job as a runner completes it. */
async function predict(
  client: PlatformClient,
  ready: CloudReady,
  {
    datasetId,
    modelName,
    predictionOf,
  }: { datasetId: string; modelName: string; predictionOf: (name: string) => Prediction },
): Promise<void> {
  const stored = await Array.fromAsync(client.dataClient.allBinaryData({ datasetId }));
  const { org_id: organizationId } = ready;
  await client.suggestionClient.startPrediction({ organizationId, datasetId, modelName, modelVersion: '1' });
  const runner = await wireRunner(client.url, ready.runner_key_id, ready.runner_key, { kinds: ['predict'] });
  const lines = stored.map(({ metadata }) => {
    const line: PredictionLine = {
      binary_data_id: metadata?.binaryDataId ?? '',
      ...predictionOf(metadata?.fileName ?? ''),
    };
    return JSON.stringify(line);
  });
  await runner.complete({ 'predictions.jsonl': lines.join('\n') }, {});
}

async function storedLabels(client: PlatformClient, datasetId: string): Promise<Map<string, string>> {
  const stored = await Array.fromAsync(client.dataClient.allBinaryData({ datasetId }));
  return new Map(
    stored.map(({ metadata }) => [metadata?.fileName ?? '', (metadata?.labels ?? []).toSorted().join(' ')]),
  );
}

test(`a key log of at most ${mostKeys} keys labels 100 images with suggestions as its truth file says`, async (t) => {
  const keys = (await readFile(path.join(logs, 'suggestions.keys'), 'utf8')).trim().split(/\s+/);
  const truth = new Map((await rowsOf('suggestions.truth.csv')).map((row) => row as [string, string]));
  const given = new Map((await rowsOf('suggestions.suggestions.csv')).map(([file = '', ...rest]) => [file, rest]));
  assert.equal(truth.size, 100);
  assert.deepEqual(truth, new Map((await rowsOf('one-label.truth.csv')).map((row) => row as [string, string])));
  t.diagnostic(`${keys.length} keys for 100 images with suggestions`);
  assert.ok(keys.length <= mostKeys, `${keys.length} keys`);
  await using cloud = await startCloud();
  const client = clientOf(cloud.ready);
  const datasetId = await createDataset(client, cloud.ready.org_id, [...truth.keys()]);
  const modelName = await createModel(client, cloud.ready, 'single');
  await predict(client, cloud.ready, {
    datasetId,
    modelName,
    predictionOf: (name) => {
      const [label = '', score = ''] = given.get(name) ?? [];
      return { suggestions: [{ label, score: Number(score) }], scores: { [label]: Number(score) } };
    },
  });
  assert.deepEqual(new Set((await storedLabels(client, datasetId)).values()), new Set(['']), 'nothing is a label yet');
  await atEachWidth({ client, widths: [1280] }, async ({ signIn }) => {
    const page = await signIn();
    await page.goto(`${cloud.ready.url}/datasets/${datasetId}/label`);
    const progress = page.getByRole('status', { name: 'Progress' });
    const saving = page.getByRole('status', { name: 'Saving' });
    await progress.getByText('0 of 100').waitFor();
    const [first, ...others] = keys;
    const calls: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/AddTagsToBinaryDataByIDs')) calls.push(request.url());
    });
    await page.keyboard.press(first ?? '');
    await progress.getByText('72 of 100').waitFor();
    await saving.getByText('Saved', { exact: true }).waitFor();
    assert.ok(calls.length <= 4, `${calls.length} calls save 72 labels`);
    await page.keyboard.press('z');
    await progress.getByText('0 of 100').waitFor();
    await page.keyboard.press('Shift+Z');
    await page.keyboard.press(' ');
    for (const key of others) await page.keyboard.press(key);
    await progress.getByText('100 of 100').waitFor();
    await saving.getByText('Saved', { exact: true }).waitFor({ timeout: 120_000 });
  });
  assert.deepEqual(await storedLabels(client, datasetId), truth);
});

test('suggested boxes are drawn apart from boxes, accepted and rejected by keys, and kept so over a reload', async () => {
  await using cloud = await startCloud();
  const client = clientOf(cloud.ready);
  const modelName = await createModel(client, cloud.ready, 'boxes');
  await atEachWidth({ client }, async ({ signIn }) => {
    const datasetId = await createDataset(client, cloud.ready.org_id, ['a.png', 'b.png']);
    const predictionOf = (name: string): Prediction => ({
      suggestions:
        name === 'a.png'
          ? [
              { label: 'cup', score: 0.8, box: [0.1, 0.1, 0.4, 0.5] },
              { label: 'cup', score: 0.6, box: [0.5, 0.5, 0.9, 0.9] },
            ]
          : [],
      scores: { cup: 0.8 },
    });
    await predict(client, cloud.ready, { datasetId, modelName, predictionOf });
    const page = await signIn();
    const url = `${cloud.ready.url}/datasets/${datasetId}/label?mode=boxes`;
    await page.goto(url);
    const suggested = page.locator('.box-suggested');
    await suggested.getByText('cup 80 %').waitFor();
    assert.equal(await suggested.count(), 2);
    const border = await page.evaluate("getComputedStyle(document.querySelector('.box-suggested')).borderTopStyle");
    assert.equal(border, 'dashed');
    await checkPage(page, 'labelling with suggestions');
    const saving = page.getByRole('status', { name: 'Saving' });
    await page.keyboard.press('y');
    await page.getByRole('button', { name: /^Box 1: cup/ }).waitFor();
    await page.keyboard.press('n');
    await suggested.first().waitFor({ state: 'detached' });
    await saving.getByText('Saved', { exact: true }).waitFor();
    await page.goto(url);
    await page.getByRole('status', { name: 'Progress' }).getByText('1 of 2').waitFor();
    await page.keyboard.press('Home');
    await page.getByRole('button', { name: /^Box 1: cup/ }).waitFor();
    assert.equal(await suggested.count(), 0);
    const stored = await Array.fromAsync(client.dataClient.allBinaryData({ datasetId }));
    const [box] = stored[0]?.metadata?.annotations?.bboxes ?? [];
    const { images } = await client.suggestionClient.listSuggestions({
      datasetId,
      binaryDataIds: [stored[0]?.metadata?.binaryDataId ?? ''],
    });
    assert.deepEqual(
      images[0]?.suggestions.map(({ id, rejected }) => [id === box?.id, rejected]),
      [
        [true, false],
        [false, true],
      ],
    );
  });
});

test('the review lists doubtful labels and near copies, and starts predictions', async () => {
  await using cloud = await startCloud();
  const client = clientOf(cloud.ready);
  const modelName = await createModel(client, cloud.ready, 'single');
  await atEachWidth({ client }, async ({ signIn }) => {
    const names = ['0.png', '1.png', '2.png', '3.png'];
    const datasetId = await createDataset(client, cloud.ready.org_id, names);
    const stored = await Array.fromAsync(client.dataClient.allBinaryData({ datasetId }));
    for (const { metadata } of stored)
      await client.dataClient.addTagsToBinaryDataByIds(
        [metadata?.fileName === '1.png' ? 'mug' : 'cup'],
        [metadata?.binaryDataId ?? ''],
      );
    const predictionOf = (name: string): Prediction => ({
      suggestions: [{ label: 'cup', score: 0.97 }],
      scores: { cup: 0.97, mug: 0.02 },
      ...(name < '2' ? { copy_group: 0 } : {}),
    });
    await predict(client, cloud.ready, { datasetId, modelName, predictionOf });
    const page = await signIn();
    await page.goto(`${cloud.ready.url}/datasets/${datasetId}`);
    await page.getByRole('link', { name: 'Suggestions' }).click();
    await page.getByRole('heading', { name: '1 doubtful label' }).waitFor();
    await page.getByRole('row', { name: /1\.png.*mug.*cup, 97 %/ }).waitFor();
    await page.getByRole('heading', { name: '1 group of near copies' }).waitFor();
    await page.getByText('different labels').waitFor();
    await checkPage(page, 'review');
    await page.getByRole('row').getByRole('link', { name: '1.png' }).click();
    await page.getByRole('status', { name: 'Image', exact: true }).getByText('mug').waitFor();
    await page.keyboard.press('1');
    await page.getByRole('status', { name: 'Saving' }).getByText('Saved', { exact: true }).waitFor();
    await page.goto(`${cloud.ready.url}/datasets/${datasetId}/review`);
    await page.getByRole('heading', { name: '0 doubtful labels' }).waitFor();

    await page.getByRole('button', { name: 'Make suggestions' }).click();
    await page.waitForURL(/\/training\//);
    await page.getByText('Suggestions', { exact: true }).first().waitFor();
    await checkPage(page, 'job of suggestions');
    await page.getByRole('button', { name: 'Cancel job' }).click();
    await page.getByRole('button', { name: 'Cancel the job' }).click();
    await page.getByText('Canceled').waitFor();
    await page.goto(`${cloud.ready.url}/training`);
    await page.getByRole('cell', { name: 'Suggestions' }).first().waitFor();
  });
});
