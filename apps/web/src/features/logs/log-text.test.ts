import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markedPieces, roundedNumbers, safeText, shortText } from './log-text.ts';

test('no character of a line changes the page', () => {
  const table: [text: string, shown: string][] = [
    ['plain über 🦄', 'plain über 🦄'],
    ['\u001b[1;31mred\u001b[0m', 'red'],
    ['\u001b]0;title\u0007', '\\u001b]0;title\\u0007'],
    ['\u202etxt.exe\u202c', '\\u202etxt.exe\\u202c'],
    ['a\u2066b\u2069\u200b\ufeff', 'a\\u2066b\\u2069\\u200b\\ufeff'],
    ['a\tb\nc', 'a\tb\nc'],
    ['\r\u0000', '\\u000d\\u0000'],
  ];
  for (const [text, shown] of table) assert.equal(safeText(text), shown);
});

test('a row shows one line of text; a long one says so', () => {
  assert.deepEqual(shortText('a\n\tb'), { text: 'a ↵ b', isCut: false });
  const long = shortText(`${'x'.repeat(399)}🦄${'y'.repeat(65_536)}`);
  assert.equal(long.isCut, true);
  assert.ok(long.text.length <= 400 && long.text.isWellFormed());
});

test('numbers have three digits where no more are read', () => {
  assert.equal(
    roundedNumbers(' score=0.9731628894805908 n=12.5 id=1.2.3 x=12345.678901'),
    ' score=0.973 n=12.5 id=1.2.3 x=12346',
  );
});

test('hits of words are marked in any case', () => {
  const table: [text: string, words: string[], pieces: string[]][] = [
    ['No such device', [], ['No such device']],
    ['No such device', ['SUCH'], ['No ', 'such', ' device']],
    ['aXbxa', ['x', 'b'], ['a', 'X', '', 'b', '', 'x', 'a']],
    ['abc', ['ab', 'abc'], ['', 'abc', '']],
    ['İx', ['x'], ['İx']],
    ['abc', [''], ['abc']],
  ];
  for (const [text, words, pieces] of table) assert.deepEqual(markedPieces(text, words), pieces);
});
