// The JSON Schemas that a machine server reports: stored once for each content, refused with a reason, read by who operates the machine.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import schemas from '@platform/contract/gen/server-schemas.json' with { type: 'json' };
import { platformServerKnowledge } from '@platform/contract/machine-server/resources';
import { serverSchemaLimits } from '@platform/contract/machine-server/schemas';
import { mostServerSchemas } from '../src/machines/store/server-schemas.ts';
import { failure } from './failure.ts';
import { testServer } from './server.ts';

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const reported = JSON.stringify(schemas);

async function world() {
  const on = await testServer();
  const fleet = await on.client(FleetService);
  const machine = async (name: string) => {
    const { partId, part } = await on.machine(name);
    const [own, agent] = await Promise.all([on.client(FleetService, part), on.client(AgentDeviceService, part)]);
    return {
      partId,
      store: (schemasJson: string, sha256 = hashOf(schemasJson)) =>
        own.storeServerSchemas({ partId, sha256, schemasJson }),
      asks: (text: string) => own.storeServerSchemas({ partId, sha256: hashOf(text) }),
      reports: (schemasSha256: string) =>
        agent.deviceAgentConfig({
          id: partId,
          hostInfo: { platform: 'linux/amd64', tags: ['platform-agent'] },
          report: {
            appliedRevision: 0n,
            hostname: name,
            serverKnowledge: {
              models: platformServerKnowledge.models.map((one) => ({ ...one, references: [...one.references] })),
              packageTypes: [...platformServerKnowledge.packageTypes],
              schemasSha256,
            },
          },
        }),
    };
  };
  return { on, fleet, machine, [Symbol.asyncDispose]: () => on[Symbol.asyncDispose]() };
}

test('the schemas of a machine server are stored once, and read through the report of each machine', async () => {
  await using here = await world();
  const { on, fleet } = here;
  const [first, second] = [await here.machine('first'), await here.machine('second')];
  const read = (partId: string) => fleet.getServerSchemas({ partId });
  await first.reports('');
  assert.partialDeepStrictEqual(await read(first.partId), { sha256: '', schemasJson: '' }, 'an old machine server');
  assert.equal((await first.asks(reported)).stored, false);
  assert.equal((await first.store(reported)).stored, true);
  assert.equal((await second.asks(reported)).stored, true, 'the second machine sends no text');
  assert.equal((await on.db.selectFrom('serverSchemas').selectAll().execute()).length, 1);
  assert.equal((await read(first.partId)).schemasJson, '', 'its report does not name them yet');
  for (const one of [first, second]) {
    await one.reports(hashOf(reported));
    assert.equal((await read(one.partId)).schemasJson, reported);
  }
  // Its report is of a server that has none again.
  await second.reports('');
  assert.partialDeepStrictEqual(await read(second.partId), { sha256: '', schemasJson: '' });
});

const nested = (levels: number): string =>
  `{"models":[],"$defs":{"a":${'{"items":'.repeat(levels)}{}${'}'.repeat(levels)}}}`;
const refusals: readonly [name: string, text: string, problem: RegExp][] = [
  ['above the limit', `{"models":[],"x":"${'x'.repeat(serverSchemaLimits.bytes)}"}`, /have 262\d{3} bytes/],
  ['not JSON', '{"models":[', /not valid JSON/],
  ['without models', '{"$defs":{}}', /no list "models"/],
  ['too deep', nested(100), /more than 64 levels/],
  ['a reference outside', '{"models":[],"module":{"$ref":"https://a.example/s.json"}}', /leads outside.*a\.example/],
  ['a dynamic reference', '{"models":[],"module":{"$dynamicRef":"#a"}}', /use \$dynamicRef/],
  ['a model without attributes', '{"models":[{"kind":"component","type":"camera"}]}', /models\[0\] has no kind/],
];

test('schemas that cannot be used are refused with the reason, and the report stays', async () => {
  await using here = await world();
  const { fleet } = here;
  const machine = await here.machine('m');
  for (const [name, text, problem] of refusals) {
    assert.equal(await failure(machine.store(text)), 'InvalidArgument SERVER_SCHEMAS_REFUSED', name);
    assert.equal(await failure(machine.asks(text)), 'InvalidArgument SERVER_SCHEMAS_REFUSED', `${name}: asked again`);
    await machine.reports(hashOf(text));
    const read = await fleet.getServerSchemas({ partId: machine.partId });
    assert.equal(read.schemasJson, '', name);
    assert.match(read.refused?.message ?? '', problem, name);
    const { machine: shown } = await fleet.getMachine({ id: machine.partId });
    assert.equal(shown?.report?.hostname, 'm', `${name}: the rest of the report is there`);
  }
  assert.equal(await failure(machine.store(reported, hashOf('other'))), 'InvalidArgument INVALID_ARGUMENT');
});

test('what looks like a reference in data or in a name is none', async () => {
  await using here = await world();
  const machine = await here.machine('m');
  const attributes = {
    type: 'object',
    properties: { $ref: { type: 'string', default: 'x' }, $id: { const: { $ref: 'https://a.example' } } },
    examples: [{ $ref: 'https://a.example' }],
  };
  const text = JSON.stringify({ models: [{ kind: 'component', type: 'a', model: 'b', attributes }] });
  assert.equal((await machine.store(text)).stored, true);
});

test('an organization keeps the schemas that its machines named last', async () => {
  await using here = await world();
  const machine = await here.machine('m');
  const text = (at: number): string => JSON.stringify({ models: [], at });
  for (let at = 0; at < mostServerSchemas; at++) await machine.store(text(at));
  await machine.asks(text(0));
  await machine.store(text(mostServerSchemas));
  assert.deepEqual([(await machine.asks(text(0))).stored, (await machine.asks(text(1))).stored], [true, false]);
});

test('a machine that has not reported has the schemas of platform-server, as assumed ones', async () => {
  await using here = await world();
  const { fleet } = here;
  const one = await here.machine('one');
  const read = async () => fleet.getServerSchemas({ partId: one.partId });
  const before = await read();
  assert.deepEqual([before.schemasJson, before.sha256], [reported, hashOf(reported)]);
  assert.match(before.assumedServer, /^platform-server \d/);
  const file = `https://files.example/server#sha256=${'a'.repeat(64)}`;
  const pin = (version: string) =>
    fleet.saveConfig({
      partId: one.partId,
      configJson: JSON.stringify({ agent: { version_control: { 'platform-server': version } } }),
    });
  await pin(file);
  assert.partialDeepStrictEqual(await read(), { schemasJson: '', assumedServer: '' }, 'a program of its owner');
  await pin('stable');
  const own = JSON.stringify({ models: [] });
  await one.store(own);
  await one.reports(hashOf(own));
  assert.partialDeepStrictEqual(await read(), { schemasJson: own, assumedServer: '' });
  await one.reports('');
  assert.partialDeepStrictEqual(await read(), { schemasJson: '', assumedServer: '' }, 'a server without schemas');
});
