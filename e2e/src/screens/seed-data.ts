// The data and jobs of the seeded installation: datasets, trained models, jobs of every state, fragments, keys.
import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ModelType } from '@platform/client';
import type { PlatformClient } from '@platform/client';
import { tempFolder } from '@platform/kit/testing';
import { composeObjects10 } from '@platform/objects-10';
import type { CloudReady } from '../cloud-process.ts';
import { wireRunner } from '../wire-callers.ts';

export const labels = ['balloon', 'bear', 'corn'];

const datasetNames =
  'conveyor north,conveyor south,cows at night,cows by day,crates,feed levels,gate openings,hall A shelves,hall B shelves,milk cans,mould on corn,pallets,helmets,potholes,silo fill,sorting line 1,sorting line 2,tractors,udder health,weeds'.split(
    ',',
  );

interface Composed {
  readonly label: string;
  readonly name: string;
  readonly jpeg: Uint8Array;
}

export async function composedImages(): Promise<Composed[]> {
  const all = composeObjects10({ seed: 5, side: 320, trainPerClass: 12, testPerClass: 0, objects: labels });
  return Array.fromAsync(all, ({ name, label, jpeg }) => ({ name: path.basename(name), label, jpeg }));
}

export async function seedDatasets(client: PlatformClient, organizationId: string) {
  const images = await composedImages();
  const upload = (datasetId: string, chosen: readonly Composed[], labelled: number) =>
    client.dataClient.uploadImages(
      chosen.map(({ name, label, jpeg }, at) => ({
        bytes: jpeg,
        fileName: name,
        fileExtension: 'jpg',
        takenAt: Date.UTC(2026, 0, 1) + at * 1_000,
        ...(at < labelled ? { tags: [label] } : {}),
      })),
      { partId: '', datasetIds: [datasetId] },
    );
  for (const [n, name] of datasetNames.entries()) {
    const other = await client.datasetClient.createDataset(name, organizationId);
    if (n % 4 === 0) await upload(other, images.slice(n, n + 6), 6);
  }
  const datasetId = await client.datasetClient.createDataset('things', organizationId);
  const ids = await upload(datasetId, images, 30);
  return { datasetId, imageId: ids[0] ?? '' };
}

/** The newest image of a camera, with what a model found on it. */
export async function seedCamera(client: PlatformClient, partId: string): Promise<void> {
  const bear = (await composedImages()).find(({ label }) => label === 'bear');
  if (!bear) throw new Error('no bear was composed');
  const boxes = [{ label: 'bear', xMin: 0.03, yMin: 0.01, xMax: 0.85, yMax: 0.7 }];
  const image = { bytes: bear.jpeg, fileExtension: 'jpg', boxes };
  await client.dataClient.uploadImage(image, { partId, componentName: 'rear' });
}

const evaluation = {
  task: 'single_label_classification',
  labels,
  accuracy: 0.917,
  count: 24,
  confusion: [
    [8, 0, 0],
    [1, 7, 0],
    [0, 1, 7],
  ],
  per_class: [
    { label: 'balloon', precision: 0.89, recall: 1, f1: 0.94, support: 8 },
    { label: 'bear', precision: 0.88, recall: 0.88, f1: 0.88, support: 8 },
    { label: 'corn', precision: 1, recall: 0.88, f1: 0.93, support: 8 },
  ],
  evaluated_on: 'test',
  chosen: 'fine-tune',
  device: { name: 'cpu', reason: 'There is no GPU.' },
};

export interface SeededJobs {
  /** The newest completed one. */
  readonly jobId: string;
  /** Keeps the lease of the job that is under way. */
  beat(): Promise<void>;
}

/** Eight completed jobs, one under way, the others queued. */
export async function seedJobs(client: PlatformClient, ready: CloudReady, datasetId: string): Promise<SeededJobs> {
  const { url, org_id: organization, runner_key_id: keyId, runner_key: key } = ready;
  const submit = (name: string, version: string) =>
    client.mlTrainingClient.submitTrainingJob(
      organization,
      datasetId,
      name,
      version,
      ModelType.SINGLE_LABEL_CLASSIFICATION,
      labels,
    );
  const runner = await wireRunner(url, keyId, key, { host: 'press-2', noScriptsBecause: 'bubblewrap is missing.' });
  let jobId = '';
  for (let n = 0; n < 8; n++) {
    const name = `${['things', 'crates', 'pallets'][n % 3]}`;
    jobId = await submit(name, `2026-0${Math.floor(n / 3) + 1}`);
    await runner.train(0.9, [0.41, 0.58, 0.7, 0.77, 0.83, 0.86, 0.9, 0.917]);
    await runner.complete({ [`${name}.onnx`]: `weights ${n}`, 'labels.txt': labels.join('\n') }, evaluation);
  }
  for (let n = 0; n < 14; n++) await submit('sorting', `${n + 1}`);
  const beat = (): Promise<void> => runner.train(0.42, [0.5, 0.64, 0.71]);
  await beat();
  return { jobId, beat };
}

async function scriptArchive(): Promise<Uint8Array<ArrayBuffer>> {
  await using folder = await tempFolder();
  await mkdir(folder.file('model'));
  await writeFile(folder.file('setup.py'), 'from setuptools import setup\nsetup(name="model")\n');
  await writeFile(folder.file('model', 'training.py'), 'print("counted")\n');
  const { status, stdout } = spawnSync('tar', ['-cz', '-C', folder.path, 'setup.py', 'model']);
  if (status !== 0) throw new Error('tar could not pack the training script');
  return new Uint8Array(stdout);
}

/** @returns a fragment. */
export async function seedOrganization(client: PlatformClient, organizationId: string): Promise<string> {
  const script = await scriptArchive();
  for (const version of ['one', 'two'])
    await client.trainingScriptClient.uploadTrainingScript(organizationId, 'timm-finetune', script, { version });
  let fragmentId = '';
  for (const name of [
    'base of hall A',
    'base of hall B',
    'cameras',
    'channel stable',
    'night mode',
    'WiFi of the farm',
  ]) {
    const configJson = JSON.stringify({ agent: { advanced_settings: { debug: true } } }, null, 2);
    const { fragment } = await client.appClient.createFragment({ name, organizationId, configJson, comment: 'first' });
    fragmentId = fragment?.id ?? '';
  }
  for (const name of ['ci', 'dashboard', 'nightly import'])
    await client.appClient.createKey({
      name,
      authorizations: [
        {
          authorizationType: 'role',
          authorizationId: 'organization_owner',
          resourceType: 'organization',
          resourceId: organizationId,
          organizationId,
        },
      ],
    });
  return fragmentId;
}
