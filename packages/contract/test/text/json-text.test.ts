import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJsonText } from '@platform/contract/text/json-text';

const table: readonly [string, string, unknown][] = [
  ['plain', '{"a": 1}', { a: 1 }],
  ['comments', '// first\n{"a": /* one */ 1, // end\n "b": 2}', { a: 1, b: 2 }],
  [
    'signs of comments in texts',
    '{"a": "http://x/*y*/", "b": "\\"// no" // yes\n}',
    { a: 'http://x/*y*/', b: '"// no' },
  ],
  ['commas at the end', '{"a": [1, 2,], "b": {"c": 1,},}', { a: [1, 2], b: { c: 1 } }],
  ['a comma before a comment', '{"a": 1, // end\n}', { a: 1 }],
  ['a byte order mark', '\uFEFF{"a": 1}', { a: 1 }],
  ['a comma in a text', '{"a": "x,]", /* c */ "b": 1,}', { a: 'x,]', b: 1 }],
];
for (const [name, text, value] of table) {
  test(`JSON with ${name}`, () => assert.deepEqual(parseJsonText(text), value));
}

for (const text of ['', '{', '{"a": 1 "b": 2}', '/* open', '// only', '{"a": }', '[1,,2]']) {
  test(`no JSON: ${text}`, () => {
    assert.throws(() => parseJsonText(text), SyntaxError);
  });
}

test('a long text is read in no time', () => {
  const text = `{"a": "${'x/*'.repeat(20_000)}", // ${'/*'.repeat(20_000)}\n}`;
  assert.equal((parseJsonText(text) as { a: string }).a.length, 60_000);
});
