// Queries of log lines: what each word stands for, and where and why a word is wrong.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireLogQuery } from '../../src/logs/filter.ts';
import { parseLogQuery, type LogTerm } from '../../src/logs/query.ts';

type Written = LogTerm extends infer T ? Omit<T, 'isNegated'> & { isNegated?: boolean } : never;
const rows: [query: string, terms: Written[]][] = [
  ['', []],
  ['  ', []],
  ['no such device', ['no', 'such', 'device'].map((text) => ({ is: 'text', text }) as Written)],
  ['"no such device"', [{ is: 'text', text: 'no such device' } as Written]],
  ['„läuft“', [{ is: 'text', text: 'läuft' } as Written]],
  ['-timeout', [{ is: 'text', text: 'timeout', isNegated: true } as Written]],
  ['-', [{ is: 'text', text: '-' } as Written]],
  ['10.0.0.1:8080', [{ is: 'text', text: '10.0.0.1:8080' } as Written]],
  ['a,b', [{ is: 'text', text: 'a,b' } as Written]],
  ['/dev/video0', [{ is: 'text', text: '/dev/video0' } as Written]],
  ['/', [{ is: 'text', text: '/' } as Written]],
  ['/try=\\d+/', [{ is: 'expression', source: 'try=\\d+', ignoresCase: false } as Written]],
  ['/a b/i', [{ is: 'expression', source: 'a b', ignoresCase: true } as Written]],
  ['-/\\/dev\\//', [{ is: 'expression', source: '\\/dev\\/', ignoresCase: false, isNegated: true } as Written]],
  ['level:error', [{ is: 'level', levels: ['error'] } as unknown as Written]],
  ['level:Error,warning', [{ is: 'level', levels: ['error', 'warn'] } as unknown as Written]],
  ['level>=warn', [{ is: 'level', levels: ['error', 'warn'] } as unknown as Written]],
  ['-level:debug', [{ is: 'level', levels: ['debug'], isNegated: true } as unknown as Written]],
  ['logger:front', [{ is: 'logger', text: 'front', isWhole: false } as Written]],
  ['logger="resources.front"', [{ is: 'logger', text: 'resources.front', isWhole: true } as Written]],
  ['boot:1f3a', [{ is: 'boot', text: '1f3a' } as Written]],
  ['host:barn', [{ is: 'host', text: 'barn', isWhole: false } as Written]],
  ['camera=front', [{ is: 'field', name: 'camera', text: 'front', isWhole: true } as Written]],
  ['camera~"front left"', [{ is: 'field', name: 'camera', text: 'front left', isWhole: false } as Written]],
  ['Err.code=5', [{ is: 'field', name: 'Err.code', text: '5', isWhole: true } as Written]],
];
test('what each word of a query stands for', () => {
  for (const [query, expected] of rows)
    assert.deepEqual(
      requireLogQuery(query),
      expected.map((term) => ({ isNegated: false, ...term })),
      query,
    );
});

test('a wrong word is named with its place, its cause and what to write', () => {
  const table: [query: string, word: string, problem: RegExp, instead: RegExp][] = [
    ['a lvel:error', 'lvel:error', /no property "lvel"/, /level:error/],
    ['level:loud', 'level:loud', /no level "loud"/, /level:error/],
    ['level~error', 'level~error', /no level/, /level:error/],
    ['level>=error,warn', 'level>=error,warn', /no level/, /level>=warn/],
    ['level:', 'level:', /a value must follow/, /level:error/],
    ['logger>=a', 'logger>=a', /logger has no order/, /logger:front/],
    ['camera=', 'camera=', /a value must follow/, /camera=front/],
    ['https://host/x', 'https://host/x', /no property "https"/, /"https:\/\/host\/x" in quotation marks/],
    ['"open', '"open', /not closed/, /"open"/],
    ['logger="open', 'logger="open', /not closed/, /"open"/],
    ['""', '""', /no text/, /between the quotation marks/],
    ['a /(/', '/(/', /not a regular expression: Unterminated group/, /for example/],
    ['x '.repeat(21), 'x', /more than 20/, /fewer/],
  ];
  for (const [query, word, problem, instead] of table) {
    const found = parseLogQuery(query).problem;
    assert.ok(found, query);
    assert.equal(found.word, word, query);
    assert.equal(query.slice(found.start, found.end), word, query);
    assert.match(found.problem, problem);
    assert.match(found.instead, instead);
  }
  assert.match(parseLogQuery('x'.repeat(1_001)).problem?.problem ?? '', /more than 1000 characters/);
});
