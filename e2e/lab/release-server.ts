// A management server reduced to the endpoints of the installer, with configurable failures.
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { installScriptCommand } from '@platform/contract/provisioning/install-command';
import { checkout } from '../src/up-process.ts';
import { labCertificate } from './authority.ts';
import { serverName } from './machine.ts';

export const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/**
 * The stand-in for an agent: it writes its arguments, the relevant variables, and the files that it could read, to
 * /run/ran.
 */
const agent = `#!/bin/sh
{ echo "arguments: $*"; echo "part: \${PLATFORM_PART_ID-} \${PLATFORM_API_KEY_ID-} \${PLATFORM_API_KEY-}"
  echo "url: $PLATFORM_URL"; echo "proxy: \${http_proxy-}"; echo "stdin: $(wc -c)"; } > /run/ran
`;

export interface ReleaseServer extends AsyncDisposable {
  /** The TLS port. */
  readonly port: number;
  readonly plainPort: number;
  /** Prints the install script, as the server's line does. */
  readonly scriptCommand: string;
  /** install.sh as this server would serve it. */
  script(values?: { key?: string; url?: string }): string;
  readonly agent: string;
  readonly list: string;
  readonly signature: Buffer;
  /** Requests so far: method, path, range. */
  readonly requests: string[];
  /** Sends the answer instead, if it returns true. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean;
}

export async function startReleaseServer(): Promise<ReleaseServer> {
  const { cert, key, authority, sha256: authoritySha256 } = labCertificate();
  const { program, list, signature, files, script } = signedReleases(authority);
  const answer: RequestListener = (request, response) => {
    // A proxy receives absolute URLs.
    const { pathname } = new URL(request.url ?? '/', `http://${serverName}`);
    server.requests.push(`${request.method} ${pathname} ${request.headers.range ?? ''}`.trim());
    if (server.intercept(request, response)) return;
    const body = pathname === '/install.sh' ? script() : pathname === '/authority.pem' ? authority : files[pathname];
    if (body === undefined) response.writeHead(404).end();
    else sendRange(Buffer.from(body), request, response);
  };
  const listeners = [createSecureServer({ cert, key }, answer), createServer(answer)];
  const [port = 0, plainPort = 0] = await Promise.all(
    listeners.map(async (listener) => {
      await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
      return (listener.address() as AddressInfo).port;
    }),
  );
  const server: ReleaseServer = {
    port,
    plainPort,
    scriptCommand: installScriptCommand(`https://${serverName}`, authoritySha256),
    script,
    agent: program,
    list,
    signature,
    requests: [],
    intercept: () => false,
    async [Symbol.asyncDispose]() {
      for (const listener of listeners) {
        listener.closeAllConnections();
        await new Promise((resolve) => listener.close(resolve));
      }
    },
  };
  return server;
}

/**
 * A signed list of releases, the files that it names, and the install script that trusts its key.
 *
 * @param authority - of the server's certificate, PEM.
 */
function signedReleases(authority: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const releaseKey = String(publicKey.export({ type: 'spki', format: 'pem' })).trim();
  const root = '{"signed":"the root of trust"}\n';
  // Padding makes the file large enough for interrupted downloads.
  const program = `${agent}exit 0\n${'#'.repeat(200_000)}\n`;
  const list = [
    '# targets 1, valid until 2130-01-01T00:00:00Z',
    `${sha256(program)}  platform-agent/1.2.3/linux-amd64/platform-agent`,
    `${sha256('another')}  platform-agent/1.2.2/linux-amd64/platform-agent`,
    `${sha256('another')}  platform-server/1.2.3/linux-amd64/platform-server`,
    '',
  ].join('\n');
  const signature = sign('sha256', Buffer.from(list), privateKey);
  const files: Readonly<Record<string, string | Buffer>> = {
    '/releases/SHA256SUMS': list,
    '/releases/SHA256SUMS.sig': signature,
    '/tuf/4.root.json': root,
    '/releases/platform-agent/1.2.3/linux-amd64/platform-agent': program,
    '/releases/platform-agent/1.2.2/linux-amd64/platform-agent': 'not another',
    '/elsewhere/agent': program,
  };
  const template = readFileSync(path.join(checkout, 'apps', 'cloud', 'install', 'install.sh'), 'utf8');
  const script: ReleaseServer['script'] = (values = {}) =>
    template
      .replace('@PLATFORM_URL@', values.url ?? `https://${serverName}`)
      .replace('@PLATFORM_RELEASE_KEY@', values.key ?? releaseKey)
      .replace('@PLATFORM_TRUSTED_ROOT@', `4 ${sha256(root)}`)
      .replace('@PLATFORM_CHANNELS@', 'stable 1.2.3\ndev 1.2.2')
      .replace('@PLATFORM_AGENTS@', '')
      .replace('@PLATFORM_AUTHORITY@', authority.trim())
      .replace('@PLATFORM_ACTION@', 'install');
  return { program, list, signature, files, script };
}

/** Answers a request for the rest of a file from an offset, or for the whole file. */
function sendRange(bytes: Buffer, request: IncomingMessage, response: ServerResponse): void {
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? Number.NaN);
  if (from >= bytes.length) return void response.writeHead(416).end();
  const part = Number.isNaN(from) ? bytes : bytes.subarray(from);
  const range = Number.isNaN(from) ? {} : { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` };
  response.writeHead(Number.isNaN(from) ? 200 : 206, { 'content-length': part.length, ...range }).end(part);
}
