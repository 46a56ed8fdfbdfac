import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resultFileLimits, resultNameProblem, resultPathProblem } from './result-files.ts';

const { depth } = resultFileLimits;
const good = [
  'm.onnx',
  'saved/variables/0',
  'a b',
  '...',
  'größe 模型.txt',
  'x'.repeat(200),
  '模'.repeat(85),
  Array.from({ length: depth }, () => 'd').join('/'),
];
for (const path of good) {
  test(`a path of a result: ${path.slice(0, 30)} (${path.length})`, () =>
    assert.equal(resultPathProblem(path), undefined));
}

const bad: [name: string, path: string, why: RegExp][] = [
  ['nothing', '', /empty/],
  ['absolute', '/etc/passwd', /empty/],
  ['upwards', 'a/../b', /\.\./],
  ['a folder', 'a/', /empty/],
  ['a colon', 'a:b', /colon/],
  ['a colon in a folder', 'a:b/m.onnx', /colon/],
  ['a backslash', 'a\\b', /backslash/],
  ['a line break', 'a\nb', /cannot be seen/],
  ['a character that turns the text around', 'a\u202Ebbb', /cannot be seen/],
  ['a line separator', 'a\u2028b', /cannot be seen/],
  ['bytes that are not text', 'a\uFFFD', /UTF-8/],
  ['a name of 201 characters', 'x'.repeat(201), /201 characters; the limit is 200/],
  ['a name of 258 bytes', '模'.repeat(86), /258 bytes; the limit is 255/],
  ['a path of 1001 characters', Array.from({ length: 7 }, () => 'x'.repeat(142)).join('/') + 'y', /1001 characters/],
  ['a path of more bytes than a path has', Array.from({ length: 6 }, () => '模'.repeat(60)).join('/'), /1085 bytes/],
  ['too deep', Array.from({ length: depth + 1 }, () => 'd').join('/'), /17 levels; the limit is 16/],
];
for (const [name, path, why] of bad) {
  test(`no path of a result: ${name}`, () => assert.match(resultPathProblem(path) ?? '', why));
}

test('each name of a good path is a good name', () => {
  for (const name of good.flatMap((path) => path.split('/'))) assert.equal(resultNameProblem(name), undefined);
});
