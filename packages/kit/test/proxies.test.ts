import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unusableProxies, unusableText, useProxiesOf } from '../src/node/index.ts';

type Env = Record<string, string>;
const local = 'localhost,127.0.0.1,::1';
const both = (name: string, url: string): Env => ({ [name]: url, [name.toUpperCase()]: url });
const except = (text = local): Env => both('no_proxy', text);

const rows: [name: string, env: Env, used: Env, unusable: string[]][] = [
  ['none', { PATH: '/bin' }, { PATH: '/bin' }, []],
  ['empty', { http_proxy: '', HTTPS_PROXY: ' ' }, {}, []],
  [
    'one for https',
    { https_proxy: 'http://p:1', no_proxy: 'a.b' },
    { ...both('https_proxy', 'http://p:1'), ...except(`a.b,${local}`) },
    [],
  ],
  [
    'small letters win, as with curl',
    { https_proxy: 'http://a:1', HTTPS_PROXY: 'http://b:1' },
    { ...both('https_proxy', 'http://a:1'), ...except() },
    [],
  ],
  [
    'one for all, but for what has its own',
    { ALL_PROXY: 'http://all:1', http_proxy: 'http://own:1' },
    {
      ALL_PROXY: 'http://all:1',
      ...both('http_proxy', 'http://own:1'),
      ...both('https_proxy', 'http://all:1'),
      ...except(),
    },
    [],
  ],
  [
    'a name alone',
    { https_proxy: 'user:pw@p:3128' },
    { ...both('https_proxy', 'http://user:pw@p:3128'), ...except() },
    [],
  ],
  [
    'SOCKS',
    { https_proxy: 'socks5://u:secret@p:1080' },
    {},
    ['https_proxy=socks5://***@p:1080: SOCKS proxies are not supported.'],
  ],
  [
    'SOCKS for all',
    { all_proxy: 'SOCKS5H://p:1080' },
    { all_proxy: 'SOCKS5H://p:1080' },
    ['all_proxy=SOCKS5H://p:1080: SOCKS proxies are not supported.'],
  ],
  [
    'SOCKS for all that is not https',
    { all_proxy: 'socks4://p', HTTPS_PROXY: 'http://q:1' },
    { all_proxy: 'socks4://p', ...both('https_proxy', 'http://q:1'), ...except() },
    ['all_proxy=socks4://p: SOCKS proxies are not supported.'],
  ],
  ['something else', { http_proxy: 'ftp://p' }, {}, ['http_proxy=ftp://p: ftp proxies are not supported.']],
  ['an invalid URL', { http_proxy: 'http://a b:xx' }, {}, ['http_proxy=http://a b:xx: it is not a valid URL.']],
];

for (const [name, env, used, unusable] of rows) {
  test(`proxies of the environment: ${name}`, () => {
    assert.deepEqual(unusableProxies(env).map(unusableText), unusable);
    const changed: Env = { ...env };
    assert.deepEqual(useProxiesOf(changed).map(unusableText), unusable);
    assert.deepEqual(Object.fromEntries(Object.entries(changed).filter(([, value]) => value.trim() !== '')), used);
  });
}
