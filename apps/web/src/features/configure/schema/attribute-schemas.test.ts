import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerSchemas } from '@platform/contract/machine-server/schemas';
import { readServerSchemas } from '@platform/contract/machine-server/schemas';
import { drawnSchemas, modelOfEntry } from './attribute-schemas.ts';
import { checkedEntries } from './checked-entries.ts';
import { readConfigText } from '../config-edit.ts';
import { fieldsOf } from '../form/form-rows.ts';
import { branches } from './config-schema.ts';
import { reportedParts } from '../form/reported-parts.ts';

function read(document: object): ServerSchemas {
  const serverSchemas = readServerSchemas(JSON.stringify(document));
  assert.ok(serverSchemas.ok, serverSchemas.ok ? '' : serverSchemas.problem);
  return serverSchemas.schemas;
}
const drawn = drawnSchemas(
  read({
    models: [
      { kind: 'component', type: 'rdk:component:camera', model: 'acme:vision:depth', attributes: { title: 'a' } },
      { kind: 'component', type: 'camera', model: 'other:vision:depth', attributes: { title: 'b' } },
      {
        kind: 'service',
        type: 'vision',
        model: 'detector',
        title: 'Detector',
        attributes: { properties: { camera: { type: 'string', reference: 'camera' } }, examples: [{ camera: '' }] },
      },
    ],
    module: { type: 'object', properties: { executable_path: { type: 'string' } } },
  }),
);

const entries: readonly [key: string, entry: object, model: string | undefined][] = [
  ['components', { api: 'rdk:component:camera', model: 'acme:vision:depth' }, 'acme:vision:depth'],
  ['components', { type: 'camera', model: 'other:vision:depth' }, 'other:vision:depth'],
  ['components', { type: 'camera', model: 'depth' }, 'acme:vision:depth'],
  ['services', { type: 'vision', model: 'detector' }, 'detector'],
  ['services', { type: 'camera', model: 'depth' }, undefined],
  ['components', { type: 'camera', model: 7 }, undefined],
];
test('an entry finds its model by triple, or by the last parts of type and model', () => {
  for (const [key, entry, model] of entries)
    assert.equal(modelOfEntry(drawn, key, entry as Record<string, unknown>)?.model, model, JSON.stringify(entry));
});

test('"Add" writes what was reported, with a free name and the first entry that an attribute can name', () => {
  const [depth, , detector, module] = reportedParts(drawn);
  const before = readConfigText('{"components":[{"name":"front","type":"camera","model":"http"}]}');
  const added = (part = depth) => JSON.parse(part?.add(before)?.text ?? '') as Record<string, unknown[]>;
  assert.deepEqual(added()['components']?.[1], {
    name: 'camera-1',
    api: 'rdk:component:camera',
    model: 'acme:vision:depth',
    attributes: {},
  });
  assert.deepEqual(added(detector)['services'], [
    { name: 'vision-1', type: 'vision', model: 'detector', attributes: { camera: 'front' } },
  ]);
  assert.deepEqual(added(module)['modules'], [{ name: 'module-1' }]);
});

test('the checks cover the attributes of known models, also missing ones, and modules', () => {
  const config = {
    components: [{ type: 'camera', model: 'depth' }, 7, { type: 'unknown' }],
    services: [{ type: 'vision', model: 'detector', attributes: { camera: 'x' } }],
    modules: [{ executable_path: 1 }],
  };
  assert.deepEqual(
    checkedEntries(config, drawn).map(({ path, value }) => [path.join('.'), value]),
    [
      ['components.0.attributes', {}],
      ['services.0.attributes', { camera: 'x' }],
      ['modules.0', { executable_path: 1 }],
    ],
  );
  assert.deepEqual(checkedEntries([], drawn), []);
});

test('what is drawn is bounded, and of the types that the form expects', () => {
  const long = 'x'.repeat(5_000);
  const { models } = drawnSchemas(
    read({
      models: [
        {
          kind: 'component',
          type: 'camera',
          title: `\u202e${long}`,
          description: long,
          attributes: {
            properties: {
              a: { title: long, enum: Array.from({ length: 5_000 }, (_, at) => at), default: { b: 1 } },
              b: { type: ['string', 7], title: { c: 1 }, minimum: '1' },
            },
            examples: 'none',
          },
        },
      ],
    }),
  );
  const [model] = models;
  assert.ok(model);
  assert.ok(model.title.length <= 130 && model.description.length <= 1_000 && !model.title.includes('\u202e'));
  assert.deepEqual(model.example, {});
  const [a, b] = fieldsOf(branches(model.attributes, model.attributes), model.attributes);
  assert.deepEqual([a?.values.length, a?.title.length, a?.kind], [500, 120, 'choice']);
  assert.deepEqual([b?.title, b?.limits, b?.kind], ['b', undefined, 'text']);
});
