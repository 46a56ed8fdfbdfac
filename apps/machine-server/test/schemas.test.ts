// What the server reports about its attributes is what it reads them with.
import { create } from '@bufbuild/protobuf';
import type { JsonObject } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { RobotConfigSchema } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { platformServerKnowledge } from '@platform/contract/machine-server/resources';
import { readServerSchemas } from '@platform/contract/machine-server/schemas';
import { captureLog, FakeClock, tempFolder } from '@platform/kit/testing';
import { Ajv2020 } from 'ajv/dist/2020.js';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serverSchemasJson, serverSchemasSha256 } from '../src/attributes.ts';
import { reportSchemas } from '../src/cloud/schema-report.ts';
import { readMachineConfig } from '../src/machine-config.ts';
import { fakeCloud } from './fake-cloud.ts';
import { startServer } from './server-process.ts';

const read = readServerSchemas(serverSchemasJson);
assert.ok(read.ok);
const { models } = read.schemas;

test('the schemas describe every model that the server runs, and its references', () => {
  const known = platformServerKnowledge.models.map(({ kind, type, model, references }) => ({
    kind,
    type,
    model,
    references: references.map((one) => `${one.attribute} ${one.type}`).toSorted(),
  }));
  const described = models.map(({ kind, type, model, attributes }) => ({
    kind,
    type,
    model,
    references: Object.entries(attributes['properties'] as Record<string, { reference?: string }>)
      .flatMap(([key, { reference }]) => (reference === undefined ? [] : [`${key} ${reference}`]))
      .toSorted(),
  }));
  assert.deepEqual(described, known);
});

test('a standard validator and the server agree about every attribute', () => {
  const ajv = new Ajv2020({ strict: false });
  const values = [
    undefined,
    '',
    'a',
    'https://host/a',
    'ftp://host',
    0,
    -1,
    0.1,
    1,
    1e10,
    true,
    [],
    ['a'],
    [''],
    [1],
    {},
  ];
  let checked = 0;
  for (const { kind, type, model, attributes } of models) {
    const validate = ajv.compile(attributes);
    const good = (attributes['examples'] as JsonObject[])[0] ?? {};
    // Examples leave references empty, which the user chooses.
    const filled = Object.fromEntries(Object.entries(good).map(([key, value]) => [key, value === '' ? 'x' : value]));
    for (const key of Object.keys(attributes['properties'] as object)) {
      for (const value of values) {
        const { [key]: _, ...others } = filled;
        const given = value === undefined ? others : { ...others, [key]: value };
        const entry = { name: 'n', type, model, attributes: given };
        const config = create(RobotConfigSchema, { [kind === 'component' ? 'components' : 'services']: [entry] });
        // That the named entry is missing is another check.
        const problems = readMachineConfig(config).problems.filter(({ problem }) => !problem.startsWith('there is no'));
        assert.equal(validate(given), problems.length === 0, `${type} ${model} ${key} ${JSON.stringify(value)}`);
        checked++;
      }
    }
  }
  assert.ok(checked > 300, String(checked));
});

test('a running server stores its schemas once, and its report names them', async () => {
  await using folder = await tempFolder();
  await using cloud = await fakeCloud();
  cloud.schemaFailures.push(Code.Unavailable);
  await using server = await startServer({ cloud, folder: folder.path });
  await server.until(
    'the schemas',
    async () => cloud.schemas.get(serverSchemasSha256),
    (text) => text !== undefined,
  );
  assert.equal(cloud.schemas.get(serverSchemasSha256), serverSchemasJson);
  assert.deepEqual(cloud.schemaCalls, ['asks', 'asks', 'sends'], 'the first call failed');
  assert.equal((await server.json('/resource_status')).body['schemas_sha256'], serverSchemasSha256);
});

test('a management server that does not know the call, or refuses the schemas, is not asked again', async () => {
  for (const [code, lines] of [
    [Code.Unimplemented, 0],
    [Code.InvalidArgument, 1],
  ] as const) {
    const clock = new FakeClock();
    const log = captureLog(clock);
    let calls = 0;
    const fleet = {
      storeServerSchemas: async () => {
        calls++;
        throw new ConnectError('set to fail', code);
      },
    };
    const of = { fleet, partId: 'p', clock, log: log.log, random: () => 0 };
    await reportSchemas(of, new AbortController().signal);
    assert.deepEqual([calls, log.lines.length], [1, lines], Code[code]);
  }
});
