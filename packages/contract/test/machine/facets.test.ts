// The text of a query around facets and suggestions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { presenceOf, toggledTerm, typedAt, writtenValue } from '../../src/machine/facets.ts';
import { parseMachineQuery } from '../../src/machine/query.ts';

for (const [query, term, expected] of [
  ['', 'tag:barn', 'tag:barn'],
  ['pump', 'tag:barn', 'pump tag:barn'],
  ['pump tag:Barn state:online', 'tag:barn', 'pump state:online'],
  ['tag = barn, pump', 'tag:barn', ', pump'],
  ['-tag:barn pump', 'tag:barn', 'pump tag:barn'],
  ['tag:barn pump', '-tag:barn', 'pump -tag:barn'],
  ['-tag:barn', '-tag:barn', ''],
  ['location="Hof  Lindau" a', 'location="Hof Lindau"', 'location="Hof  Lindau" a location="Hof Lindau"'],
] as const)
  test(`a click on ${term} in: ${query}`, () => assert.equal(toggledTerm(query, term), expected));

test('whether a query asks for a term', () => {
  assert.equal(presenceOf('a tag=barn', 'tag:barn'), 'asked');
  assert.equal(presenceOf('-tag:barn', 'tag:barn'), 'excluded');
  assert.equal(presenceOf('tag:barns stat:x', 'tag:barn'), 'absent');
});

test('each value is written so that the query finds exactly it', () => {
  for (const value of ['barn', 'Hof Lindau', 'a"b', '“x”', 'a,b', 'a\\', 'x:y=z', '-a', '1.4.2', 'DISK_FULL'])
    for (const field of ['location', 'model', 'condition'] as const) {
      const read = parseMachineQuery(writtenValue(field, value));
      const [term = assert.fail(), ...more] = read.problem ? [] : read.terms;
      assert.deepEqual([more, term], [[], { isNegated: false, comparison: { field, operator: '=', value } }], value);
    }
  assert.equal(writtenValue('tag', 'barn'), 'tag:barn');
  assert.equal(writtenValue('state', 'offline'), 'state:offline');
});

for (const [query, expected] of [
  ['|', 'name "" 0-0'],
  ['pump st|', 'name "st" 5-7'],
  ['-st|ate x', 'name "st" 1-6'],
  ['tag:ba|rn', 'value tag "ba" 0-8'],
  ['a -tag:|', 'value tag "" 3-7'],
  ['location:"Hof L|', 'value location "Hof L" 0-15'],
  ['location:"Hof L" st|', 'name "st" 17-19'],
  ['disk_free:2|', 'undefined'],
  ['barn-4|', 'undefined'],
] as const)
  test(`what is typed at the bar of: ${query}`, () => {
    const typed = typedAt(query.replace('|', ''), query.indexOf('|'));
    const shown =
      typed &&
      `${typed.is} ${typed.is === 'value' ? `${typed.field} ` : ''}${JSON.stringify(typed.text)} ${typed.start}-${typed.end}`;
    assert.equal(String(shown), expected);
  });
