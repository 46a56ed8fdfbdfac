// Schemas that the machine server reported: what does not fit is named, and what never ends is ended.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import serverSchemas from '@platform/contract/gen/server-schemas.json' with { type: 'json' };
import { readServerSchemas, serverSchemaLimits } from '@platform/contract/machine-server/schemas';
import { systemClock } from '@platform/kit/node';
import { drawnSchemas } from './attribute-schemas.ts';
import { fieldsOf } from '../form/form-rows.ts';
import { branches } from './config-schema.ts';
import { formatPath } from './json-path.ts';
import { checkAttributes } from './schema-check.ts';
import { SchemaChecker } from './schema-checker.ts';
import type { CheckAnswer } from './schema-checker.ts';

const read = readServerSchemas(JSON.stringify(serverSchemas));
assert.ok(read.ok);
const drawn = drawnSchemas(read.schemas);
const modelOf = (name: string) => {
  const found = drawn.models.find(({ type, model }) => `${type} ${model}`.trim() === name);
  assert.ok(found, name);
  return found;
};

const rows: readonly [name: string, model: string, attributes: object, problems: readonly string[]][] = [
  ['nothing wrong', 'camera folder', { path: '/p', interval_seconds: 2 }, []],
  ['a missing attribute', 'camera folder', {}, ['path is required.']],
  ['a wrong type', 'camera folder', { path: 7 }, ['path must be a text.']],
  ['below the limit', 'camera folder', { path: '/p', interval_seconds: -1 }, ['interval_seconds must be at least 0.']],
  ['an empty text', 'camera folder', { path: '' }, ['path must not be empty.']],
  ['a pattern in words', 'camera http', { url: 'ftp://h' }, ['url must be an http(s) address.']],
  ['an entry of a list', 'data_manager', { camera: 'c', tags: ['a', ''] }, ['tags[1] must not be empty.']],
  ['attributes that no schema knows', 'sensor fake', { more: 1 }, []],
];
for (const [name, model, attributes, problems] of rows) {
  test(`attributes: ${name}`, () => {
    const found = checkAttributes(modelOf(model).reported, attributes);
    assert.deepEqual(
      found.map(({ path, message }) => `${formatPath(path)} ${message}`),
      problems,
    );
  });
}

test('a union says one thing, and a problem behind a reference names its limit', () => {
  const schema = {
    properties: {
      way: { anyOf: [{ type: 'number' }, { const: 'auto' }] },
      size: { $ref: '#/$defs/size' },
      'a/b': { properties: { 'c~d': { type: 'boolean' } } },
    },
    $defs: { size: { type: 'object', properties: { width: { maximum: 9 } } } },
  };
  const found = checkAttributes(schema, { way: 'x', size: { width: 10 }, 'a/b': { 'c~d': 1 } });
  assert.deepEqual(
    found.map(({ path, message }) => [...path, message]),
    [
      ['way', 'fits none of the forms that the machine server takes.'],
      ['size', 'width', 'must be at most 9.'],
      ['a/b', 'c~d', 'must be true or false.'],
    ],
  );
});

const repeated = (text: string, count: number): string => Array.from({ length: count }, () => text).join(',');
const unions = Object.fromEntries(
  Array.from({ length: 60 }, (_, at) => [
    `u${at}`,
    { anyOf: [{ $ref: `#/$defs/u${(at + 1) % 60}` }, { $ref: `#/$defs/u${(at + 1) % 60}` }] },
  ]),
);
const documentOf = (attributes: object, $defs: object = {}): string =>
  JSON.stringify({ models: [{ kind: 'component', type: 'camera', model: 'x', attributes }], $defs });
const wide = Object.fromEntries(
  Array.from({ length: 4_000 }, (_, at) => [`key ${at}`, { type: 'string', title: 'x' }]),
);

/** Each is a text that the management server stores. */
const hostile: readonly [name: string, document: string, attributes: unknown, answer: RegExp][] = [
  [
    'an expression that explodes',
    documentOf({ properties: { a: { type: 'string', pattern: '^(a+)+$' } } }),
    { a: `${'a'.repeat(40)}!` },
    /more than 1 second/,
  ],
  ['a reference to itself', documentOf({ $ref: '#/$defs/a' }, { a: { $ref: '#/$defs/a' } }), {}, /cannot be evaluated/],
  [
    'references in a circle',
    documentOf({ $ref: '#/$defs/a' }, { a: { anyOf: [{ $ref: '#/$defs/b' }] }, b: { allOf: [{ $ref: '#/$defs/a' }] } }),
    {},
    /cannot be evaluated/,
  ],
  ['two to the sixtieth', documentOf({ $ref: '#/$defs/u0' }, unions), {}, /more than 1 second|cannot be evaluated/],
  ['a reference that leads nowhere', documentOf({ $ref: '#/$defs/none' }), {}, /cannot be evaluated/],
  ['wide', documentOf({ properties: wide }), { 'key 1': 1 }, /"must be a text\."/],
  [
    'keywords of wrong types',
    documentOf({
      type: 7,
      title: { a: 1 },
      description: ['x'],
      required: 'path',
      enum: {},
      properties: { a: 7, b: { type: [1], enum: 'x', minimum: 'y', title: 3, properties: [], items: 'z' }, c: true },
      anyOf: {},
    }),
    {},
    /problems|cannot be evaluated/,
  ],
  [
    'names of the language',
    documentOf({ properties: JSON.parse('{"__proto__":{"type":"string"},"constructor":{"$ref":"#/$defs/toString"}}') }),
    {},
    /problems|cannot be evaluated/,
  ],
  [
    'levels up to the limit',
    documentOf(JSON.parse(`${'{"properties":{"a":'.repeat(28)}{"type":"string"}${'}}'.repeat(28)}`) as object),
    {},
    /problems/,
  ],
  ['as long as the limit', documentOf({ description: 'x'.repeat(serverSchemaLimits.bytes - 200) }), {}, /problems/],
  [
    'a list of many forms',
    documentOf({ anyOf: JSON.parse(`[${repeated('{"type":"number"}', 1_500)}]`) as [] }),
    {},
    /none/,
  ],
];

function startWorker() {
  const worker = new Worker(new URL('schema-check-thread.ts', new URL('../../../../test/', import.meta.url)));
  let answered: ((answer: CheckAnswer) => void) | undefined;
  worker.on('message', (answer: CheckAnswer) => answered?.(answer));
  const ready = once(worker, 'online').then(() => undefined);
  return {
    ready,
    check: (job: object) =>
      new Promise<CheckAnswer>((resolve) => {
        answered = resolve;
        worker.postMessage(job, []);
      }),
    end: () => void worker.terminate(),
  };
}

test('a worker whose program does not load leaves the values unchecked', async () => {
  const ready = Promise.reject(new Error('not found'));
  const checker = new SchemaChecker(
    () => ({ ready, check: () => assert.fail('it checks'), end: () => {} }),
    systemClock,
  );
  const answer = await checker.check({ key: 'k', schema: {}, value: {} }, new AbortController().signal);
  assert.deepEqual(answer, { unchecked: 'the program that checks it did not load' });
});

for (const [name, document, attributes, expected] of hostile) {
  test(`hostile schema: ${name}`, async () => {
    const accepted = readServerSchemas(document);
    assert.ok(accepted.ok, accepted.ok ? '' : accepted.problem);
    const schemas = drawnSchemas(accepted.schemas);
    const [model] = schemas.models;
    assert.ok(model);
    // The form can be drawn.
    const fields = fieldsOf(branches(model.attributes, model.attributes), model.attributes);
    for (const field of fields)
      for (const text of [field.title, field.description]) assert.equal(typeof text, 'string');
    const checker = new SchemaChecker(startWorker, systemClock);
    const { signal } = new AbortController();
    const answer = await checker.check({ key: 'k', schema: model.reported, value: attributes }, signal);
    assert.match(JSON.stringify(answer), expected);
    // Another schema is checked afterwards.
    const good = modelOf('camera folder').reported;
    const other = await checker.check({ key: 'good', schema: good, value: {} }, signal);
    checker.end();
    assert.deepEqual(other, { problems: [{ path: ['path'], message: 'is required.' }] });
  });
}
