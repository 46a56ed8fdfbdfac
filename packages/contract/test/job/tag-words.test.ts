import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tagWordProblem } from '../../src/job/tag-words.ts';

const splits = 'a split is split:train, split:validation or split:test';
const rows: readonly [tag: string, problem: string | undefined][] = [
  ['split:train', undefined],
  ['split:validation', undefined],
  ['split:test', undefined],
  ['group:left', undefined],
  ['group:a:b', undefined],
  ['cup', undefined],
  ['split', undefined],
  ['split pea', undefined],
  ['banana:split', undefined],
  ['size:large', undefined],
  ['split:val', `write split:validation; ${splits}`],
  ['split:valid', `write split:validation; ${splits}`],
  ['Split:Train', `write split:train; ${splits}`],
  ['split: test', `write split:test; ${splits}`],
  [' split:test', `write split:test; ${splits}`],
  ['spilt:train', `write split:train; ${splits}`],
  ['split：test', `write split:test; ${splits}`],
  ['split:foo', splits],
  ['split:', splits],
  ['group:', 'group: needs a name after it, such as group:left'],
  ['Group:left', 'write group:left to keep the images of a group together'],
  ['group : left', 'write group:left to keep the images of a group together'],
  ['groups:left', 'write group:left to keep the images of a group together'],
];
for (const [tag, problem] of rows)
  test(`tag words: ${JSON.stringify(tag)}`, () => assert.equal(tagWordProblem(tag), problem));
