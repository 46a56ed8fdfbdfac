import { createHash, randomUUID } from 'node:crypto';
import { smallPng } from '@platform/kit/testing';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { JsonObject } from '@bufbuild/protobuf';
import { sql } from 'kysely';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { DataSyncService } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { MLTrainingService, ModelType } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { type Tokens, tokens } from '../../src/access/tokens.ts';
import type { Grant, Role } from '../../src/access/rules/permissions.ts';
import { createScriptKey } from '../../src/training/store/attempts.ts';
import { insertKey } from '../../src/access/store/keys.ts';
import { insertMachine } from '../../src/machines/store/machines.ts';
import { insertLocation } from '../../src/access/store/organizations.ts';
import { exchangeSignInLink, insertSignInLink } from '../../src/access/store/sessions.ts';
import { archiveOf, scriptEntries } from '../script-archive.ts';
import { type Credentials, testServer, type TestServer } from '../server.ts';

/** Part of all data of the attacked organization, and of no request: an answer that contains it leaks data. */
export const mark = 'victim';

/** Part of each secret in the configurations of the attacked machine. Only the machine itself may read it. */
export const secretMark = 'unreadable';

export type Machine = {
  machineId: string;
  partId: string;
  name: string;
  part: Credentials;
  owner: Credentials;
  operator: Credentials;
};

export type Job = { id: string; token: string; script: Credentials };

export type Keys = {
  owner: Credentials;
  operator: Credentials;
  /** Owner of everything at the location `locationId`. */
  placeOwner: Credentials;
  placeOperator: Credentials;
  /** Owner of everything at the other location. */
  elsewhereOwner: Credentials;
  elsewhereOperator: Credentials;
  /** Publishes releases and has no organization. */
  installation: Credentials;
  /** Reads metrics of the installation, and nothing else. */
  metrics: Credentials;
};

/** An organization with objects of every kind, and other organizations. */
export type World = AsyncDisposable & {
  on: TestServer;
  tokens: Tokens;
  signingKey: Buffer;
  orgId: string;
  locationId: string;
  elsewhereId: string;
  machine: Machine;
  /** In the same location. */
  beside: Machine;
  keys: Keys;
  datasetId: string;
  /** No job trains on it, and no machine is configured for it. */
  otherDatasetId: string;
  /** An image of the dataset, and its hash. */
  dataId: string;
  dataSha256: string;
  /** An image outside any dataset. */
  looseId: string;
  /** Used by the configuration of the machine. */
  fragmentId: string;
  /** Used by no machine. */
  otherFragmentId: string;
  /** Named in the configuration of the machine. */
  modelName: string;
  otherModelName: string;
  scriptName: string;
  /** A running attempt, a second running one, and one that just ended. */
  job: Job;
  otherJob: Job;
  endedJob: Job;
  foreign: { orgId: string; locationId: string; owner: Credentials; machine: Machine };
  /** Returns an unused name. */
  freshName(): string;
  freshMachine(): Promise<Machine>;
  freshKey(grants: readonly Grant<Role>[]): Promise<Credentials>;
  freshDataset(): Promise<string>;
  freshImage(datasetIds?: readonly string[]): Promise<string>;
  freshPackage(kind: 'ml_model' | 'ml_training'): Promise<string>;
  freshFragment(config?: JsonObject): Promise<string>;
  freshJob(state: 'pending' | 'in_progress' | 'canceling' | 'failed'): Promise<Job>;
  /** The cookie of a browser that is signed in as the owner of the installation. */
  freshCookie(): Promise<string>;
  freshBlob(): Promise<{ bytes: Buffer; sha256: string }>;
  token(of: Credentials): Promise<string>;
};

/** An image that the server can decode, with a text that must not leak. */
const marked = (text: string): Buffer => Buffer.concat([smallPng(text), Buffer.from(text)]);

const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

export const grantOn = (role: Role, resource: Grant['resource'], resourceId: string, orgId?: string): Grant<Role> => ({
  role,
  resource,
  resourceId,
  orgId,
});

/** Factories on one server and its database: keys, machines, signed-in browsers. */
function makers(on: TestServer) {
  const { db, server } = on;
  const counter = { count: 0 };
  const freshName = (): string => `fresh-${counter.count++}`;
  const known = new Map<string, Promise<string>>();
  const token = (of: Credentials): Promise<string> => {
    const name = `${of.type} ${of.entity} ${of.payload}`;
    const found = known.get(name) ?? on.token(of);
    known.set(name, found);
    return found;
  };
  const keyIn = async (orgId: string, grants: readonly Grant<Role>[]): Promise<Credentials> => {
    const made = await insertKey(db, { orgId, name: freshName(), grants });
    return { type: 'api-key', entity: made.id, payload: made.key };
  };
  const machineAt = async (orgId: string, locationId: string, name: string): Promise<Machine> => {
    const sealingKey = Buffer.from(
      (JSON.parse(await readFile(path.join(server.dataFolder, 'secrets.json'), 'utf8')) as { sealing_key: string })
        .sealing_key,
      'base64url',
    );
    const { machineId, partId } = await insertMachine(db, { orgId, locationId, name }, sealingKey);
    const [owner, operator] = [
      await keyIn(orgId, [grantOn('owner', 'robot', machineId, orgId)]),
      await keyIn(orgId, [grantOn('operator', 'robot', machineId, orgId)]),
    ];
    const { credentialsJson } = await (
      await on.client(FleetService, { token: await token(owner) })
    ).getCredentials({
      partId,
    });
    const { cloud } = JSON.parse(credentialsJson) as { cloud: { id: string; secret: string } };
    const part: Credentials = { type: 'robot-secret', entity: cloud.id, payload: cloud.secret };
    return { machineId, partId, name, part, owner, operator };
  };
  const freshCookie = async (): Promise<string> => {
    const expiresOn = Date.now() + 3_600_000;
    const link = await insertSignInLink(db, { userId: server.firstRun.ownerId, expiresOn });
    const session = await exchangeSignInLink(db, link, { expiresOn, now: Date.now(), address: '127.0.0.1' });
    return `platform_session=${session ?? ''}`;
  };
  return { freshName, token, keyIn, machineAt, freshCookie };
}

/** Images, packages and jobs of one organization. */
function ownThings(on: TestServer, of: { partId: string; freshName: () => string; token: World['token'] }) {
  const { db, orgId } = on;
  const { partId, freshName } = of;
  const asOwner = async () => ({ token: await of.token(on.owner) });
  const freshDataset = async (name = freshName()): Promise<string> =>
    (await (await on.client(DatasetService, await asOwner())).createDataset({ organizationId: orgId, name })).id;
  const image = async (bytes: Uint8Array, datasetIds: readonly string[], tag = 'a'): Promise<string> => {
    const { binaryDataId } = await (
      await on.client(DataSyncService, await asOwner())
    ).dataCaptureUpload({
      metadata: {
        partId,
        type: 1,
        componentName: `${mark} camera`,
        fileExtension: '.png',
        // Measured when it arrives, so that its row stays as it is.
        imagesOnly: true,
        tags: [tag, `${mark} tag`],
        datasetIds: [...datasetIds],
      },
      sensorContents: [
        {
          data: { case: 'binary', value: bytes },
          metadata: { annotations: { bboxes: [{ label: `${mark} box`, xMaxNormalized: 1, yMaxNormalized: 1 }] } },
        },
      ],
    });
    return binaryDataId;
  };
  const freshPackage = async (kind: 'ml_model' | 'ml_training', name = freshName()): Promise<string> => {
    const bytes = await archiveOf(scriptEntries(`print("${mark} ${name}")`));
    const metadata = encodeURIComponent(JSON.stringify({ secret: `${mark} metadata` }));
    const answer = await fetch(`${on.url}/packages/${orgId}/${name}?type=${kind}&version=1&metadata=${metadata}`, {
      method: 'POST',
      body: bytes,
      headers: { authorization: `Bearer ${await of.token(on.owner)}` },
    });
    if (!answer.ok) throw new Error(await answer.text());
    await db
      .updateTable('registryItem')
      .set({ description: `${mark} item` })
      .where('orgId', '=', orgId)
      .where('name', '=', name)
      .execute();
    return name;
  };
  const freshFragment = async (config: JsonObject = { note: `${mark} fragment` }): Promise<string> => {
    const app = await on.client(AppService, await asOwner());
    const made = await app.createFragment({ organizationId: orgId, name: `${mark} ${freshName()}`, config });
    return made.fragment?.id ?? '';
  };
  return { freshDataset, image, freshPackage, freshFragment };
}

/** Creates jobs in the state that an attack needs. Each has a token of its attempt and a key for its script. */
function jobMaker(
  on: TestServer,
  of: { datasetId: string; scriptSha256: string; tokens: Tokens } & Pick<World, 'freshName' | 'token'>,
): World['freshJob'] {
  const { db, orgId } = on;
  return async (state) => {
    const client = await on.client(MLTrainingService, { token: await of.token(on.owner) });
    const { id } = await client.submitTrainingJob({
      organizationId: orgId,
      datasetId: of.datasetId,
      modelName: of.freshName(),
      modelVersion: '1',
      modelType: ModelType.SINGLE_LABEL_CLASSIFICATION,
      tags: ['a', 'b'],
    });
    const token = await of.tokens.issue({ subject: id, credentials: 'attempt', proof: '1' });
    const script = await createScriptKey(db, { orgId, id, attempt: 1 });
    if (state !== 'pending') {
      const isHeld = state !== 'failed';
      const lease = isHeld ? sql`now() + interval '1 day'` : sql`null`;
      const ended = isHeld ? sql`null` : sql`now()`;
      await sql`update training_job set state = ${state}, attempt = 1, runner_id = 'r1', started_on = now(), model_type = ${`${mark} type`},
        deadline = now() + interval '1 day', lease_until = ${lease}, ended_on = ${ended}, script_sha256 = ${of.scriptSha256} where id = ${id}`.execute(
        db,
      );
      await sql`insert into training_log (org_id, job_id, attempt, sequence, time, level, message)
        values (${orgId}, ${id}, 1, 1, now(), 'info', ${`${mark} line`})`.execute(db);
    }
    return { id, token, script: { type: 'api-key', entity: script.id, payload: script.key } };
  };
}

async function makeForeign(on: TestServer, make: ReturnType<typeof makers>): Promise<World['foreign']> {
  const orgId = randomUUID();
  await on.db.insertInto('organization').values({ id: orgId, name: 'Foreign', publicNamespace: 'foreign' }).execute();
  await insertLocation(on.db, { id: 'foreign000', orgId, name: 'Abroad', parentLocationId: null });
  const machine = await make.machineAt(orgId, 'foreign000', 'theirs');
  const owner = await make.keyIn(orgId, [grantOn('owner', 'organization', orgId, orgId)]);
  return { orgId, locationId: 'foreign000', machine, owner };
}

async function keysOf(
  orgId: string,
  locationId: string,
  elsewhereId: string,
  keyIn: ReturnType<typeof makers>['keyIn'],
) {
  const key = (role: Role, resource: Grant['resource'], id: string) =>
    keyIn(orgId, [grantOn(role, resource, id, resource === 'installation' ? undefined : orgId)]);
  return {
    owner: await key('owner', 'organization', orgId),
    operator: await key('operator', 'organization', orgId),
    placeOwner: await key('owner', 'location', locationId),
    placeOperator: await key('operator', 'location', locationId),
    elsewhereOwner: await key('owner', 'location', elsewhereId),
    elsewhereOperator: await key('operator', 'location', elsewhereId),
    installation: await key('owner', 'installation', 'installation'),
    metrics: await key('metrics', 'installation', 'installation'),
  };
}

/** Stores configuration, log lines and readings of the machine. */
async function setUp(
  on: TestServer,
  machine: Machine,
  { modelName, datasetId, fragmentId }: Pick<World, 'modelName' | 'datasetId' | 'fragmentId'>,
): Promise<void> {
  const { partId } = machine;
  const config = {
    fragments: [fragmentId],
    agent: {
      network_configuration: { hotspot_password: `${secretMark} hotspot` },
      advanced_settings: { platform_server_env: { LEVEL: `${secretMark} variable` } },
      additional_networks: [
        { type: 'wifi', ssid: 'Yard', psk: `${secretMark} psk` },
        { type: 'wired', name: 'office', eap_method: 'peap', eap_identity: 'm', eap_password: `${secretMark} eap` },
      ],
    },
    components: [{ name: 'arm', type: 'arm', model: 'fake', attributes: { note: `${mark} note` } }],
    services: [{ name: 'capture', type: 'data_manager', attributes: { dataset_ids: [datasetId] } }],
    packages: [{ name: modelName, package: `${on.orgId}/${modelName}`, type: 'ml_model', version: '1' }],
  };
  const fleet = await on.client(FleetService);
  await fleet.saveConfig({ partId, configJson: JSON.stringify({ agent: config.agent }) });
  await fleet.saveConfig({ partId, configJson: JSON.stringify(config) });
  await (await on.client(RobotService, machine.part)).log({ id: partId, logs: [{ message: `${mark} line` }] });
  await (
    await on.client(DataSyncService, machine.part)
  ).dataCaptureUpload({
    metadata: { partId, type: 2, componentName: 'sensor', componentType: 'sensor', methodName: 'Readings' },
    sensorContents: [{ data: { case: 'struct', value: { readings: `${mark} reading` } } }],
  });
  // A runner must offer scripts for as long as the attack lasts.
  await (
    await on.client(RunnerService, on.runner)
  ).leaseJob({ runnerId: `${mark}-runner`, kinds: ['custom'], containers: [{ key: 'python', uri: 'python' }] });
  await sql`update runner set last_seen = now() + interval '1 hour'`.execute(on.db);
}

/** @param argv - options of the server. */
export async function makeWorld(argv: readonly string[] = []): Promise<World> {
  const on = await testServer(argv);
  try {
    return await worldOn(on);
  } catch (error) {
    await on[Symbol.asyncDispose]();
    throw error;
  }
}

async function worldOn(on: TestServer): Promise<World> {
  const { db, orgId } = on;
  const { locationId } = on.server.firstRun;
  const secrets = JSON.parse(await readFile(path.join(on.server.dataFolder, 'secrets.json'), 'utf8')) as {
    signing_key: string;
  };
  const signingKey = Buffer.from(secrets.signing_key, 'base64url');
  const signer = tokens(signingKey);
  const make = makers(on);
  const { freshName, token } = make;
  await db
    .updateTable('organization')
    .set({ name: `${mark} organization` })
    .where('id', '=', orgId)
    .execute();
  const elsewhereId = 'elsewhere0';
  await insertLocation(db, { id: elsewhereId, orgId, name: 'Elsewhere', parentLocationId: null });
  const machine = await make.machineAt(orgId, locationId, `${mark}-machine`);
  const things = ownThings(on, { partId: machine.partId, freshName, token });
  const [datasetId, otherDatasetId] = [
    await things.freshDataset(`${mark} images`),
    await things.freshDataset(`${mark} others`),
  ];
  const bytes = marked(`${mark} image`);
  const dataId = await things.image(bytes, [datasetId]);
  for (let n = 0; n < 30; n++) await things.image(marked(`${mark} ${n}`), [datasetId], n % 2 === 0 ? 'a' : 'b');
  const modelName = await things.freshPackage('ml_model');
  const scriptName = await things.freshPackage('ml_training');
  const { packageSha256: scriptSha256 } = await db
    .selectFrom('registryVersion')
    .select('packageSha256')
    .where('name', '=', scriptName)
    .executeTakeFirstOrThrow();
  const fragmentId = await things.freshFragment({
    agent: { advanced_settings: { platform_server_env: { OTHER: `${secretMark} fragment` } } },
  });
  await setUp(on, machine, { modelName, datasetId, fragmentId });
  const freshJob = jobMaker(on, { datasetId, scriptSha256, tokens: signer, freshName, token });
  return {
    on,
    tokens: signer,
    signingKey,
    orgId,
    locationId,
    elsewhereId,
    machine,
    beside: await make.machineAt(orgId, locationId, 'beside'),
    keys: await keysOf(orgId, locationId, elsewhereId, make.keyIn),
    datasetId,
    otherDatasetId,
    dataId,
    dataSha256: sha256Of(bytes),
    looseId: await things.image(marked(`${mark} loose`), [], 'loose'),
    fragmentId,
    otherFragmentId: await things.freshFragment(),
    modelName,
    otherModelName: await things.freshPackage('ml_model'),
    scriptName,
    job: await freshJob('in_progress'),
    otherJob: await freshJob('in_progress'),
    endedJob: await freshJob('failed'),
    foreign: await makeForeign(on, make),
    freshName,
    freshMachine: () => make.machineAt(orgId, locationId, freshName()),
    freshKey: (grants) => make.keyIn(orgId, grants),
    freshDataset: () => things.freshDataset(),
    freshImage: (datasetIds = []) => things.image(marked(`${mark} ${freshName()}`), datasetIds),
    freshPackage: (kind) => things.freshPackage(kind),
    freshFragment: (config) => things.freshFragment(config),
    freshJob,
    freshCookie: make.freshCookie,
    async freshBlob() {
      const content = Buffer.from(`${mark} ${freshName()}`);
      const sha256 = sha256Of(content);
      const headers = { authorization: `Bearer ${await token(on.owner)}` };
      const { ok } = await fetch(`${on.url}/blobs/${sha256}`, { method: 'PUT', body: content, headers });
      if (!ok) throw new Error('the file was not stored');
      return { bytes: content, sha256 };
    },
    token,
    [Symbol.asyncDispose]: () => on[Symbol.asyncDispose](),
  };
}
