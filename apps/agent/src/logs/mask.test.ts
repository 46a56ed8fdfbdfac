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
const more: readonly [string, string][] = [
  ['password="two words" user=me', 'password="***" user=me'],
  ['"{\\"psk\\": \\"12345678\\", \\"ssid\\": 1}"', '"{\\"psk\\": \\"***\\", \\"ssid\\": 1}"'],
  ['{"psk": "a\\"b", "n": 1}', '{"psk": "***", "n": 1}'],
  ['{"psk": "123456', '{"psk": "***'],
  ['WIFI_PASSWORD=a password=b', 'WIFI_PASSWORD=*** password=***'],
  ['token= x', 'token= x'],
];
for (const [text, shown] of [...table, ...more]) test(`mask: ${text}`, () => assert.equal(mask.text(text), shown));

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

const secret = 's3cr3t+/Pa55 w0rd=Ümlaut';
const forms: readonly [form: string, text: string][] = [
  ['plain', `x ${secret} y`],
  ['JSON', JSON.stringify({ a: secret })],
  ['JSON in JSON', JSON.stringify(JSON.stringify({ a: secret }))],
  ['percent-encoded', `x ${encodeURIComponent(secret)} y`],
  [
    'percent-encoded, lower case',
    `x ${encodeURIComponent(secret).toLowerCase().replace('pa55', 'Pa55').replace('%c3%9cm', '%c3%9cm')} y`,
  ],
  ['a field of a form', new URLSearchParams({ a: secret, b: 'y' }).toString()],
  ['Base64', Buffer.from(secret).toString('base64')],
  ['Base64 after one byte', Buffer.from(`u${secret}`).toString('base64')],
  ['Base64 of Basic authentication', `Authorization: Basic ${Buffer.from(`u:${secret}`).toString('base64')}`],
  ['Base64 for URLs', Buffer.from(`${secret} and more`).toString('base64url')],
  ['hexadecimal', `x ${Buffer.from(secret).toString('hex')} y`],
  ['hexadecimal, upper case', `x ${Buffer.from(secret).toString('hex').toUpperCase()} y`],
  ['a color inside', `x ${secret.slice(0, 5)}\u001b[0m${secret.slice(5)} y`],
  ['a line break inside', `x ${secret.slice(0, 9)}\r\n${secret.slice(9)} y`],
  ['an entity of HTML', `x ${secret.replace('+', '&#43;').replace('=', '&#x3D;')} y`],
  ['bytes of Python', `x b'${secret.replace('Ü', String.raw`\xc3\x9c`)}' y`],
  ['JSON of ASCII only', `x ${JSON.stringify(secret).replace('Ü', String.raw`\u00dc`)} y`],
  ['the first part, where a long line was split', `x ${secret.slice(0, 12)}`],
  ['the last part, where a long line was split', `${secret.slice(12)} y`],
];
for (const [form, text] of forms)
  test(`a known secret is masked: ${form}`, () => {
    const known = new Mask();
    known.hide([secret]);
    const shown = known.text(text);
    assert.match(shown, /\*\*\*/);
    for (let at = 0; at + 8 <= secret.length; at++) assert.ok(!shown.includes(secret.slice(at, at + 8)), shown);
    assert.equal(text.startsWith('x '), shown.startsWith('x '), 'what stands before is kept');
  });

test('what is escaped and no secret stays as it is', () => {
  const known = new Mask();
  known.hide([secret]);
  for (const text of [
    '100 % of %41 \\u0041 &amp; &#99999999; \u001b[1mbold\u001b[0m\nnext 😀 %',
    '\\',
    '%',
    '&#x110000;',
  ])
    assert.equal(known.text(text), text);
});

// Each took seconds to minutes with an expression of two open ends.
const longest = 64 * 1024;
for (const part of [
  'some-file-name-',
  'a-',
  'secret-',
  '123e4567-e89b-12d3-a456-426614174000-',
  'password=',
  'token: ',
  '"',
  '\\"',
  '%4',
  '\u001b[',
  '&#',
  '://a:',
  '?token=',
])
  test(`a line of 64 KiB of ${JSON.stringify(part)} is masked at once`, () => {
    const known = new Mask();
    known.hide([secret, 'abcdefgh', 'aaaaaaaaaaaaaaaa']);
    for (const end of [' x=1', '=', ': "', '']) {
      const text = part.repeat(longest / part.length) + end;
      assert.ok(known.text(text).length <= text.length + 3);
    }
  });
