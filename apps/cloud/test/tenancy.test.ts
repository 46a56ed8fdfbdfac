import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import type { JsonObject } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { sql } from 'kysely';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { DataSyncService } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { MLTrainingService, ModelType } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { BulkService } from '@platform/contract/gen/platform/bulk/v1/bulk_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { smallPng } from '@platform/kit/testing';
import type { Role } from '../src/access/rules/permissions.ts';
import type { Database } from '../src/database/database.ts';
import { insertKey } from '../src/access/store/keys.ts';
import { insertMachine } from '../src/machines/store/machines.ts';
import { insertLocation } from '../src/access/store/organizations.ts';
import { callAs, mark, requestFor, services, type Victim } from './every-call.ts';
import { bearer, type Credentials, testServer, type TestServer } from './server.ts';

/** An image that the server can decode, with a text that must not leak. */
const marked = (text: string): Buffer => Buffer.concat([smallPng(text), Buffer.from(text)]);

async function makeVictim(on: TestServer): Promise<Victim> {
  const { orgId, server, db } = on;
  const { partId, machineId, part } = await on.machine(`${mark} machine`);
  const fleet = await on.client(FleetService);
  await fleet.saveConfig({
    partId,
    configJson: JSON.stringify({ components: [{ name: mark, type: 'camera', model: 'folder' }] }),
  });
  await (await on.client(RobotService, part)).log({ id: partId, logs: [{ message: `${mark} line` }] });
  const { id: datasetId } = await (
    await on.client(DatasetService)
  ).createDataset({ organizationId: orgId, name: `${mark} dataset` });
  const uploads = await on.client(DataSyncService);
  const dataIds: string[] = [];
  for (let n = 0; n < 30; n++) {
    const { binaryDataId } = await uploads.dataCaptureUpload({
      metadata: {
        partId,
        type: 1,
        componentName: mark,
        fileExtension: '.png',
        // Measured when it arrives, so that its row stays as it is.
        imagesOnly: true,
        tags: [n % 2 === 0 ? 'a' : 'b'],
        datasetIds: [datasetId],
      },
      sensorContents: [{ data: { case: 'binary', value: marked(`${mark} image ${n}`) }, metadata: {} }],
    });
    dataIds.push(binaryDataId);
  }
  const shared = await makeShared(on, machineId, partId);
  const { id: jobId } = await (
    await on.client(MLTrainingService)
  ).submitTrainingJob({
    organizationId: orgId,
    datasetId,
    modelName: `${mark}-model`,
    modelVersion: '1',
    modelType: ModelType.SINGLE_LABEL_CLASSIFICATION,
    tags: ['a', 'b'],
  });
  await db
    .updateTable('organization')
    .set({ name: `${mark} organization` })
    .where('id', '=', orgId)
    .execute();
  return {
    orgId,
    machineId,
    partId,
    datasetId,
    jobId,
    ...shared,
    dataId: dataIds[0] ?? '',
    locationId: server.firstRun.locationId,
    keyId: server.firstRun.runnerKeyId,
  };
}

/** What an organization has for many of its machines. */
async function makeShared(on: TestServer, machineId: string, partId: string) {
  const organizationId = on.orgId;
  const app = await on.client(AppService);
  const configJson = JSON.stringify({ components: [{ name: mark, type: 'camera', model: 'folder' }] });
  const { fragment } = await app.createFragment({ organizationId, name: `${mark} fragment`, configJson });
  const fleet = await on.client(FleetService);
  await fleet.tagMachine({ id: machineId, add: [mark] });
  await fleet.saveMachineView({ organizationId, view: { name: 'x', query: mark } });
  await fleet.createInstallKey({ partId });
  await fleet.restartPart({ partId });
  const bulk = await on.client(BulkService);
  const change = { change: { case: 'tags' as const, value: { add: ['x'] } } };
  const { operation } = await bulk.startBulkOperation({ target: { organizationId, query: mark }, change });
  return { fragmentId: fragment?.id ?? '', operationId: operation?.id ?? '' };
}

/** Creates another organization with its own machine. */
async function makeForeign(
  on: TestServer,
): Promise<{ orgId: string; credentials: Record<Exclude<Role, 'metrics'> | 'machine', Credentials> }> {
  const { db } = on;
  const orgId = randomUUID();
  await db.insertInto('organization').values({ id: orgId, name: 'Foreign', publicNamespace: 'foreign' }).execute();
  await insertLocation(db, { id: 'foreign000', orgId, name: 'Elsewhere', parentLocationId: null });
  await insertMachine(db, { orgId, locationId: 'foreign000', name: 'theirs' }, Buffer.alloc(32));
  const key = async (role: Role): Promise<Credentials> => {
    const made = await insertKey(db, {
      orgId,
      name: role,
      grants: [{ role, resource: 'organization', resourceId: orgId, orgId }],
    });
    return { type: 'api-key', entity: made.id, payload: made.key };
  };
  const owner = await key('owner');
  const { robots } = await (await on.client(AppService, owner)).listRobotsForOrg({ orgId });
  const made = await (await on.client(FleetService, owner)).createMachine({ organizationId: orgId, name: 'second' });
  assert.equal(robots.length, 1);
  const { cloud } = JSON.parse(made.credentialsJson) as { cloud: { id: string; secret: string } };
  return {
    orgId,
    credentials: {
      owner,
      operator: await key('operator'),
      runner: await key('runner'),
      machine: { type: 'robot-secret', entity: cloud.id, payload: cloud.secret },
    },
  };
}

/** Reads all rows except those of `foreignOrgId`, by table; the server writes the last contact asynchronously. */
async function contents(db: Database, foreignOrgId: string): Promise<Record<string, string>> {
  const { rows } = await sql<{ name: string; hasOrg: boolean }>`
    select table_name as name, exists (select from information_schema.columns c where c.table_name = t.table_name and column_name = 'org_id') as "hasOrg"
    from information_schema.tables t where table_schema = 'public' and table_name not in ('change', 'audit', 'sign_in_link', 'condition_record', 'fleet_sample', 'watched_time') order by 1`.execute(
    db,
  );
  const found: Record<string, string> = {};
  for (const { name, hasOrg } of rows) {
    const where = hasOrg
      ? sql`where org_id is distinct from ${foreignOrgId}::uuid`
      : name === 'organization'
        ? sql`where id <> ${foreignOrgId}::uuid`
        : sql``;
    const answer = await sql<{
      text: string | null;
    }>`select string_agg((to_jsonb(r) - 'last_seen')::text, E'\n' order by r::text) as text from ${sql.table(name)} r ${where}`.execute(
      db,
    );
    found[name] = answer.rows[0]?.text ?? '';
  }
  return found;
}

const refusals: ReadonlySet<Code> = new Set([
  Code.NotFound,
  Code.PermissionDenied,
  Code.Unimplemented,
  Code.InvalidArgument,
  Code.FailedPrecondition,
  Code.AlreadyExists,
  Code.Aborted,
]);

test('no call with a key of another organization shows or changes anything', async () => {
  await using on = await testServer();
  const victim = await makeVictim(on);
  const foreign = await makeForeign(on);
  const before = await contents(on.db, foreign.orgId);
  const tried = { calls: 0, refused: 0 };

  for (const [role, credentials] of Object.entries(foreign.credentials)) {
    const transport = createGrpcTransport({ baseUrl: on.url, interceptors: [bearer(await on.token(credentials))] });
    for (const service of services) {
      for (const method of service.methods) {
        const ids = [
          victim.machineId,
          victim.partId,
          victim.keyId,
          victim.datasetId,
          victim.jobId,
          victim.fragmentId,
          victim.operationId,
          victim.orgId,
          `${victim.orgId}/${mark}-model`,
        ];
        const requests = new Set(ids.map((id) => JSON.stringify(requestFor(method.input, victim, id))));
        for (const request of requests) {
          tried.calls++;
          const what = `${role} ${service.typeName}/${method.name} ${request}`;
          try {
            const answer = await callAs(transport, method, JSON.parse(request) as JsonObject);
            for (const secret of [
              mark,
              victim.partId,
              victim.machineId,
              victim.datasetId,
              victim.jobId,
              victim.fragmentId,
            ]) {
              assert.ok(!answer.includes(secret) || isEcho(answer, request, secret), `${what} shows ${answer}`);
            }
          } catch (error) {
            if (error instanceof assert.AssertionError) throw error;
            tried.refused++;
            assert.ok(refusals.has(ConnectError.from(error).code), `${what}: ${ConnectError.from(error).message}`);
          }
        }
      }
    }
    assert.deepEqual(await contents(on.db, foreign.orgId), before, `changed as ${role}`);
  }
  assert.ok(tried.refused > 200, `${tried.refused} of ${tried.calls} calls were refused`);
});

/** An answer with only an id that the caller sent (as RobotService returns) discloses nothing. */
const isEcho = (answer: string, request: string, secret: string): boolean =>
  request.includes(secret) && Object.keys(JSON.parse(answer) as object).join() === 'id';

test('every call requires a token', async () => {
  await using on = await testServer();
  const transport = createGrpcTransport({ baseUrl: on.url });
  for (const service of services) {
    for (const method of service.methods) {
      if (method.methodKind !== 'unary') continue;
      const client = createClient(service, transport) as unknown as Record<string, (input: object) => Promise<unknown>>;
      const error = await client[method.localName]?.({}).then(
        () => 'no failure',
        (found: unknown) => ConnectError.from(found).code,
      );
      assert.ok(
        error === Code.Unauthenticated || error === Code.Unimplemented,
        `${service.typeName}/${method.name}: ${error}`,
      );
    }
  }
});
