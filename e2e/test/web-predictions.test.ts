// A detector from its training to the boxes in the app: registry, a machine that runs it, captured images, a real
// browser.
import assert from 'node:assert/strict';
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { ModelType } from '@platform/client';
import type { PlatformClient } from '@platform/client';
import type { DetectionEvaluation } from '@platform/contract/job/evaluation';
import type { BinaryMetadata } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DataSyncService, DataType } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { jobFiles, modelFiles } from '@platform/contract/job/job';
import { plainEnvironment, spawnGroup, systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { writeJob } from '../../trainers/detection/test/job-folder.ts';
import { startTrainer } from '../../trainers/engine/test/trainer-process.ts';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import type { CloudReady } from '../src/cloud-process.ts';
import { checkPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';
import { checkout, runCli } from '../src/up-process.ts';
import { wireRunner } from '../src/wire-callers.ts';

const modelName = 'finder';

/** Trains a small detector and adds it to the registry. @returns an image of its training. */
async function publishDetector(folder: string, ready: CloudReady, client: PlatformClient): Promise<string> {
  await writeJob(folder, { framework: 'onnx', arguments: { recipe: 'probe' } });
  const program = new URL('../../trainers/detection/src/main.ts', import.meta.url);
  assert.deepEqual(await startTrainer(program, folder).ended, { code: 0, signal: null, stderr: '' });
  const read = (file: string) => readFile(path.join(folder, jobFiles.out, file));
  const evaluation = JSON.parse((await read(modelFiles.evaluation)).toString()) as DetectionEvaluation;
  const images = (await readdir(path.join(folder, jobFiles.images))).toSorted();
  const image = path.join(folder, jobFiles.images, images[0] ?? '');

  const datasetId = await client.datasetClient.createDataset('boxes', ready.org_id);
  const bytes = await readFile(image);
  const [label = ''] = evaluation.labels;
  const boxes = [{ label, xMin: 0.1, yMin: 0.1, xMax: 0.9, yMax: 0.9 }];
  const labelled = Array.from({ length: 16 }, (_, i) => ({
    bytes: Buffer.concat([bytes, Buffer.of(i)]),
    fileExtension: 'jpg',
    boxes,
  }));
  await client.dataClient.uploadImages(labelled, { partId: '', datasetIds: [datasetId] });
  const kind = ModelType.OBJECT_DETECTION;
  await client.mlTrainingClient.submitTrainingJob(ready.org_id, datasetId, modelName, '1', kind, [label]);
  const runner = await wireRunner(ready.url, ready.runner_key_id, ready.runner_key, { kinds: ['object_detection'] });
  const files = { [`${modelName}.onnx`]: await read('shapes.onnx'), 'labels.txt': await read('labels.txt') };
  await runner.complete(files, evaluation);
  return image;
}

/** Starts a machine whose camera shows one image; its captures go into the dataset. */
async function startMachine(
  folder: string,
  { ready, image, datasetId }: { ready: CloudReady; image: string; datasetId: string },
): Promise<AsyncDisposable> {
  const env = { PLATFORM_URL: ready.url, PLATFORM_API_KEY_ID: ready.api_key_id, PLATFORM_API_KEY: ready.api_key };
  const cli = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCli(env, ...args);
    assert.equal(code, 0, `${args.join(' ')}: ${stdout}${stderr}`);
    return stdout;
  };
  const at = (name: string) => path.join(folder, name);
  const { credentials } = JSON.parse(await cli('machine', 'create', 'press', '--json')) as { credentials: object };
  await writeFile(at('platform.json'), JSON.stringify(credentials), { mode: 0o600 });
  await mkdir(at('images'));
  await copyFile(image, path.join(at('images'), 'a.jpg'));
  const place = `\${packages.${modelName}}`;
  const config = {
    components: [{ name: 'yard', type: 'camera', model: 'folder', attributes: { path: at('images') } }],
    services: [
      {
        name: 'objects',
        type: 'mlmodel',
        model: 'onnx_cpu',
        attributes: { model_path: `${place}/${modelName}.onnx`, label_path: `${place}/labels.txt` },
      },
      {
        name: 'keep',
        type: 'data_manager',
        attributes: { camera: 'yard', mlmodel: 'objects', every_seconds: 2, dataset_ids: [datasetId] },
      },
    ],
    packages: [{ name: modelName, package: `${ready.org_id}/${modelName}`, version: 'latest', type: 'ml_model' }],
  };
  await writeFile(at('config.json'), JSON.stringify(config));
  await cli('config', 'set', 'press', at('config.json'));
  const main = path.join(checkout, 'apps/machine-server/src/main.ts');
  const group = await spawnGroup({
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', main, '-config', at('platform.json'), '-data', at('data')],
    env: plainEnvironment(),
    logFile: at('server.log'),
  });
  return { [Symbol.asyncDispose]: async () => void (await group.stop({ termMs: 20_000 })) };
}

/** Waits for the first captured image with boxes. */
async function firstAnnotated(client: PlatformClient, datasetId: string, logFile: string): Promise<BinaryMetadata> {
  const end = systemClock.now() + 60_000;
  for (;;) {
    for await (const { metadata } of client.dataClient.allBinaryData({ datasetId }))
      if (metadata && (metadata.annotations?.bboxes.length ?? 0) > 0) return metadata;
    if (systemClock.now() > end) assert.fail(`no image with boxes:\n${await readFile(logFile, 'utf8')}`);
    await systemClock.sleep(200);
  }
}

/** Uploads an image as a machine with a classifier does. @returns its ID. */
async function uploadClassified(ready: CloudReady, bytes: Buffer, datasetId: string): Promise<string> {
  const open = createClient(AuthService, createConnectTransport({ baseUrl: ready.url }));
  const credentials = { type: 'api-key', payload: ready.api_key };
  const { accessToken } = await open.authenticate({ entity: ready.api_key_id, credentials });
  const sync = createClient(DataSyncService, createConnectTransport({ baseUrl: ready.url }));
  const classifications = [{ label: 'disc', confidence: 0.754 }, { label: 'house' }];
  const { binaryDataId } = await sync.dataCaptureUpload(
    {
      metadata: { type: DataType.BINARY_SENSOR, fileExtension: 'jpg', datasetIds: [datasetId] },
      sensorContents: [{ metadata: { annotations: { classifications } }, data: { case: 'binary', value: bytes } }],
    },
    { headers: { authorization: `Bearer ${accessToken}` } },
  );
  return binaryDataId;
}

/** Looks at the camera until an image has boxes: the machine sends those in which its model has just found some. */
const lookLive = (client: PlatformClient): Promise<void> =>
  atEachWidth({ client, widths: [1280] }, async ({ signIn }) => {
    const page = await signIn();
    await page.getByRole('link', { name: 'press' }).click();
    const cameras = page.getByRole('region', { name: 'Cameras' });
    await cameras.getByRole('button', { name: 'Live view of yard' }).click();
    await cameras.getByRole('img', { name: /^Live image of yard: \w+ \d\.\d\d/ }).waitFor();
    await cameras.locator('.story-frame .story-box').first().waitFor();
    await checkPage(page, 'live view with boxes');
  });

test('a detector that was trained here runs on a machine, and the app draws its boxes over the captured image', async (t) => {
  await using cloud = await startCloud();
  await using job = await tempFolder();
  await using folder = await tempFolder();
  const { ready } = cloud;
  const client = clientOf(ready);
  const image = await publishDetector(job.path, ready, client);
  const datasetId = await client.datasetClient.createDataset('captured', ready.org_id);
  const machine = await startMachine(folder.path, { ready, image, datasetId });
  const { binaryDataId, annotations } = await firstAnnotated(client, datasetId, folder.file('server.log'))
    .then(async (first) => {
      await lookLive(client);
      return first;
    })
    .finally(() => machine[Symbol.asyncDispose]());
  const found = annotations?.bboxes ?? [];
  const bytes = await readFile(image);
  await atEachWidth({ client, t }, async ({ signIn }) => {
    const page = await signIn();
    await page.goto(`${ready.url}/datasets/${datasetId}/image?id=${encodeURIComponent(binaryDataId)}`);
    // The canvas gets its width when the image has loaded.
    const canvas = page.locator('.box-canvas[style*="width"]');
    await canvas.locator('.box').first().waitFor();
    const shown = await canvas.locator('.box').all();
    assert.equal(shown.length, found.length);
    const frame = (await canvas.boundingBox()) ?? assert.fail('no image');
    for (const [i, box] of found.entries()) {
      const text = `${box.label} ${((box.confidence ?? -1) * 100).toFixed(0)} %`;
      assert.equal(await shown[i]?.innerText(), text);
      const place = (await shown[i]?.boundingBox()) ?? assert.fail(`${text} is not drawn`);
      const edges = [
        [place.x, frame.x + box.xMinNormalized * frame.width],
        [place.y, frame.y + box.yMinNormalized * frame.height],
        [place.x + place.width, frame.x + box.xMaxNormalized * frame.width],
        [place.y + place.height, frame.y + box.yMaxNormalized * frame.height],
      ];
      for (const [is = 0, wanted = 0] of edges) assert.ok(Math.abs(is - wanted) <= 1, `${text}: ${is}, ${wanted} px`);
    }
    await checkPage(page, 'captured image with predicted boxes');
    // A box that a user moves is no longer a prediction; an undo makes it one again.
    const [first = assert.fail('no box')] = shown;
    const predicted = await first.innerText();
    const state = page.getByRole('status', { name: 'State of the boxes' });
    await first.press('ArrowRight');
    await state.getByText('Saved', { exact: true }).waitFor();
    assert.ok(await page.getByRole('button', { name: 'Undo' }).isEnabled());
    assert.equal(await first.innerText(), found[0]?.label);
    const boxes = async () =>
      (await client.dataClient.binaryDataByIds([binaryDataId], false))[0]?.metadata?.annotations?.bboxes ?? [];
    assert.equal((await boxes())[0]?.confidence, undefined);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('button', { name: 'Undo', disabled: true }).waitFor();
    await state.getByText('Saved', { exact: true }).waitFor();
    await canvas.getByText(predicted, { exact: true }).first().waitFor();
    assert.equal((await boxes())[0]?.confidence, found[0]?.confidence);
    const classified = await uploadClassified(ready, Buffer.concat([bytes, Buffer.of(1)]), datasetId);
    await page.goto(`${ready.url}/datasets/${datasetId}/image?id=${encodeURIComponent(classified)}`);
    await page.getByText('Predicted by a model').waitFor();
    await page.getByText('disc 75 %').waitFor();
    await checkPage(page, 'image with predicted labels');
    const wrong = page.getByRole('button', { name: 'Remove the predicted label house' });
    await wrong.click();
    await wrong.waitFor({ state: 'detached' });
    const [kept] = await client.dataClient.binaryDataByIds([classified], false);
    assert.deepEqual(
      kept?.metadata?.annotations?.classifications.map((one) => one.label),
      ['disc'],
    );
  });
});
