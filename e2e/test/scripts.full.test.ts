/**
 * All components are real: server with database, runner as shipped, the script of the guide in a sandbox, its model in
 * use.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import {
  ModelFramework,
  ModelType,
  type PlatformClient,
  type TrainingJobMetadata,
  TrainingStatus,
} from '@platform/client';
import { tempFolder } from '@platform/kit/testing';
import { composeObjects10 } from '@platform/objects-10';
import { systemClock } from '@platform/kit/node';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { startRunner } from '../src/runner-process.ts';
import { checkout } from '../src/up-process.ts';

const example = path.join(checkout, 'docs', 'examples', 'onnx-training-script');
const labels = ['bear', 'corn'];
const python = (): string => {
  const found = process.env['PLATFORM_TEST_PYTHON'];
  assert.ok(found, 'PLATFORM_TEST_PYTHON names a Python with numpy, pillow and onnx');
  return found;
};

async function makeDataset(client: PlatformClient, organizationId: string): Promise<string> {
  const { machine } = await client.fleetClient.createMachine({ organizationId, name: 'camera' });
  const datasetId = await client.datasetClient.createDataset('things', organizationId);
  const images = [];
  const options = { seed: 1, side: 96, trainPerClass: 15, testPerClass: 0, objects: labels };
  for await (const { jpeg, label } of composeObjects10(options)) {
    images.push({ bytes: jpeg, fileExtension: 'jpg', tags: [label] });
  }
  await client.dataClient.uploadImages(images, { partId: machine?.partId ?? '', datasetIds: [datasetId] });
  return datasetId;
}
const pack = (folder: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(execFileSync('tar', ['-C', folder, '-cz', '--exclude=__pycache__', '.'], { maxBuffer: 1 << 24 }));

/** Containers are known after the runner's first request for work. */
async function containersOf(client: PlatformClient): Promise<string[]> {
  const end = systemClock.now() + 30_000;
  for (;;) {
    const found = await client.mlTrainingClient.listSupportedContainers();
    if (found.length > 0 || systemClock.now() > end) return found.map(({ key }) => key);
    await systemClock.sleep(100);
  }
}
const why = (job: TrainingJobMetadata): string => JSON.stringify(job.errorStatus?.message);

test('the script of the guide: uploaded, refused when it cannot run, run, followed, its model downloaded and used', async () => {
  await using cloud = await startCloud();
  const { org_id: organizationId } = cloud.ready;
  const client = clientOf(cloud.ready);
  const training = client.mlTrainingClient;
  const datasetId = await makeDataset(client, organizationId);
  const version = await client.trainingScriptClient.uploadTrainingScript(
    organizationId,
    'color-classifier',
    pack(example),
    {
      modelFramework: ModelFramework.ONNX,
      modelType: ModelType.SINGLE_LABEL_CLASSIFICATION,
    },
  );
  const script = `${organizationId}:color-classifier`;
  const submit = (modelVersion: string, args: Record<string, string>, containerVersion = 'np:2'): Promise<string> =>
    training.submitCustomTrainingJob(organizationId, datasetId, script, 'latest', 'colors', modelVersion, args, {
      containerVersion,
    });

  await using _runner = await startRunner(cloud.ready, '--script-python', `np:2=${python()},py:3=/usr/bin/python3`);
  assert.deepEqual(await containersOf(client), ['np:2', 'py:3']);
  await assert.rejects(submit('0', {}, 'tf:2.16'), /CONTAINER_NOT_FOUND.*"tf:2\.16"; available: np:2, py:3/);

  const id = await submit('1', { epochs: '40' });
  const lines: string[] = [];
  for await (const { message } of training.followTrainingJobLogs(id)) lines.push(message);
  const job = await training.waitForTrainingJob(id);
  assert.equal(job.status, TrainingStatus.COMPLETED, `${why(job)}\n${lines.join('\n')}`);
  assert.ok(
    lines.some((line) => line === `Script ${script} ${version}: 3 files.`),
    lines.join('\n'),
  );
  assert.ok(lines.includes('30 images of bear, corn') && lines.includes('saved model.onnx'));
  assert.ok(job.metrics.length >= 40, `${job.metrics.length} metrics`);

  await using folder = await tempFolder();
  await writeFile(folder.file('model.tar.gz'), await client.modelClient.downloadModelBytes(organizationId, 'colors'));
  execFileSync('tar', ['-C', folder.path, '-xzf', folder.file('model.tar.gz')]);
  const check =
    'import onnx, sys; m = onnx.load(sys.argv[1]); onnx.checker.check_model(m, full_check=True); print(m.graph.output[0].name)';
  assert.equal(
    execFileSync(python(), ['-c', check, folder.file('model.onnx')], { encoding: 'utf8' }).trim(),
    'probability',
  );

  // A job that requires what its Python lacks, and one that fails on its own: both end at once, with the reason.
  const bare = await training.waitForTrainingJob(await submit('2', {}, 'py:3'));
  assert.equal(bare.status, TrainingStatus.FAILED);
  assert.match(
    why(bare),
    /lacks packages .*: numpy>=1\.24 \(not installed\), pillow>=10.*pip install 'numpy>=1\.24'.*--wheelhouse/s,
  );
  const wrong = await training.waitForTrainingJob(await submit('3', { epochs: 'many' }));
  assert.equal(wrong.status, TrainingStatus.FAILED);
  assert.match(why(wrong), /exit code 2.*argument --epochs: invalid int value: 'many'/s);
  assert.deepEqual([bare.attempt, wrong.attempt], [1, 1]);
});

test('a script that may use the network reads data with its own key, which ends with the attempt', async () => {
  await using cloud = await startCloud();
  const { org_id: organizationId, url } = cloud.ready;
  const client = clientOf(cloud.ready);
  const datasetId = await makeDataset(client, organizationId);
  await using folder = await tempFolder();
  await mkdir(folder.file('model'));
  await writeFile(folder.file('setup.py'), 'from setuptools import setup\nsetup(name="x", version="1")\n');
  await writeFile(
    folder.file('model', 'training.py'),
    `
import json, os, sys, urllib.error, urllib.request
def call(method, body, token=None):
    headers = {"content-type": "application/json", **({"authorization": "Bearer " + token} if token else {})}
    request = urllib.request.Request(os.environ["PLATFORM_BASE_URL"] + "/" + method, json.dumps(body).encode(), headers)
    try: return json.load(urllib.request.urlopen(request))
    except urllib.error.HTTPError as error: return json.load(error)
key = {"entity": os.environ["API_KEY_ID"], "credentials": {"type": "api-key", "payload": os.environ["API_KEY"]}}
token = call("proto.rpc.v1.AuthService/Authenticate", key)["accessToken"]
organization = {"organizationId": os.environ["PLATFORM_ORG_ID"]}
print("datasets", len(call("platform.app.dataset.v1.DatasetService/ListDatasetsByOrganizationID", organization, token)["datasets"]))
print("jobs", call("platform.app.mltraining.v1.MLTrainingService/ListTrainingJobs", organization, token).get("code"))
print("key", json.dumps(key))
open(sys.argv[2].split("=")[1] + "/model.onnx", "w").write("m")
`,
  );
  await client.trainingScriptClient.uploadTrainingScript(organizationId, 'asks', pack(folder.path));
  await using _runner = await startRunner(
    cloud.ready,
    '--script-python',
    'py:3=/usr/bin/python3',
    '--allow-script-network',
  );
  assert.deepEqual(await containersOf(client), ['py:3']);
  const script = `${organizationId}:asks`;
  const id = await client.mlTrainingClient.submitCustomTrainingJob(
    organizationId,
    datasetId,
    script,
    'latest',
    'asked',
    '1',
  );
  const job = await client.mlTrainingClient.waitForTrainingJob(id);
  const lines = (await client.mlTrainingClient.getTrainingJobLogs(id)).map(({ message }) => message);
  assert.equal(job.status, TrainingStatus.COMPLETED, `${why(job)}\n${lines.join('\n')}`);
  assert.ok(lines.includes('datasets 1') && lines.includes('jobs permission_denied'), lines.join('\n'));
  const key = lines.find((line) => line.startsWith('key '))?.slice(4) ?? '';
  const headers = { 'content-type': 'application/json' };
  const late = await fetch(`${url}/proto.rpc.v1.AuthService/Authenticate`, { method: 'POST', headers, body: key });
  assert.equal(late.status, 401);
});
