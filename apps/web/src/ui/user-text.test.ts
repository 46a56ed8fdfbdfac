import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isolateText } from './user-text.ts';

const rows: readonly [string, string][] = [
  ['press 1', 'press 1'],
  ['Größe 工場', 'Größe 工場'],
  ['מכבש', '\u2068מכבש\u2069'],
  ['مكبس 2', '\u2068مكبس 2\u2069'],
  ['old\u202ename', 'old\ufffdname'],
  ['out\u2069side', 'out\ufffdside'],
];
for (const [text, shown] of rows)
  test(`beside other text: ${JSON.stringify(text)}`, () => assert.equal(isolateText(text), shown));
