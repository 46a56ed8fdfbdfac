import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newSetUpCode, parseSetUpText, readSetUpCode, setUpText } from '@platform/contract/set-up-code';

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
];
for (const [text, read] of rows)
  test(`set-up text: ${text}`, () => {
    assert.deepEqual(parseSetUpText(text), read);
    if (read) assert.deepEqual(parseSetUpText(setUpText(read)), read);
  });
