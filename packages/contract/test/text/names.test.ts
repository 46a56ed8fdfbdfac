import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longestName, nameProblem, showable } from '@platform/contract/text/names';

const refused: readonly [string, RegExp][] = [
  ['', /empty/],
  ['x'.repeat(longestName + 1), /at most 100/],
  ...['\0', '\n', '\t', '\u001b[31m', '\u007f', '\u009b', '\u061c', '\u200b', '\u200e', '\u200f'].map(
    (harmful): [string, RegExp] => [`a${harmful}b`, /no control characters/],
  ),
  ...['\u202a', '\u202b', '\u202c', '\u202d', '\u202e', '\u2066', '\u2067', '\u2068', '\u2069', '\u2028', '\u2029'].map(
    (harmful): [string, RegExp] => [`a${harmful}b`, /direction/],
  ),
  ...['\u00ad', '\u2060', '\u3164', '\ufeff', '\ud800', '\u{e0041}'].map((harmful): [string, RegExp] => [
    `a${harmful}b`,
    /invisible/,
  ]),
];
for (const [text, problem] of refused)
  test(`no name: ${JSON.stringify(text).slice(0, 40)} ${text.codePointAt(1)?.toString(16) ?? ''}`, () => {
    assert.match(nameProblem(text, longestName) ?? '', problem);
    if (text !== '' && text.length <= longestName) assert.match(showable(text), /^a\ufffd.*b$/);
  });

const taken = [
  'press 1',
  'Größe',
  'مكبس',
  'מכבש',
  '工場',
  'می\u200cخواهم',
  '👩\u200d🔧',
  'x'.repeat(longestName),
  '"<b>&\'',
  'é',
];
for (const text of taken)
  test(`a name: ${text.slice(0, 20)}`, () => {
    assert.equal(nameProblem(text, longestName), undefined);
    assert.equal(showable(text), text);
  });
