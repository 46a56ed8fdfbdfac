import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { jsonAt, readConfigText, removeValue, renameKey, setValue, typedAt } from './config-edit.ts';
import { parsePath } from './schema/json-path.ts';

const spread = `{
    "b": 1.0,
    "agent": { "debug": true,  "minutes": 1e1 },
    "networks": [
        { "type": "wifi" }
    ],
    "empty": {}
}
`;

/** Text, path, JSON of the value (undefined: it is removed), and the text after it. */
type Edit = [name: string, text: string, path: string, literal: string | undefined, after: string];
const edits: Edit[] = [
  ['a value stays where it is', spread, 'agent.debug', 'false', spread.replace('true', 'false')],
  ['a number is kept as typed', spread, 'b', '2.50', spread.replace('1.0', '2.50')],
  ['a member of an object on one line', spread, 'agent.x', '1', spread.replace('1e1', '1e1, "x": 1')],
  ['objects that are missing', spread, 'agent.group.key', '"v"', spread.replace('1e1', '1e1, "group": { "key": "v" }')],
  [
    'an entry of a list',
    spread,
    'networks[1]',
    '{"type":"wired","dns":[]}',
    spread.replace(
      '{ "type": "wifi" }',
      '{ "type": "wifi" },\n        {\n            "type": "wired",\n            "dns": []\n        }',
    ),
  ],
  ['a list that is missing', '{}', 'a[0]', '"x"', '{\n  "a": [\n    "x"\n  ]\n}'],
  ['an empty text', '{}', 'agent.debug', 'true', '{\n  "agent": {\n    "debug": true\n  }\n}'],
  ['a text on one line', '{"a":1}', 'b.c', '[1,2]', '{"a":1,"b":{"c":[1,2]}}'],
  ['a text on one line with spaces', '{ "a": 1 }', 'b.c', '"x"', '{ "a": 1, "b": { "c": "x" } }'],
  ['an empty object', spread, 'empty.a', '1', spread.replace('{}', '{\n        "a": 1\n    }')],
  ['line ends of Windows', '{\r\n  "a": 1\r\n}', 'b', '2', '{\r\n  "a": 1,\r\n  "b": 2\r\n}'],
  ['tabs', '{\n\t"a": 1\n}', 'b.c', '2', '{\n\t"a": 1,\n\t"b": {\n\t\t"c": 2\n\t}\n}'],
  ['another type gives way', '{ "agent": 7 }', 'agent.debug', 'true', '{ "agent": { "debug": true } }'],
  ['another type of the whole text gives way', '7', 'a', '1', '{\n  "a": 1\n}'],
  ['the last of several', '{ "a": 1, "b": 2 }', 'b', undefined, '{ "a": 1 }'],
  ['the first of several', '{ "a": 1, "b": 2 }', 'a', undefined, '{ "b": 2 }'],
  ['the only one, with what it leaves empty', '{ "a": { "b": { "c": 1 } }, "d": 2 }', 'a.b.c', undefined, '{ "d": 2 }'],
  ['everything', '{ "a": { "b": 1 } }', 'a.b', undefined, '{}'],
  ['the only entry of a list', '{ "a": [{ "b": 1 }], "d": 2 }', 'a[0]', undefined, '{ "d": 2 }'],
  ['an entry of a list stays, empty', '{ "a": [{ "b": 1 }] }', 'a[0].b', undefined, '{ "a": [{}] }'],
  ['what is not there', spread, 'agent.nothing', undefined, spread],
];
for (const [name, text, path, literal, after] of edits)
  test(`${literal === undefined ? 'removed' : 'written'}: ${name}`, () => {
    const to = parsePath(path);
    assert.equal(literal === undefined ? removeValue(text, to) : setValue(text, to, literal), after);
  });

test('a key is renamed in its place', () => {
  assert.equal(renameKey('{ "a": { "b":  1.0, "c": 2 } }', ['a', 'b'], 'x"'), '{ "a": { "x\\"":  1.0, "c": 2 } }');
  assert.equal(renameKey('{}', ['a'], 'b'), '{}');
});

test('a value is read as it was typed', () => {
  const read = readConfigText(spread);
  assert.equal(typedAt(read, ['b']), '1.0');
  assert.equal(typedAt(read, ['networks', 0, 'type']), '"wifi"');
  assert.equal(typedAt(read, ['networks', 1]), undefined);
  assert.equal(jsonAt(read.json, ['networks', 0, 'type']), 'wifi');
  assert.equal(jsonAt(read.json, ['toString']), undefined);
});

test('any value written is there, nothing else changes, and removing it restores the text', () => {
  const key = fc.constantFrom('a', 'b', 'c"', '', '__proto__');
  const json = fc.jsonValue({ maxDepth: 3 });
  const layout = fc.constantFrom(undefined, 1, 2, '\t');
  fc.assert(
    fc.property(
      fc.dictionary(key, json),
      key,
      fc.array(key, { maxLength: 2 }),
      json,
      layout,
      (before, top, rest, value, space) => {
        const text = JSON.stringify(before, null, space);
        const path = [`new ${top}`, ...rest];
        const after = setValue(text, path, JSON.stringify(value));
        assert.deepEqual(jsonAt(JSON.parse(after), path), JSON.parse(JSON.stringify(value)));
        assert.equal(removeValue(after, path), text);
      },
    ),
    { seed: 7 },
  );
});
