import assert from 'node:assert/strict';
import { test } from 'node:test';
import { httpFieldOf } from '../src/http-field.ts';

const rows: [line: string, expected: [string, string] | undefined][] = [
  ['Host: device', ['Host', 'device']],
  ['a:b:c', ['a', 'b:c']],
  ['a: \t b c\t ', ['a', 'b c']],
  ['a:', ['a', '']],
  ['a:   ', ['a', '']],
  ['a:\u00a0b\v', ['a', '\u00a0b\v']],
  ['Content-Length : 5', undefined],
  [' folded: x', undefined],
  ['no colon', undefined],
  [':x', undefined],
  ['a: b\0', undefined],
  ['', undefined],
  [`a: b${' '.repeat(65_536)}c`, ['a', `b${' '.repeat(65_536)}c`]],
];
for (const [line, expected] of rows)
  test(`a header line: ${JSON.stringify(line.slice(0, 24))}`, () => {
    const found = httpFieldOf(line);
    assert.deepEqual(found && [found.name, found.value], expected);
  });
