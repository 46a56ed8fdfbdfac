import { type Random, wildTexts } from './wild.ts';

/** A page request as sent on the wire. */
export type PageRequest = {
  method: string;
  target: string;
  headers: readonly [name: string, value: string][];
  body: string;
};

type Mutate = (request: PageRequest, random: Random) => PageRequest;

const withHeader =
  (name: string, values: readonly string[]): Mutate =>
  (request, { pick }) => ({ ...request, headers: [...request.headers, [name, pick(values)]] });

const encoded = (text: string): string => encodeURIComponent(text.toWellFormed()).slice(0, 6_000);
/** Path segments that an attacker might try. */
const segments: readonly string[] = [
  ...wildTexts.map(encoded),
  '%',
  '%ff',
  '%c0%af',
  '%00',
  '%2e%2e',
  '..',
  '.',
  '%2F',
  '\\',
  '%5c..%5c',
  ';',
  '*',
  '~',
  'x'.repeat(4_000),
  '\u00e9',
  '[::1]',
  '__proto__',
];

const inPath: Mutate = (request, { pick, below }) => {
  const [path = '', ...query] = request.target.split('?');
  const parts = path.split('/');
  const at = below(parts.length);
  const changed = parts.map((part, index) => (index === at ? pick(segments) : part)).join('/');
  return { ...request, target: [changed.startsWith('/') ? changed : `/${changed}`, ...query].join('?') };
};

const inQuery: Mutate = (request, { pick }) => {
  const name = pick([
    'token',
    'id',
    'client',
    'type',
    'version',
    'metadata',
    'expires',
    'signature',
    '%',
    '__proto__',
    '',
  ]);
  const value = pick([...segments, '{}', '[]', 'null', '{"a":', '%7B%22a%22:1e999%7D', '9'.repeat(400), '-1', 'NaN']);
  const sign = request.target.includes('?') ? '&' : '?';
  return { ...request, target: `${request.target}${sign}${name}=${value}` };
};

const targets: readonly string[] = [
  '/',
  '//',
  '///',
  '//x',
  '//[',
  '//:80',
  '//user@/x',
  '/?',
  '/#',
  '*',
  'x',
  'http://',
  'http://[/',
  'http://127.0.0.1/livez',
  'http://evil.example/livez',
  'ftp://x/livez',
  'javascript:1',
  '127.0.0.1:80',
  '\\\\x\\y',
  '/\t',
  '/%',
  `/${'a/'.repeat(3_000)}`,
];

const ranges: readonly string[] = [
  'bytes=',
  'bytes=-',
  'bytes=0-',
  'bytes=-0',
  'bytes=-1',
  'bytes=1-0',
  'bytes=0-0',
  'bytes=0-0,2-3',
  'bytes=0-99999999999999999999999',
  'bytes=99999999999999999999999-',
  'bytes=-99999999999999999999999',
  'bytes=9007199254740993-',
  'bytes=a-b',
  'bytes=0x1-2',
  'lines=0-1',
  'bytes=0-1;x',
];
const odd: readonly string[] = ['', ' ', 'x', '"', 'W/"x"', '*', '\u00ff', ',', ';', '=', 'a'.repeat(6_000)];

const mutations: readonly [how: string, mutate: Mutate][] = [
  ['another part of the path', inPath],
  ['two other parts of the path', (request, random) => inPath(inPath(request, random), random)],
  ['more in the query', inQuery],
  ['much more in the query', (request, random) => inQuery(inQuery(inQuery(request, random), random), random)],
  ['another target', (request, { pick }) => ({ ...request, target: pick(targets) })],
  [
    'another method',
    (request, { pick }) => ({
      ...request,
      method: pick([
        'GET',
        'HEAD',
        'PUT',
        'POST',
        'DELETE',
        'PATCH',
        'OPTIONS',
        'TRACE',
        'PROPFIND',
        'X',
        'get',
        'CONNECT',
      ]),
    }),
  ],
  ['a range', withHeader('range', ranges)],
  [
    'two ranges',
    (request, random) => withHeader('range', ranges)(withHeader('if-range', odd)(request, random), random),
  ],
  ['a condition', withHeader('if-none-match', odd)],
  ['another encoding', withHeader('accept-encoding', ['br;q=x', 'gzip, br', '*', ...odd])],
  ['another host', withHeader('host', ['', 'x y', '[', 'a:b:c', '127.0.0.1:99999', ...odd])],
  ['another origin', withHeader('origin', ['null', 'http://', 'http://[', 'file://', ...odd])],
  ['a cookie', withHeader('cookie', ['platform_session', 'platform_session=', 'platform_session=%', '=;=;', ...odd])],
  [
    'other credentials',
    withHeader('authorization', ['Bearer', 'Bearer  ', 'Basic x', 'Bearer ..', 'Bearer a.b.c.d', ...odd]),
  ],
  [
    'a key in headers',
    (request, random) => withHeader('key_id', [...odd, '\u00e9'])(withHeader('key', odd)(request, random), random),
  ],
  [
    'a secret in headers',
    (request, random) => withHeader('part_id', odd)(withHeader('secret', odd)(request, random), random),
  ],
  ['a length that is none', withHeader('content-length', ['-1', 'x', '1e3', '99999999999999999999', '0x10'])],
  [
    'two lengths',
    (request) => ({ ...request, headers: [...request.headers, ['content-length', '1'], ['content-length', '2']] }),
  ],
  [
    'chunks that are none',
    (request) => ({ ...request, headers: [...request.headers, ['transfer-encoding', 'chunked']], body: 'zz\r\n' }),
  ],
  [
    'an upgrade',
    (request) => ({ ...request, headers: [...request.headers, ['connection', 'upgrade'], ['upgrade', 'websocket']] }),
  ],
  ['an expectation', withHeader('expect', ['100-continue', '200-ok', ''])],
  ['a body', (request) => ({ ...request, headers: [...request.headers, ['content-length', '5']], body: 'hello' })],
  [
    'half a body',
    (request) => ({
      ...request,
      headers: [...request.headers, ['content-length', '5'], ['connection', 'close']],
      body: 'he',
    }),
  ],
  [
    'many headers',
    (request) => ({
      ...request,
      headers: [...request.headers, ...Array.from({ length: 150 }, (_, n): [string, string] => [`x-${n}`, 'x'])],
    }),
  ],
];

export function pageMutant(request: PageRequest, random: Random): { how: string; request: PageRequest } {
  const [how, mutate] = random.pick(mutations);
  return { how, request: mutate(request, random) };
}

/** Encodes as Latin-1, as on the wire. */
export function bytesOf({ method, target, headers, body }: PageRequest): Buffer {
  const named = new Set(headers.map(([name]) => name));
  const all = named.has('host') ? headers : [['host', 'localhost'] as const, ...headers];
  const head = [`${method} ${target} HTTP/1.1`, ...all.map(([name, value]) => `${name}: ${value}`)];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`, 'latin1');
}
