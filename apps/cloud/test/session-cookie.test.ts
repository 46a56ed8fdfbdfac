// A session over TLS has a cookie that only this host can set; one over plain HTTP cannot have it.
import assert from 'node:assert/strict';
import test from 'node:test';
import { cookieOf, cookiesFor } from '../src/access/session-cookie.ts';

const rows: [cookies: string, overTls: string | undefined, plain: string | undefined][] = [
  ['platform_session=a', undefined, 'a'],
  ['__Host-platform_session=b', 'b', undefined],
  // A page of another host of the domain has put one of the same name first.
  ['platform_session=evil; __Host-platform_session=b', 'b', 'evil'],
  ['x=1;  __Host-platform_session=b ; y=2', 'b', undefined],
  ['x=platform_session=a', undefined, undefined],
  ['; ;', undefined, undefined],
];

for (const [cookies, overTls, plain] of rows)
  test(`the session in "${cookies}"`, () => {
    assert.deepEqual([cookieOf(cookiesFor(cookies, true)), cookieOf(cookiesFor(cookies, false))], [overTls, plain]);
  });

test('cookies of others stay as they are', () => {
  assert.equal(cookiesFor('x=1; platform_session=a; y="2"', true), 'x=1; y="2"');
});
