import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  fingerprintLetters,
  newSetUpCode,
  parseSetUpText,
  readSetUpCode,
  setUpText,
  setUpTextProblem,
  similarSetUpCodes,
} from '@platform/contract/provisioning/set-up-code';

test('a code has eight letters, none of which looks like another', () => {
  let n = 0;
  const all = Array.from({ length: 23 }, () => newSetUpCode((below) => n++ % below)).join('');
  assert.equal(new Set(all).size, 23);
  assert.ok(!/[ILO0-9]/.test(all));
  assert.equal(readSetUpCode(all.slice(0, 8)), all.slice(0, 8));
});

const rows: [text: string, read: ReturnType<typeof parseSetUpText>][] = [
  ['ABCD-EFGH@https://fleet.example', { code: 'ABCDEFGH', server: 'https://fleet.example' }],
  [' abcd efgh @ fleet.example:8443/ ', { code: 'ABCDEFGH', server: 'https://fleet.example:8443' }],
  ['ABCDEFGH@http://10.0.0.2:8080', { code: 'ABCDEFGH', server: 'http://10.0.0.2:8080' }],
  ['ABCDEFGH@https://fleet.example/path', undefined],
  ['ABCDEFGH@https://user@fleet.example', undefined],
  ['ABCDEFGH@https://fleet.example/?a', undefined],
  ['ABCDEFGH', undefined],
  ['ABCDEFG@https://fleet.example', undefined],
  ['ABCDEFGO@https://fleet.example', undefined],
  ['ABCDEFGH@', undefined],
  ['{"cloud":{"id":"a@b"}}', undefined],
  ['ABCD–EFGH@fleet.example', { code: 'ABCDEFGH', server: 'https://fleet.example' }],
  [
    'abcd-efgh@10.0.0.2:8443 # abcd efgh jkmn pqrs tuvw xyza',
    { code: 'ABCDEFGH', server: 'https://10.0.0.2:8443', authority: 'ABCDEFGHJKMNPQRSTUVWXYZA' },
  ],
  ['ABCDEFGH@fleet.example#ABCD', undefined],
  ['ABCDEFGH@fleet.example#', undefined],
];
for (const [text, read] of rows)
  test(`set-up text: ${text}`, () => {
    assert.deepEqual(parseSetUpText(text), read);
    if (read) assert.deepEqual(parseSetUpText(setUpText(read)), read);
  });

const problems: [text: string, problem: RegExp | undefined][] = [
  ['ABCD-EFG@fleet.example', /a set-up code has 8 letters, and this has 7$/],
  ['ABCD-EFG0@fleet.example', /without I, L and O/],
  ['ABCD-EFGH', /the server is missing/],
  ['ABCD-EFGH@', /not the address of a server/],
  ['ABCD-EFGH@fleet.example/app', /not the address of a server/],
  ['ABCD-EFGH@fleet.example#ABCD-EFGH', /what follows the # has 24 letters, and this has 8$/],
  ['ABCD-EFGH@fleet.example', undefined],
  ['{"cloud": 1', undefined],
  [' ', undefined],
  ['x'.repeat(500), undefined],
];
for (const [text, problem] of problems)
  test(`what is wrong with ${text.slice(0, 60)}`, () => {
    const found = setUpTextProblem(text);
    if (problem === undefined) assert.equal(found, undefined);
    else assert.match(found ?? '', problem);
  });

test('the letters of a fingerprint: 24 of the same alphabet, others for another hash', () => {
  const [one, other] = [fingerprintLetters('ab'.repeat(32)), fingerprintLetters(`ac${'ab'.repeat(31)}`)];
  for (const found of [one, other, fingerprintLetters('00'.repeat(32))]) assert.match(found, /^[A-HJKMNP-Z]{24}$/);
  assert.notEqual(one, other);
  const { authority } =
    parseSetUpText(setUpText({ code: 'ABCDEFGH', server: 'https://a.example', authority: one })) ?? {};
  assert.equal(authority, one);
});

test('similar codes: one letter differs, or two neighbours are swapped', () => {
  const similar = similarSetUpCodes('ABCDEFGH');
  assert.equal(similar.length, 8 * 22 + 7);
  assert.ok(similar.includes('ABCDEFGZ') && similar.includes('BACDEFGH') && !similar.includes('ABCDEFGH'));
});
