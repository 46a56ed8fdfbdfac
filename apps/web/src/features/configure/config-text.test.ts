import assert from 'node:assert/strict';
import { test } from 'node:test';
import Ajv from 'ajv/dist/2020.js';
import configSchema from '@platform/contract/gen/config.schema.json' with { type: 'json' };
import * as fc from 'fast-check';
import { validate } from './config-validation.ts';
import { firstValue, keysAt } from './schema/config-schema.ts';
import type { JsonSchema } from './schema/config-schema.ts';
import { parsePath, formatPath, findRange, cursorAt, syntaxProblem } from './schema/json-path.ts';

const schema: JsonSchema = {
  type: 'object',
  properties: {
    agent: {
      type: 'object',
      description: 'The agent.',
      properties: {
        debug: { type: 'boolean', default: false, description: 'More logs.' },
        minutes: { type: 'integer', minimum: 1, maximum: 60, default: 10, unit: 'minutes', description: 'How long.' },
        save: { anyOf: [{ type: 'boolean' }, { type: 'null' }], default: null },
        kind: { enum: ['', 'all', 'security'] },
        networks: { $ref: '#/$defs/networks' },
      },
      required: ['minutes'],
      additionalProperties: {},
    },
  },
  $defs: {
    networks: {
      anyOf: [
        { type: 'array', items: { $ref: '#/$defs/network' } },
        { type: 'object', additionalProperties: { $ref: '#/$defs/network' } },
      ],
    },
    network: {
      type: 'object',
      properties: {
        type: { enum: ['wifi', 'wired'] },
        ssid: { type: 'string', maxLength: 4 },
        psk: { type: 'string', secret: true },
      },
      required: ['type'],
    },
  },
};

test('the schema finds every problem by path', () => {
  const table: [value: unknown, problems: string[]][] = [
    [{}, []],
    [{ agent: { minutes: 5, save: null, kind: '', unknown_key: 1 } }, []],
    [7, [' must be an object { … }']],
    [{ agent: {} }, ['agent.minutes is required']],
    [{ agent: { minutes: 'ten' } }, ['agent.minutes must be a whole number']],
    [{ agent: { minutes: 0.5 } }, ['agent.minutes must be a whole number']],
    [
      { agent: { minutes: 61, debug: 'yes' } },
      ['agent.minutes must be at most 60', 'agent.debug must be true or false'],
    ],
    [{ agent: { minutes: 5, save: 'no' } }, ['agent.save must be true or false or null']],
    [{ agent: { minutes: 5, kind: 'some' } }, ['agent.kind must be one of "", "all", "security"']],
    [
      { agent: { minutes: 5, networks: [{ type: 'wifi' }, { type: 'fax', ssid: 'abcde' }] } },
      [
        'agent.networks[1].type must be one of "wifi", "wired"',
        'agent.networks[1].ssid must have at most 4 characters',
      ],
    ],
    [{ agent: { minutes: 5, networks: { home: { ssid: 'a' } } } }, ['agent.networks.home.type is required']],
    [{ agent: { minutes: 5, networks: 3 } }, ['agent.networks must be a list [ … ] or an object { … }']],
  ];
  for (const [value, problems] of table) {
    const found = validate(value, schema).map(({ path, message }) => `${formatPath(path)} ${message}`);
    assert.deepEqual(found.toSorted(), problems.toSorted());
  }
});

test('a value passes here exactly when a full JSON Schema validator lets it pass', () => {
  const check = new Ajv({ strict: false }).compile(schema);
  const network = fc.record(
    { type: fc.constantFrom('wifi', 'wired', 'fax', 1), ssid: fc.oneof(fc.string({ maxLength: 6 }), fc.integer()) },
    { requiredKeys: [] },
  );
  const value = fc.record(
    {
      agent: fc.oneof(
        {
          weight: 9,
          arbitrary: fc.record(
            {
              debug: fc.oneof(fc.boolean(), fc.constant('x')),
              minutes: fc.oneof(fc.integer({ min: -2, max: 70 }), fc.constant(1.5)),
              save: fc.constantFrom(true, null, 3),
              kind: fc.constantFrom('', 'all', 'none', null),
              networks: fc.oneof(
                fc.array(network, { maxLength: 3 }),
                fc.dictionary(fc.string(), network, { maxKeys: 2 }),
                fc.constant('x'),
              ),
            },
            { requiredKeys: ['minutes'] },
          ),
        },
        { weight: 1, arbitrary: fc.constantFrom(null, [], 4) },
      ),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(value, (one) => {
      assert.equal(
        validate(one, schema).every((finding) => !finding.isError),
        check(one),
      );
    }),
    { numRuns: 500, seed: 7 },
  );
});

test('paths survive the way to text and back', () => {
  const step = fc.oneof(
    fc.nat(99),
    fc.stringMatching(/^[a-z_-]{1,8}$/),
    fc.constantFrom('a.b', 'x[0]', 'with "quotes"'),
  );
  fc.assert(
    fc.property(fc.tuple(fc.stringMatching(/^[a-z_]{1,8}$/), fc.array(step, { maxLength: 5 })), ([first, rest]) => {
      assert.deepEqual(parsePath(formatPath([first, ...rest])), [first, ...rest]);
    }),
    { seed: 7 },
  );
});

const text = `{
  "agent": {
    "minutes": 61,
    "networks": [{ "type": "wifi" }, { "type": "fax" }]
  }
}`;

test('a problem is marked where its value stands; a missing one at its parent', () => {
  const marked = (path: string): string => {
    const { from, to } = findRange(text, parsePath(path));
    return text.slice(from, to);
  };
  assert.equal(marked('agent.minutes'), '61');
  assert.equal(marked('agent.networks[1].type'), '"fax"');
  assert.equal(marked('agent.networks[1].ssid'), '{ "type": "fax" }');
  assert.equal(marked('agent.debug'), '"agent"');
  assert.equal(marked('nothing'), '{');
});

test('the cursor knows the key or value that it stands in', () => {
  const at = (needle: string, plus = 1) => {
    const spot = cursorAt(text, text.indexOf(needle) + plus);
    return spot && `${spot.at} ${formatPath(spot.path)}`;
  };
  assert.equal(at('"minutes"', 3), 'key agent.minutes');
  assert.equal(at('61'), 'value agent.minutes');
  assert.equal(at('"wifi"', 2), 'value agent.networks[0].type');
  assert.equal(at('"fax"', 2), 'value agent.networks[1].type');
  assert.deepEqual(cursorAt('{ "agent": {  } }', 13)?.path, ['agent', '']);
  assert.deepEqual(cursorAt('{  }', 2)?.path, ['']);
  assert.deepEqual(cursorAt('{ "agent": { "mi" } }', 16), {
    path: ['agent', 'mi'],
    at: 'key',
    place: { from: 13, to: 17 },
    present: ['mi'],
  });
});

test('keys are offered with type, default, unit and limits', () => {
  const [debug, minutes, save, kind, networks] = keysAt(schema, ['agent']);
  assert.deepEqual(minutes, {
    key: 'minutes',
    type: 'integer',
    description: 'How long.',
    default: '10',
    start: '10',
    unit: 'minutes',
    limits: '1 … 60',
    isRequired: true,
    isSecret: false,
    values: [],
    effect: undefined,
  });
  assert.equal(debug?.default, 'false');
  assert.equal(save?.type, 'boolean or null');
  assert.deepEqual(kind?.values, ['', 'all', 'security']);
  assert.equal(networks?.type, 'array or object');
  assert.equal(keysAt(schema, ['agent', 'networks', 0]).find((one) => one.key === 'psk')?.isSecret, true);
  assert.deepEqual(keysAt(schema, ['agent', 'nowhere']), []);
  assert.deepEqual(
    [debug, minutes, save, kind, networks].map((hint) => hint && firstValue(hint)),
    ['false', '10', 'true', '""', '[]'],
  );
});

test('the schema of the machine configuration: limits, words and secrets of every key are understood', () => {
  const problems = (value: unknown) =>
    validate(value, configSchema as JsonSchema).map(({ path, message }) => `${formatPath(path)} ${message}`);
  assert.deepEqual(
    problems({ agent: { version_control: { agent: 'stable', 'platform-server': '1.2.3' } }, anything: 1 }),
    [],
  );
  assert.deepEqual(
    problems({
      agent: {
        network_configuration: { user_idle_minutes: 0, hotspot_password: 'short' },
        additional_networks: [{ type: 'wifi', ssid: 'a', priority: 1000 }],
      },
      maintenance_window: { from: '25:00', to: '03:00' },
    }),
    [
      'agent.network_configuration.user_idle_minutes must be at least 1',
      'agent.network_configuration.hotspot_password must be 8 to 63 ASCII characters',
      'agent.additional_networks[0].priority must be at most 999',
      'maintenance_window.from must be a time from 00:00 to 23:59, such as 02:30',
    ],
  );
  const keys = keysAt(configSchema, ['agent', 'network_configuration']);
  assert.ok(keys.length >= 13 && keys.every((key) => key.description !== '' && key.type !== 'any value'));
  const reboot = keys.find((key) => key.key === 'device_reboot_after_offline_minutes');
  assert.deepEqual([reboot?.default, reboot?.start, reboot?.unit], ['0 (disabled)', '0', 'min']);
});

test('broken JSON is reported by line and column', () => {
  const table: [text: string, line: number, column: number][] = [
    ['{\n  "a": 1,\n  "b" 2\n}', 3, 7],
    ['{ "a": ', 1, 8],
    ['', 1, 1],
  ];
  for (const [broken, line, column] of table) {
    const problem = syntaxProblem(broken);
    assert.deepEqual([problem?.line, problem?.column], [line, column], JSON.stringify(broken));
  }
  assert.equal(syntaxProblem(text), undefined);
});
