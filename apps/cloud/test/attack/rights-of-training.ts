import { sql } from 'kysely';
import { firstRoot, nextTargets, programTarget } from '@platform/releases/publication';
import type { KeyRing } from '@platform/releases/key-folder';
import type { PublicKey } from '@platform/releases/keys';
import { ReleaseService } from '@platform/contract/gen/platform/release/v1/release_pb';
import { foreigners, installers, members, owners, users, right, type Right } from './rights.ts';
import { rightsOfSuggestions } from './rights-of-suggestions.ts';
import type { Known } from './callers.ts';
import type { World } from './world.ts';

const training = (method: string): string => `platform.app.mltraining.v1.MLTrainingService/${method}`;
const runner = (method: string): string => `platform.runner.v1.RunnerService/${method}`;
const release = (method: string): string => `platform.release.v1.ReleaseService/${method}`;

const byId = ({ job }: World) => ({ id: job.id });

const ofJobs: readonly Right[] = [
  right(training('SubmitTrainingJob'), { ok: owners }, ({ orgId, datasetId, freshName }) => ({
    organizationId: orgId,
    datasetId,
    modelName: freshName(),
    modelVersion: '1',
    modelType: 'MODEL_TYPE_SINGLE_LABEL_CLASSIFICATION',
    tags: ['a', 'b'],
  })),
  right(training('CheckTrainingData'), { ok: owners }, ({ orgId, datasetId }) => ({
    organizationId: orgId,
    datasetId,
    modelType: 'MODEL_TYPE_SINGLE_LABEL_CLASSIFICATION',
    tags: ['a', 'b'],
  })),
  right(training('SubmitCustomTrainingJob'), { ok: owners }, ({ orgId, datasetId, scriptName, freshName }) => ({
    organizationId: orgId,
    datasetId,
    modelName: freshName(),
    modelVersion: '1',
    registryItemId: `${orgId}:${scriptName}`,
    registryItemVersion: '1',
  })),
  right(training('GetTrainingJob'), { ok: owners }, byId),
  right(training('ListTrainingJobs'), { ok: owners }, ({ orgId }) => ({ organizationId: orgId })),
  right(training('CancelTrainingJob'), { ok: owners }, async ({ freshJob }) => ({
    id: (await freshJob('pending')).id,
  })),
  right(training('DeleteCompletedTrainingJob'), { ok: owners }, async ({ freshJob }) => ({
    id: (await freshJob('failed')).id,
  })),
  right(training('GetTrainingJobLogs'), { shows: owners }, byId),
  right(
    training('ListSupportedContainers'),
    { ok: [...owners, 'foreign owner'], denied: ['foreign machine', 'installation owner'] },
    () => ({}),
  ),
  right(training('ListContainers'), { ok: owners }, ({ orgId }) => ({ organizationId: orgId })),
  right(training('GetContainer'), { ok: owners, denied: ['foreign machine', 'installation owner'] }, () => ({
    id: 'python',
  })),
];

const runners: readonly Known[] = [...owners, 'runner'];
/** A foreign attempt gets the same answer as a lost lease. */
const ofAttempts = {
  ok: [...runners, 'attempt'],
  'lease lost': [...foreigners, 'installation owner', 'attempt of another job', 'ended attempt'],
} as const;
const words = (id: string) => ({ jobId: id, attempt: 1, runnerId: 'r1' });

const ofRuns: readonly Right[] = [
  right(
    runner('LeaseJob'),
    { ok: [...runners, 'foreign owner'], denied: ['foreign machine', 'installation owner'] },
    async ({ freshJob }) => {
      await freshJob('pending');
      return { runnerId: 'r2', kinds: ['single_label_classification'] };
    },
    // No runner continues the leased jobs; without this, their leases would expire while other callers are tried.
    async ({ on }) => {
      await sql`update training_job set lease_until = now() + interval '1 day' where runner_id = 'r2'`.execute(on.db);
    },
  ),
  right(
    runner('ReportJob'),
    { ...ofAttempts, 'lease lost': [...foreigners, 'installation owner', 'attempt of another job'] },
    ({ job }) => ({ ...words(job.id), phase: 'training' }),
  ),
  right(runner('CompleteJob'), ofAttempts, async ({ freshJob, freshBlob }) => {
    const [job, { sha256, bytes }] = [await freshJob('in_progress'), await freshBlob()];
    return {
      messages: [{ ...words(job.id), files: [{ path: 'model.onnx', sha256, sizeBytes: bytes.length }] }],
      job,
    };
  }),
  right(runner('FailJob'), ofAttempts, async ({ freshJob }) => {
    const job = await freshJob('in_progress');
    return { messages: [{ ...words(job.id), cause: 'data', code: 'X', message: 'x' }], job };
  }),
  right(runner('ConfirmStop'), ofAttempts, async ({ freshJob }) => {
    const job = await freshJob('canceling');
    return { messages: [words(job.id)], job };
  }),
  right(runner('ListRunners'), { shows: members }, ({ orgId }) => ({ organizationId: orgId })),
];

const published = async ({ freshBlob, freshName }: World) => {
  const { sha256, bytes } = await freshBlob();
  return {
    name: 'platform-agent',
    version: freshName().replace('fresh-', '1.0.'),
    platform: 'linux/amd64',
    sha256: Buffer.from(sha256, 'hex').toString('base64'),
    sizeBytes: String(bytes.length),
  };
};
const publish = async (world: World) => {
  const file = await published(world);
  const client = await world.on.client(ReleaseService);
  await client.publishRelease({
    ...file,
    sha256: Buffer.from(file.sha256, 'base64'),
    sizeBytes: BigInt(file.sizeBytes),
  });
  return { name: file.name, version: file.version };
};
const refused = { denied: [...foreigners, 'installation owner'] as Known[] };

const ofReleases: readonly Right[] = [
  right(release('PublishRelease'), { ...refused, ok: installers }, published),
  right(release('SetChannel'), { ...refused, ok: installers }, async (world) => ({
    ...(await publish(world)),
    channel: 'dev',
  })),
  right(release('RevokeRelease'), { ...refused, ok: installers }, publish),
  right(release('ListReleases'), { ok: users }, () => ({ name: 'platform-agent' })),
  right(release('GetMetadata'), { ok: users }, () => ({})),
];

/** Runs last: after documents are signed, the server refuses releases without them. */
export const rightToSign = (keys: KeyRing): Right =>
  right(release('SubmitMetadata'), { ...refused, ok: installers }, async (world) => {
    const current = await (await world.on.client(ReleaseService)).getMetadata({});
    const onlineKey = JSON.parse(current.onlineKey) as PublicKey;
    const isFirst = current.root.length === 0;
    const root = isFirst ? firstRoot(keys, 1, onlineKey, Date.now()) : Buffer.from(current.root);
    const { name, version, platform, sha256, sizeBytes } = await published(world);
    const hex = Buffer.from(sha256, 'base64').toString('hex');
    const target = programTarget({ name, version, platform }, { sizeBytes: Number(sizeBytes), sha256: hex });
    const signed = nextTargets({ root, targets: current.targets }, keys, Date.now(), { add: [target] });
    return {
      ...(isFirst && { root: root.toString('base64') }),
      ...(signed.targets && { targets: signed.targets.toString('base64') }),
      ...(signed.installerSignature && { installerSignature: signed.installerSignature.toString('base64') }),
      releases: [{ name, version, platform, sha256, sizeBytes }],
    };
  });

export const rightsOfTraining: readonly Right[] = [...ofJobs, ...rightsOfSuggestions, ...ofRuns, ...ofReleases];
