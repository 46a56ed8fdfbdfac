import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type DescEnum, type DescField, type DescMessage, type Message, ScalarType } from '@bufbuild/protobuf';
import { type ReflectMessage, reflect } from '@bufbuild/protobuf/reflect';
import { ConnectError } from '@connectrpc/connect';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { DataSyncService } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { PackageService } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { seededRandom } from '@platform/kit/testing';
import { trainingServer } from './training-server.ts';

type Random = <T>(of: readonly T[]) => T;

/** Fills a message of any type with values that a client might send by mistake or on purpose. */
function nasty<M extends DescMessage>(desc: M, pick: Random, texts: readonly string[], depth = 0): Message {
  const message = create(desc) as Message;
  // Wait times are out of scope here.
  if (desc.typeName === 'google.protobuf.Duration') return message;
  const fields = reflect(desc, message as never);
  for (const member of desc.members) {
    const field = member.kind === 'oneof' ? pick(member.fields) : member;
    if (depth > 2 && field.message) continue;
    if (pick([true, true, false])) set(fields, field, pick, texts, depth);
  }
  return message;
}

function set(fields: ReflectMessage, field: DescField, pick: Random, texts: readonly string[], depth: number): void {
  const scalar = (type: ScalarType): unknown => {
    switch (type) {
      case ScalarType.STRING:
        return pick(texts);
      case ScalarType.BOOL:
        return pick([true, false]);
      case ScalarType.BYTES:
        return pick([new Uint8Array(0), new Uint8Array([0, 1, 255])]);
      case ScalarType.DOUBLE:
        return pick([0, 0.5, 1, -1, Number.NaN, Infinity, 1e300]);
      case ScalarType.UINT64:
        return pick([0n, 1n, 2n ** 64n - 1n]);
      case ScalarType.INT64:
        return pick([0n, -1n, 2n ** 63n - 1n]);
      case ScalarType.INT32:
        return pick([0, -1, 2 ** 31 - 1]);
      default:
        return pick([0, 1, 2 ** 32 - 1]);
    }
  };
  const number = (type: DescEnum): number => pick([...type.values.map((one) => one.number), 99]);
  const inner = (type: DescMessage) => reflect(type, nasty(type, pick, texts, depth + 1));
  if (field.fieldKind === 'scalar') fields.set(field, scalar(field.scalar));
  else if (field.fieldKind === 'enum') fields.set(field, number(field.enum));
  else if (field.fieldKind === 'message') fields.set(field, inner(field.message));
  else if (field.fieldKind === 'list') {
    const list = fields.get(field);
    for (let n = pick([0, 1, 2]); n > 0; n--) {
      if (field.listKind === 'scalar') list.add(scalar(field.scalar));
      else if (field.listKind === 'enum') list.add(number(field.enum));
      else list.add(inner(field.message));
    }
  } else if (field.mapKind === 'scalar' && field.mapKey === ScalarType.STRING) {
    fields.get(field).set(pick(texts), scalar(field.scalar));
  }
}

test('no request makes the server fail: each is answered, or refused with a reason', async () => {
  await using server = await trainingServer();
  const random = seededRandom(20);
  const pick: Random = (of) => of[Math.floor(random() * of.length)] as never;
  const { orgId, partId, locationId } = server.own;
  const { id: datasetId } = await server
    .client(DatasetService, 'owner')
    .createDataset({ organizationId: orgId, name: 'd' });
  const { binaryDataId } = await server.client(DataSyncService, 'owner').dataCaptureUpload({
    metadata: { partId, datasetIds: [datasetId] },
    sensorContents: [{ data: { case: 'binary', value: new Uint8Array(1) } }],
  });
  const texts = [
    '',
    'x',
    '\0',
    'a\0b',
    '../..',
    "' or 1=1 --",
    '🦄',
    'é'.repeat(5000),
    '%',
    'latest',
    orgId,
    server.foreign.orgId,
    partId,
    locationId,
    datasetId,
    binaryDataId,
    `${orgId}/m`,
    `${orgId}:m`,
    `${orgId}/\0`,
    'single_label_classification',
  ];
  const failures = new Map<string, number>();
  const refused = new Map<number, number>();
  for (const service of [
    DataService,
    DatasetService,
    DataSyncService,
    MLTrainingService,
    PackageService,
    RunnerService,
  ]) {
    const client: unknown = server.client(service as typeof DataService, 'owner');
    for (const method of service.methods.filter((one) => one.methodKind === 'unary')) {
      const call = (client as Record<string, (request: Message) => Promise<unknown>>)[method.localName];
      assert.ok(call);
      for (let n = 0; n < 25; n++) {
        const request = nasty(method.input, pick, texts);
        const error: unknown = await call(request).then(
          () => undefined,
          (reason: unknown) => reason,
        );
        if (!(error instanceof ConnectError)) {
          if (error !== undefined) throw error as Error;
          continue;
        }
        refused.set(error.code, (refused.get(error.code) ?? 0) + 1);
        if (error.code === 2 || error.code >= 13) {
          const place = `${method.name}: ${error.rawMessage.slice(0, 60)}`;
          failures.set(place, (failures.get(place) ?? 0) + 1);
        }
      }
    }
  }
  assert.deepEqual([...failures], []);
  assert.ok((refused.get(3) ?? 0) > 20 && (refused.get(5) ?? 0) > 20, 'and it does refuse');
  const { jobs } = await server.client(MLTrainingService, 'owner').listTrainingJobs({ organizationId: orgId });
  assert.deepEqual(jobs, []);
});
