import assert from 'node:assert/strict';
import test from 'node:test';
import { type CertificateNames, coversHost, parsePublicUrl, urlOfCertificate } from './public-url.ts';

const good: [text: string, url: string][] = [
  ['https://platform.example.com', 'https://platform.example.com'],
  ['https://platform.example.com/', 'https://platform.example.com'],
  ['HTTPS://Platform.Example.com:443', 'https://platform.example.com'],
  ['http://192.0.2.7:8080', 'http://192.0.2.7:8080'],
  ['https://[2001:db8::1]:8443', 'https://[2001:db8::1]:8443'],
];
for (const [text, url] of good) test(`public URL ${text}`, () => assert.equal(parsePublicUrl(text), url));

const bad: [text: string, problem: RegExp][] = [
  ['platform.example.com', /it is not a URL/],
  ['platform.example.com:8443', /begins with https:\/\/ or http:\/\//],
  ['ftp://platform.example.com', /begins with https:\/\/ or http:\/\//],
  ['https://platform.example.com/platform', /no path/],
  ['https://platform.example.com?a=b', /no query/],
  ['https://platform.example.com/?', /no query/],
  ['https://platform.example.com/#top', /no fragment/],
  ['https://me@platform.example.com', /no user name/],
  ['https://0.0.0.0:8443', /wildcard address/],
  ['https://[::]:8443', /wildcard address/],
  ['https://*.example.com', /wildcard/],
  ['', /it is not a URL/],
];
for (const [text, problem] of bad)
  test(`no public URL: "${text}"`, () =>
    assert.throws(() => parsePublicUrl(text), { code: 'INVALID_ARGUMENT', message: problem }));

test('a password in a refused URL is not repeated', () =>
  assert.throws(
    () => parsePublicUrl('https://me:hunter2@platform.example.com'),
    (error: Error) => !error.message.includes('hunter2'),
  ));

const certificates: [name: string, dnsNames: string[], ipAddresses: string[], url: string | RegExp][] = [
  ['one name', ['a.example'], [], 'https://a.example:8443'],
  ['the first of two', ['a.example', 'b.example'], ['192.0.2.7'], 'https://a.example:8443'],
  ['a name after a wildcard', ['*.example', 'b.example'], [], 'https://b.example:8443'],
  ['addresses alone', [], ['192.0.2.7', '2001:db8::1'], 'https://192.0.2.7:8443'],
  ['an IPv6 address', [], ['2001:db8::1'], 'https://[2001:db8::1]:8443'],
  [
    'a wildcard alone',
    ['*.example.com'],
    ['192.0.2.7'],
    /only the wildcard \*\.example\.com.*https:\/\/platform\.example\.com/,
  ],
  ['nothing', [], [], /no DNS name and no IP address/],
];
for (const [name, dnsNames, ipAddresses, expected] of certificates)
  test(`certificate with ${name}`, () => {
    const url = (): string => urlOfCertificate({ dnsNames, ipAddresses }, 8443);
    if (typeof expected === 'string') assert.equal(url(), expected);
    else assert.throws(url, { code: 'INVALID_ARGUMENT', message: expected });
  });

test('the usual port is not part of the URL', () =>
  assert.equal(urlOfCertificate({ dnsNames: ['a.example'], ipAddresses: [] }, 443), 'https://a.example'));

const names: CertificateNames = { dnsNames: ['a.example', '*.b.example'], ipAddresses: ['192.0.2.7', '2001:db8::1'] };
const covered: [host: string, isCovered: boolean][] = [
  ['a.example', true],
  ['A.EXAMPLE', true],
  ['x.a.example', false],
  ['x.b.example', true],
  ['b.example', false],
  ['x.y.b.example', false],
  ['192.0.2.7', true],
  ['192.0.2.8', false],
  ['[2001:db8::1]', true],
];
for (const [host, isCovered] of covered)
  test(`${host} is ${isCovered ? '' : 'not '}covered`, () => assert.equal(coversHost(names, host), isCovered));
