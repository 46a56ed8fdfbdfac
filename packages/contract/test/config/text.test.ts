import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { canonicalText, parseConfigText } from '@platform/contract/config/text';

const mistakes: [text: string, line: number, column: number, says: RegExp][] = [
  ['', 1, 1, /ends too early/],
  ['{', 1, 2, /ends too early/],
  ['{"a": 1,}', 1, 9, /"}" is not expected/],
  ['{"a": 1\n  "b": 2}', 2, 3, /"\\"" is not expected/],
  ['{\n  "a": [1, 2,]\n}', 2, 14, /"]" is not expected/],
  ["{'a': 1}", 1, 2, /"'" is not expected/],
  ['{"a": tru}', 1, 7, /"t" is not expected/],
  ['{"a": 01}', 1, 8, /"1" is not expected/],
  ['{"a": "x\ny"}', 1, 9, /is not expected/],
  ['{"a": "\\q"}', 1, 8, /is not expected/],
  ['{} {}', 1, 4, /"\{" is not expected/],
  ['// comment\n{}', 1, 1, /"\/" is not expected/],
  ['{"a"', 1, 5, /ends too early/],
];
for (const [text, line, column, says] of mistakes) {
  test(`mistake in ${JSON.stringify(text)}`, () => {
    const parsed = parseConfigText(text);
    assert.ok(parsed.is === 'problem');
    assert.deepEqual([parsed.line, parsed.column, parsed.problem.severity], [line, column, 'error']);
    assert.match(parsed.problem.message, says);
  });
}

test('text that is JSON is parsed as JSON.parse does it', () => {
  fc.assert(
    fc.property(fc.json(), (text) => assert.deepEqual(parseConfigText(text), { is: 'json', json: JSON.parse(text) })),
    { seed: 29 },
  );
});

/** Where the engine itself sees the mistake, if its message says so. */
function engineOffset(text: string): number | undefined {
  try {
    JSON.parse(text);
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    const position = /at position (\d+)/.exec(message)?.[1];
    return position === undefined
      ? message.includes('end of JSON input')
        ? text.length
        : undefined
      : Number(position);
  }
  return undefined;
}

test('the reported place is where the engine sees the mistake, or the start of the same word', () => {
  let compared = 0;
  fc.assert(
    fc.property(
      fc.json({ maxDepth: 3 }),
      fc.nat(),
      fc.constantFrom('', ',', '}', ']', ':', '"', 'x', '\n', '{', '0'),
      (text, at, put) => {
        const place = at % (text.length + 1);
        const broken = text.slice(0, place) + put + text.slice(place + 1);
        const parsed = parseConfigText(broken);
        if (parsed.is === 'json') return;
        const lines = broken.split('\n').slice(0, parsed.line - 1);
        const offset = lines.reduce((sum, line) => sum + line.length + 1, 0) + parsed.column - 1;
        const engine = engineOffset(broken);
        if (engine === undefined) return;
        compared += 1;
        assert.ok(
          offset <= engine && /^\\?[\w.+-]*$/.test(broken.slice(offset, engine)),
          `${offset}, engine ${engine} in ${broken}`,
        );
      },
    ),
    { seed: 31, numRuns: 3000 },
  );
  assert.ok(compared > 500, `only ${compared} compared`);
});

test('canonical text does not depend on the order of keys or on blanks, and is the same value', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (json) => {
      const turned = Object.fromEntries(Object.entries(json).toReversed());
      assert.equal(canonicalText(json), canonicalText(turned));
      assert.deepEqual(JSON.parse(canonicalText(json)), JSON.parse(JSON.stringify(json)));
    }),
    { seed: 37 },
  );
  assert.equal(canonicalText({ b: [1, { d: null, c: 'x' }], a: undefined }), '{"b":[1,{"c":"x","d":null}]}');
});

test('a text of more levels than a machine can decode is refused at the bracket, however deep and whether it ends', () => {
  const nested = (levels: number): string => `\n${'['.repeat(levels)}${']'.repeat(levels)}`;
  assert.equal(parseConfigText(nested(40)).is, 'json');
  assert.equal(parseConfigText(`["${'['.repeat(50)}"]`).is, 'json');
  for (const text of [nested(41), nested(500_000), `\n${'['.repeat(100_000)}`, `\n${'[{"a":'.repeat(20_000)}`]) {
    const parsed = parseConfigText(text);
    assert.ok(parsed.is === 'problem');
    assert.match(parsed.problem.message, /has more than 40 levels/);
    assert.equal(parsed.line, 2);
  }
});
