import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlatformError } from '@platform/contract/errors/errors';
import { databaseExpression } from './log-expression.ts';

test('an expression keeps its meaning in the database', () => {
  const table: [source: string, expected: string][] = [
    ['try 1', 'try 1'],
    ['a.b', 'a[^\\n\\r]b'],
    ['a\\.b', 'a\\u002eb'],
    ['\\d+', '[0-9]{1,}'],
    ['\\w*?', '[A-Za-z0-9_]{0,}'],
    ['\\bon\\B', '\\yon\\Y'],
    ['^(a|b)$', '^(?:a|b)$'],
    ['(?<name>x)(?:y)', '(?:x)(?:y)'],
    ['[a-f\\d_-]', '[a-f0-9\\u005f\\u002d]'],
    ['[^\\s"]', '[^[:space:]\\u0022]'],
    ['[\\D5]', '(?:[5]|[^0-9])'],
  ];
  for (const [source, expected] of table) assert.equal(databaseExpression(source), expected, source);
});

test('what could take more than linear time, or more memory, is refused with its cause', () => {
  const table: [source: string, problem: RegExp][] = [
    ['(?=a)b', /look-ahead/],
    ['(?<!a)b', /look-behind/],
    ['(a)\\1', /references to groups/],
    ['\\p{L}', /properties of characters/],
    ['(?i:a)b', /flags within it.*write \/…\/i/],
    ['(?-i:a)', /flags within it/],
    ['a{300}', /repeats 300 times; at most 255/],
    ['((a{100}){100}){100}', /stands for \d+ characters/],
    ['[^\\D]', /write \[0-9\]/],
    ['[]', /empty class/],
    ['***=x', /Nothing to repeat/],
  ];
  for (const [source, problem] of table)
    assert.throws(
      () => databaseExpression(source),
      (error: PlatformError) => error.code === 'LOG_EXPRESSION_NOT_VALID' && problem.test(error.message),
      source,
    );
});
