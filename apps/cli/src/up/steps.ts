import { serverStates, textOfState } from '@platform/contract/machine/program-states';
import { scoreText } from '@platform/contract/job/confidence';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { allMachines, ModelType, type ImageUpload, TrainingStatus } from '@platform/client';
import { ServerState, type Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import {
  type TrainingJobMetadata,
  TrainingStatusSchema,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { atomicWrite } from '@platform/kit/node';
import { composeObjects10, objectLabels } from '@platform/objects-10';
import { formatBytes } from '@platform/kit';
import { enumWord } from '../output.ts';
import { deployedConfig, firstConfig, nextVersion, predictionOf, type Prediction } from './demo-plan.ts';
import { publishReleases } from './releases.ts';
import { type Step, type StoryWorld, until } from './story.ts';

const machineName = 'demo';
const datasetName = 'objects-10';
const modelName = 'objects-10';

const labelsOf = (world: StoryWorld): readonly string[] => objectLabels.slice(0, world.size.objects);
const isOnline = (machine: Machine): boolean =>
  machine.report?.serverState === ServerState.RUNNING && machine.report.serverUrl !== '';

const reportTime = ({ reportedOn }: Machine): string => `${reportedOn?.seconds ?? ''}.${reportedOn?.nanos ?? ''}`;

async function demoMachine(world: StoryWorld): Promise<Machine | undefined> {
  const machines = await allMachines(world.client, world.organizationId);
  return machines.find((machine) => machine.name === machineName);
}

async function requireMachine(world: StoryWorld): Promise<Machine> {
  const machine = await demoMachine(world);
  if (!machine) throw new Error(`Machine "${machineName}" was deleted. Start again: that creates it.`);
  return machine;
}

const release: Step = {
  name: 'release',
  title: 'Machine server and agent released',
  async run(world) {
    const { releases } = world;
    await publishReleases(world);
    const versionOf = (program: string): string => releases.find(({ name }) => name === program)?.version ?? '';
    const note = releases.map(({ name, version, size }) => `${name} ${version}, ${formatBytes(size)}`);
    return { note: note.join('; '), facts: { server_version: versionOf('platform-server') } };
  },
};

/** A machine in the fleet with the real agent, which installs and supervises its machine server. */
const machine: Step = {
  name: 'machine',
  title: 'Machine online',
  async run(world) {
    let demo = await demoMachine(world);
    if (!demo) {
      demo = (await world.client.fleetClient.createMachine({ organizationId: world.organizationId, name: machineName }))
        .machine;
      if (!demo) throw new Error('The server made no machine.');
      world.record('machine: created');
    }
    const config = await world.client.fleetClient.getConfig({ partId: demo.partId });
    if (config.revision === 0n) {
      const configJson = JSON.stringify(firstConfig(world.machineFolder.imagesFolder), null, 2);
      await world.client.fleetClient.saveConfig({ partId: demo.partId, configJson, expectedRevision: 0n });
      world.record('machine: configured');
    }
    const { credentialsJson } = await world.client.fleetClient.getCredentials({ partId: demo.partId });
    const { uid, gid } = world.machineFolder.account;
    const owner = uid === undefined || gid === undefined ? undefined : { uid, gid };
    // The machine owns the folder: root must not follow a link in it.
    await atomicWrite(world.machineFolder.credentialsFile, credentialsJson, { mode: 0o600, owner });
    // Ignore the report of an earlier run.
    const before = reportTime(demo);
    const isNews = (now: Machine): boolean => reportTime(now) !== before;
    await world.startAgent();
    world.record('machine: agent started');
    const agentLog = path.join(world.machineFolder.root, '..', 'logs', 'agent.log');
    const online = await until(
      world,
      { what: 'The machine server running under its agent', remedy: `See ${agentLog}.`, limitMs: 120_000 },
      async () => {
        const now = await requireMachine(world);
        const note = now.report
          ? `server ${textOfState(serverStates, now.report.serverState) ?? 'not reported'}`
          : 'waiting for the agent';
        world.show({ is: 'advance', step: 'machine', fraction: now.report ? 0.5 : 0.2, note });
        return isNews(now) && isOnline(now) ? now : undefined;
      },
    );
    const version = online.report?.server?.runningVersion ?? '';
    return {
      note: `agent ${online.report?.agent?.runningVersion ?? '?'}, server ${version}`,
      facts: { machine_id: online.id, part_id: online.partId, running_server_version: version },
    };
  },
};

/** Composed images of ten objects; uploads only missing ones. */
const dataset: Step = {
  name: 'dataset',
  title: 'Images uploaded',
  async run(world) {
    const { client, organizationId } = world;
    const { partId } = await requireMachine(world);
    const known = await client.datasetClient.listDatasetsByOrganizationId(organizationId);
    const datasetId =
      known.find((one) => one.name === datasetName)?.id ??
      (await client.datasetClient.createDataset(datasetName, organizationId));
    const there = new Set<string>();
    for await (const { metadata } of client.dataClient.allBinaryData({ datasetId }))
      there.add(metadata?.fileName ?? '');
    const { trainPerObject, testPerObject, objects } = world.size;
    const total = objects * (trainPerObject + testPerObject);
    const names: string[] = [];
    const missing = async function* (): AsyncGenerator<ImageUpload> {
      if (there.size === total) return;
      let seen = 0;
      const images = composeObjects10({
        seed: world.seed,
        trainPerClass: trainPerObject,
        testPerClass: testPerObject,
        objects: labelsOf(world),
      });
      for await (const { name, label, split, jpeg } of images) {
        world.show({ is: 'advance', step: 'dataset', fraction: ++seen / total, note: `${seen} of ${total}` });
        if (there.has(name)) continue;
        names.push(name);
        yield {
          bytes: jpeg,
          fileName: name,
          uploadId: name,
          fileExtension: 'jpg',
          tags: [label, ...(split === 'test' ? ['split:test'] : [])],
        };
      }
    };
    await client.dataClient.uploadImages(missing(), {
      partId,
      datasetIds: [datasetId],
      signal: world.signal,
      onProgress: (count) => world.record('dataset: image', { count }),
    });
    return {
      note: `${total} images of ${objects} objects, ${names.length} new`,
      facts: { dataset_id: datasetId, images: total },
    };
  },
};

const statusName = (job: TrainingJobMetadata): string => enumWord(TrainingStatusSchema, job.status);

/** Continues or reuses the newest job of the demo's model; submits a new one if none exists or the last one failed. */
const train: Step = {
  name: 'train',
  title: 'Model trained',
  async run(world, done) {
    const training = world.client.mlTrainingClient;
    const datasetId = String(done.get('dataset')?.facts['dataset_id']);
    const jobs = (await training.listTrainingJobs(world.organizationId)).filter((job) => job.modelName === modelName);
    const newest = jobs.toSorted((a, b) => Number((b.createdOn?.seconds ?? 0n) - (a.createdOn?.seconds ?? 0n)))[0];
    const goesOn =
      newest &&
      newest.status !== TrainingStatus.FAILED &&
      newest.status !== TrainingStatus.CANCELED &&
      newest.status !== TrainingStatus.CANCELING;
    let id = newest?.id ?? '';
    if (!goesOn) {
      const version = nextVersion(jobs.map((job) => job.modelVersion));
      id = await training.submitTrainingJob(
        world.organizationId,
        datasetId,
        modelName,
        version,
        ModelType.SINGLE_LABEL_CLASSIFICATION,
        [...labelsOf(world)],
        {
          // Fewer pixels and epochs than the trainer's default: sufficient here, and faster.
          arguments: { recipe: world.size.recipe, side: '160', epochs: '12' },
        },
      );
      world.record('train: submitted');
    }
    let phase = '';
    const job = await training.waitForTrainingJob(id, {
      signal: world.signal,
      onProgress: (now: TrainingJobMetadata) => {
        if (now.phase !== phase) world.record(`train: ${now.phase}`);
        phase = now.phase;
        const eta = now.eta && now.eta.seconds > 0n ? `, about ${now.eta.seconds} s left` : '';
        world.show({
          is: 'advance',
          step: 'train',
          fraction: now.progress,
          note: `${now.phase || statusName(now)}${eta}`,
        });
      },
    });
    if (job.status !== TrainingStatus.COMPLETED)
      throw new Error(
        `Training job ${id} ended as ${statusName(job)}: ${job.errorStatus?.message ?? 'no reason given'}`,
      );
    const evaluation = (job.evaluation ?? {}) as { accuracy?: number; count?: number };
    const accuracy = evaluation.accuracy ?? 0;
    const heldOut = evaluation.count ?? 0;
    return {
      note: `version ${job.modelVersion}, ${scoreText('accuracy', accuracy, heldOut)} on ${heldOut} held-out images`,
      facts: {
        training_job_id: id,
        model: modelName,
        model_version: job.modelVersion,
        accuracy,
        held_out_images: heldOut,
      },
    };
  },
};

interface Resource {
  readonly name: string;
  readonly state?: string;
  readonly version?: string;
}

/** The configuration names the version; the machine server downloads, verifies and loads it. */
const deploy: Step = {
  name: 'deploy',
  title: 'Model on the machine',
  async run(world, done) {
    const version = String(done.get('train')?.facts['model_version']);
    const demo = await requireMachine(world);
    const saved = await world.client.fleetClient.getConfig({ partId: demo.partId });
    const wanted = deployedConfig(JSON.parse(saved.configJson) as Record<string, unknown>, {
      organizationId: world.organizationId,
      modelName,
      version,
    });
    let revision = saved.revision;
    if (wanted) {
      const answer = await world.client.fleetClient.saveConfig({
        partId: demo.partId,
        configJson: JSON.stringify(wanted, null, 2),
        expectedRevision: saved.revision,
      });
      revision = answer.revision;
      world.record('deploy: configured', { revision: Number(revision) });
    }
    const images = composeObjects10({
      seed: world.seed + 1,
      trainPerClass: 0,
      testPerClass: 1,
      objects: labelsOf(world),
    });
    for await (const image of images)
      await atomicWrite(path.join(world.machineFolder.imagesFolder, `${image.label}.jpg`), image.jpeg);
    await until(
      world,
      {
        what: `The machine server loading version ${version}`,
        remedy: 'See the LOGS tab of the machine.',
        limitMs: 90_000,
      },
      async () => {
        const url = (await requireMachine(world)).report?.serverUrl ?? '';
        const resources = (await getJson(`${url}/resources`, world.signal)) as { resources?: Resource[] };
        const model = resources.resources?.find((one) => one.name === 'classifier');
        world.show({
          is: 'advance',
          step: 'deploy',
          fraction: model ? 0.6 : 0.3,
          note: model?.state ?? 'waiting for the configuration',
        });
        return model?.state === 'running' && model.version === version ? true : undefined;
      },
    );
    world.record('deploy: ready');
    return { note: `revision ${revision}`, facts: { config_revision: Number(revision) } };
  },
};

/** The machine's own server classifies images that were never uploaded. */
const predict: Step = {
  name: 'predict',
  title: 'Predictions on the machine',
  async run(world, done) {
    const version = String(done.get('train')?.facts['model_version']);
    const answers: Prediction[] = [];
    for (const label of labelsOf(world)) {
      const image = await readFile(path.join(world.machineFolder.imagesFolder, `${label}.jpg`));
      const answer = await until(
        world,
        { what: 'A prediction', remedy: 'See the LOGS tab of the machine.', limitMs: 30_000 },
        async () => {
          const url = (await requireMachine(world)).report?.serverUrl ?? '';
          const response = await fetch(`${url}/models/classifier/predict`, {
            method: 'POST',
            body: new Uint8Array(image),
            signal: world.signal,
          });
          if (!response.ok) throw new Error(`${response.status}: ${(await response.text()).slice(0, 300)}`);
          return predictionOf(label, await response.json());
        },
      );
      if (answer.version !== version)
        throw new Error(`The machine answered with version ${answer.version}, not ${version}.`);
      answers.push(answer);
      world.show({
        is: 'advance',
        step: 'predict',
        fraction: answers.length / world.size.objects,
        note: `${label}: ${answer.label}`,
      });
    }
    const right = answers.filter((answer) => answer.label === answer.expected).length;
    const best = answers.toSorted((a, b) => b.score - a.score)[0];
    if (right < world.size.mustBeRight * answers.length) {
      throw new Error(
        `Only ${right} of ${answers.length} unseen images were named correctly: ${answers.map((a) => `${a.expected} → ${a.label}`).join(', ')}.`,
      );
    }
    return {
      note: `${right} of ${answers.length} unseen images named correctly${best ? `, for example ${best.label} ${(best.score * 100).toFixed(0)} %` : ''}`,
      facts: { prediction: best, predictions_right: right, predictions: answers.length },
    };
  },
};

async function getJson(url: string, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(url, { signal });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return response.json();
}

export const storySteps: readonly Step[] = [release, machine, dataset, train, deploy, predict];
