import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Mask } from './mask.ts';

const mask = new Mask();
mask.hide(['open sesame!', 'sesame', 'two"parts\\of it']);

const table: readonly [string, string][] = [
  ['nothing to hide: 5 of 7', 'nothing to hide: 5 of 7'],
  ['joined with open sesame!', 'joined with ***'],
  ['sesame twice sesame', '*** twice ***'],
  ['{"psk": "two\\"parts\\\\of it"}', '{"psk": "***"}'],
  ['it is two"parts\\of it', 'it is ***'],
  ['GET /x?X-Amz-Signature=abcdef&a=1', 'GET /x?X-Amz-Signature=***&a=1'],
  ['GET /x?token=abcdef&a=1', 'GET /x?token=***&a=1'],
  ['Authorization: Bearer abc.def', 'Authorization: Bearer ***'],
  ['postgres://me:pw@host/db', 'postgres://me:***@host/db'],
  ['password=hunter2 user=me', 'password=*** user=me'],
  ['{"psk": "12345678", "ssid": "home"}', '{"psk": "***", "ssid": "home"}'],
  ["api_key='abc'", "api_key='***'"],
  ['the token: it has expired', 'the token: it has expired'],
  ['a secret is needed', 'a secret is needed'],
];
for (const [text, shown] of table) test(`mask: ${text}`, () => assert.equal(mask.text(text), shown));

test('fields are masked by name, by value and inside of texts', () => {
  const line = { time: 1, level: 'info', logger: 'a', message: 'm' } as const;
  const fields = { psk: 'x', args: ['--key', 'sesame'], deep: { url: 'http://h/?secret=1' }, n: 4 };
  assert.deepEqual(mask.line({ ...line, fields }).fields, {
    psk: '***',
    args: ['--key', '***'],
    deep: { url: 'http://h/?secret=***' },
    n: 4,
  });
});
