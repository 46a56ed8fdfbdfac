/**
 * All components are real: server with database, runner as shipped, Slurm of Debian's packages, the built-in trainer.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { ModelType, type PlatformClient, TrainingStatus } from '@platform/client';
import { plainEnvironment, type ProcessGroup, spawnGroup, systemClock } from '@platform/kit/node';
import { tempFolder, type TempFolder } from '@platform/kit/testing';
import { composeObjects10 } from '@platform/objects-10';
import { startSlurm, type SlurmCluster } from '../lab/slurm/process.ts';
import { clientOf, type CloudProcess, startCloud } from '../src/cloud-process.ts';
import { checkout } from '../src/up-process.ts';

const program = path.join(checkout, 'apps', 'runner', 'src', 'main.ts');

/** Joins as a user does: with a URL and one token. */
const startRunner = (
  cloud: CloudProcess,
  slurm: SlurmCluster,
  folder: TempFolder,
  ...more: string[]
): Promise<ProcessGroup> =>
  spawnGroup({
    command: process.execPath,
    args: [
      '--disable-warning=ExperimentalWarning',
      program,
      ...slurm.flags,
      `--url=${cloud.ready.url}`,
      `--folder=${folder.path}`,
      '--engine-poll-seconds=2',
      '--engine-cpus=2',
      ...more,
    ],
    env: plainEnvironment({ PLATFORM_RUNNER_TOKEN: `${cloud.ready.runner_key_id}:${cloud.ready.runner_key}` }),
    cwd: checkout,
    logFile: folder.file('runner.log'),
  });

async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const end = systemClock.now() + 90_000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (systemClock.now() > end) throw new Error(`never: ${what}`);
    await systemClock.sleep(100);
  }
}

const labels = ['bear', 'corn'];
async function makeDataset(client: PlatformClient, organizationId: string): Promise<string> {
  const { machine } = await client.fleetClient.createMachine({ organizationId, name: 'camera' });
  const datasetId = await client.datasetClient.createDataset('things', organizationId);
  const images = [];
  for await (const { jpeg, label } of composeObjects10({
    seed: 1,
    side: 96,
    trainPerClass: 12,
    testPerClass: 0,
    objects: labels,
  })) {
    images.push({ bytes: jpeg, fileExtension: 'jpg', tags: [label] });
  }
  await client.dataClient.uploadImages(images, { partId: machine?.partId ?? '', datasetIds: [datasetId] });
  return datasetId;
}

test('jobs of a server run on Slurm: waits, trains, delivers; canceled in the queue and in the training; ended by an operator', async () => {
  const began = systemClock.now();
  await using cloud = await startCloud();
  await using slurm = await startSlurm();
  await using folder = await tempFolder();
  const { org_id: organizationId } = cloud.ready;
  const client = clientOf(cloud.ready);
  const training = client.mlTrainingClient;
  const datasetId = await makeDataset(client, organizationId);
  const submit = (version: string, args: Record<string, string>): Promise<string> =>
    training.submitTrainingJob(
      organizationId,
      datasetId,
      'things',
      version,
      ModelType.SINGLE_LABEL_CLASSIFICATION,
      labels,
      {
        arguments: args,
      },
    );
  const messages = async (id: string): Promise<string[]> =>
    (await training.getTrainingJobLogs(id)).map(({ message }) => message);
  const says = (id: string, pattern: RegExp): Promise<string> =>
    until(`${String(pattern)} in the log`, async () => (await messages(id)).find((line) => pattern.test(line)));
  const refOf = async (id: string): Promise<string> =>
    /\d+/.exec(await says(id, /^Slurm job \d+ is submitted/))?.[0] ?? '';
  const inTraining = (id: string): Promise<true> =>
    until('it trains', async () => ((await training.getTrainingJob(id)).phase === 'training' ? true : undefined));

  let runner = await startRunner(cloud, slurm, folder);
  try {
    await slurm.pause();
    const first = await submit('1', { recipe: 'probe' });
    await says(first, /^Slurm job \d+ waits: PartitionDown/);
    const waiting = await training.getTrainingJob(first);
    assert.deepEqual([waiting.status, waiting.phase, waiting.attempt], [TrainingStatus.PENDING, 'queued', 1]);

    const dropped = await submit('2', { recipe: 'probe' });
    const droppedRef = await refOf(dropped);
    await training.cancelTrainingJob(dropped);
    assert.equal((await training.waitForTrainingJob(dropped)).status, TrainingStatus.CANCELED);
    assert.match(await slurm.run('scontrol', 'show', 'job', droppedRef), /JobState=CANCELLED/);

    // The runner dies with its job in Slurm's queue, and restarts.
    runner.signal('SIGKILL');
    await runner.exited;
    runner = await startRunner(cloud, slurm, folder);
    await slurm.resume();
    const done = await training.waitForTrainingJob(first);
    assert.deepEqual([done.status, done.attempt], [TrainingStatus.COMPLETED, 1], JSON.stringify(done.errorStatus));
    assert.ok(done.metrics.length > 0 && done.trainingStarted !== undefined);
    const lines = await messages(first);
    assert.ok(
      lines.findIndex((line) => /is submitted/.test(line)) < lines.findIndex((line) => /images are here/.test(line)),
    );
    const packages = await client.packageClient.listPackages({ organizationId, name: 'things' });
    assert.deepEqual(
      packages.packages.map(({ info }) => info?.version),
      ['1'],
    );

    const long = { recipe: 'auto', epochs: '200' };
    const stopped = await submit('3', long);
    await inTraining(stopped);
    await training.cancelTrainingJob(stopped);
    assert.equal((await training.waitForTrainingJob(stopped)).status, TrainingStatus.CANCELED);

    const ended = await submit('4', long);
    await inTraining(ended);
    const ref = await refOf(ended);
    await slurm.run('scancel', ref);
    const failed = await training.waitForTrainingJob(ended);
    assert.deepEqual([failed.status, failed.cause, failed.attempt], [TrainingStatus.FAILED, 'infrastructure', 1]);
    assert.match(failed.errorStatus?.message ?? '', new RegExp(`^ENGINE_JOB_CANCELED: Slurm job ${ref} was canceled`));

    // A node failure is not a cancellation: the job is retried as another Slurm job.
    const moved = await submit('5', { recipe: 'probe' });
    const lost = await refOf(moved);
    await until('it runs', async () =>
      (await slurm.jobs()).some((one) => one.ref === lost && one.state === 'RUNNING') ? true : undefined,
    );
    await slurm.nodesFail();
    const again = await training.waitForTrainingJob(moved);
    assert.deepEqual([again.status, again.attempt], [TrainingStatus.COMPLETED, 2], JSON.stringify(again.errorStatus));
  } finally {
    await runner.stop({ termMs: 20_000 });
    process.stderr.write(`the whole story on Slurm took ${Math.round((systemClock.now() - began) / 1000)} s\n`);
  }
});

const script = `
import argparse, os, sys
parser = argparse.ArgumentParser()
for name in ('--dataset_file', '--model_output_directory', '--code'):
    parser.add_argument(name)
given = parser.parse_args()
print('gpu', os.environ.get('CUDA_VISIBLE_DEVICES', 'none'), flush=True)
print('lines', len(open(given.dataset_file).readlines()), flush=True)
if given.code != '0':
    print('this goes wrong', file=sys.stderr)
    sys.exit(int(given.code))
with open(os.path.join(given.model_output_directory, 'model.onnx'), 'w') as file:
    file.write('m')
`;

test('a training script on Slurm: in its sandbox, with the GPU that it asks for; its exit code is its failure', async () => {
  await using cloud = await startCloud();
  await using slurm = await startSlurm();
  await using folder = await tempFolder();
  const { org_id: organizationId } = cloud.ready;
  const client = clientOf(cloud.ready);
  const training = client.mlTrainingClient;
  const datasetId = await makeDataset(client, organizationId);
  await mkdir(folder.file('script', 'model'), { recursive: true });
  await writeFile(folder.file('script', 'setup.py'), 'from setuptools import setup\nsetup(name="x", version="1")\n');
  await writeFile(folder.file('script', 'model', 'training.py'), script);
  const archive = execFileSync('tar', ['-C', folder.file('script'), '-cz', '.']);
  await client.trainingScriptClient.uploadTrainingScript(organizationId, 'asks', new Uint8Array(archive));
  const runner = await startRunner(cloud, slurm, folder, '--engine-gpus=1', '--script-python=py:3.11=/usr/bin/python3');
  try {
    await until('the container is known', async () =>
      (await training.listSupportedContainers()).find(({ key }) => key === 'py:3.11'),
    );
    const submit = (version: string, code: string): Promise<string> =>
      training.submitCustomTrainingJob(
        organizationId,
        datasetId,
        `${organizationId}:asks`,
        'latest',
        'm',
        version,
        { code },
        {
          containerVersion: 'py:3.11',
          resources: { gpus: 1 },
        },
      );
    const good = await submit('1', '0');
    const done = await training.waitForTrainingJob(good);
    const lines = (await training.getTrainingJobLogs(good)).map(({ message }) => message);
    assert.equal(done.status, TrainingStatus.COMPLETED, `${JSON.stringify(done.errorStatus)}\n${lines.join('\n')}`);
    assert.ok(lines.includes('lines 24') && lines.includes('gpu 0'), lines.join('\n'));
    const failed = await training.waitForTrainingJob(await submit('2', '3'));
    assert.deepEqual([failed.status, failed.cause, failed.attempt], [TrainingStatus.FAILED, 'script', 1]);
    assert.match(failed.errorStatus?.message ?? '', /exit code 3.*this goes wrong/s);
  } finally {
    await runner.stop({ termMs: 20_000 });
  }
});
