import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { type Route, send, sendText } from '../wire/exchange.ts';
import { webPages } from './web-pages.ts';

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.webp': 'image/webp',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
  '.map': 'application/json',
  '.wasm': 'application/wasm',
};
const compressible = /^(text\/|application\/(json|manifest|wasm)|image\/svg)/;

const pagePolicy = [
  "default-src 'self'",
  "img-src 'self' data: blob:",
  "style-src 'self' 'unsafe-inline'",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join('; ');

type Encoding = 'br' | 'gzip' | 'identity';
type WebFile = { type: string; etag: string; isPage: boolean; bodies: Map<Encoding, Buffer>; mtimeMs: number };

const compressors: Readonly<Record<'br' | 'gzip', (bytes: Buffer) => Promise<Buffer>>> = {
  br: (bytes) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }),
  gzip: (bytes) => promisify(gzip)(bytes),
};

/** Reads files of the web app and caches them until they change. */
function webFiles(folder: string | undefined): (name: string) => Promise<WebFile | undefined> {
  const files = new Map<string, WebFile>();
  return async (name) => {
    if (folder === undefined) return undefined;
    const file = path.join(folder, path.normalize(`/${name}`));
    const found = await stat(file).catch(() => undefined);
    if (!found?.isFile()) return undefined;
    const known = files.get(file);
    if (known?.mtimeMs === found.mtimeMs) return known;
    const bytes = await readFile(file);
    const type = types[path.extname(file).toLowerCase()] ?? 'application/octet-stream';
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    const made: WebFile = {
      type,
      etag,
      isPage: type.startsWith('text/html'),
      bodies: new Map([['identity', bytes]]),
      mtimeMs: found.mtimeMs,
    };
    files.set(file, made);
    return made;
  };
}

/** @param accepted - the request's `accept-encoding`. */
async function encodedBody(file: WebFile, accepted: string): Promise<[Encoding, Buffer]> {
  const plain = file.bodies.get('identity') ?? Buffer.alloc(0);
  if (!compressible.test(file.type) || plain.length < 1024) return ['identity', plain];
  const encoding = (['br', 'gzip'] as const).find((name) => accepted.includes(name));
  if (!encoding) return ['identity', plain];
  const body = file.bodies.get(encoding) ?? (await compressors[encoding](plain));
  file.bodies.set(encoding, body);
  return [encoding, body];
}

/**
 * Serves the web app at all paths of its pages. Files with a hash in their name are cached permanently; the page is
 * revalidated each time.
 */
export const webRoutes = (folder: string | undefined): Route[] => {
  const load = webFiles(folder);
  return [
    {
      methods: ['GET', 'HEAD'],
      path: /^\/(.*)$/,
      async answer({ request, response }, [name = '']) {
        const isAsset = name.startsWith('assets/');
        const isPage = name === '' || webPages.has(name.split('/', 1)[0] ?? '');
        // For an unknown path, a browser gets the app with the error and a link back. A program gets one line. Both get
        // 404.
        const isBrowsing = !isAsset && String(request.headers.accept ?? '').includes('text/html');
        const found = name.includes('\0') ? undefined : await load(name);
        const file = found ?? (isPage || isBrowsing ? await load('index.html') : undefined);
        if (!file)
          return sendText(response, 404, isPage ? 'The web app is not built into this server.\n' : 'not found\n');
        const [encoding, body] = await encodedBody(file, String(request.headers['accept-encoding'] ?? ''));
        const headers = {
          'content-type': file.type,
          etag: file.etag,
          vary: 'accept-encoding',
          'cache-control': isAsset ? 'public, max-age=31536000, immutable' : 'no-cache',
          ...(encoding !== 'identity' && { 'content-encoding': encoding }),
          ...(file.isPage && { 'content-security-policy': pagePolicy }),
        };
        const isOurs = found !== undefined || isPage;
        if (isOurs && request.headers['if-none-match'] === file.etag) return send(response, 304, headers);
        send(
          response,
          isOurs ? 200 : 404,
          { ...headers, 'content-length': body.length },
          request.method === 'HEAD' ? undefined : body,
        );
      },
    },
  ];
};
