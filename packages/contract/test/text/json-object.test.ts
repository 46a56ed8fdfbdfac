import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isObject, objectOf, parseJson, parseObject } from '../../src/text/json-object.ts';

const objects: readonly (readonly [text: string, value: Record<string, unknown>])[] = [
  ['{}', {}],
  [' {"a": 1} \n', { a: 1 }],
  ['{"a": {"b": [null]}}', { a: { b: [null] } }],
  ['{"a": 1, "a": 2}', { a: 2 }], // as JSON.parse: the last one counts
];
for (const [text, value] of objects) {
  test(`${JSON.stringify(text)} is a JSON object`, () => {
    assert.deepEqual(parseObject(text), value);
    assert.equal(isObject(parseJson(text)), true);
  });
}

const otherValues: readonly (readonly [text: string, value: unknown])[] = [
  ['null', null],
  ['[]', []],
  ['[{"a": 1}]', [{ a: 1 }]],
  ['"{}"', '{}'],
  ['1', 1],
  ['true', true],
];
for (const [text, value] of otherValues) {
  test(`${text} is JSON, but not an object`, () => {
    assert.deepEqual(parseJson(text), value);
    assert.equal(isObject(parseJson(text)), false);
    assert.equal(parseObject(text), undefined);
  });
}

for (const text of ['', '{', "{'a': 1}", '{"a": 1,}', '{} {}', 'undefined', 'NaN']) {
  test(`${JSON.stringify(text)} is not JSON: parsing returns undefined and does not throw`, () => {
    assert.equal(parseJson(text), undefined);
    assert.equal(parseObject(text), undefined);
  });
}

test('a key named __proto__ stays a plain key and gives other objects no property', () => {
  const parsed = parseObject('{"__proto__": {"isAdmin": true}}');
  assert.deepEqual(Object.keys(parsed ?? {}), ['__proto__']);
  assert.equal(Reflect.get({}, 'isAdmin'), undefined);
});

test('objectOf returns the same object, and undefined for every other value', () => {
  const value = { a: 1 };
  assert.equal(objectOf(value), value);
  for (const other of [undefined, null, [], 'text', 1, true, () => {}]) assert.equal(objectOf(other), undefined);
});
