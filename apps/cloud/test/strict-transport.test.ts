// HSTS on real answers of a real process: a browser that receives it offers no bypass of an untrusted certificate.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import test from 'node:test';
import { promisify } from 'node:util';
import { issue, tempFolder } from '@platform/kit/testing';
import { cloudProcess } from './process.ts';

const day = 86_400_000;
const validity = { from: Date.now() - day, to: Date.now() + day };
const host = 'platform.example.com';
const authority = issue({ name: 'Authority of a company', ...validity, authority: true, keyUsage: [5, 6] });
const site = issue({ name: host, ...validity, by: authority, dns: [host] });
const alone = issue({ name: host, ...validity, dns: [host] });

type Start = { cert: string; key: string; flags: (authority: string) => string[] };
const processes: [name: string, start: Start, header: string | undefined][] = [
  ['with a known authority', { ...site, flags: (file) => ['--tls-known-authority', file] }, 'max-age=31536000'],
  ['with an authority that is passed on', { ...site, flags: (file) => ['--tls-authority', file] }, undefined],
  ['with a certificate that signed itself', { ...alone, flags: (file) => ['--tls-known-authority', file] }, undefined],
];
for (const [name, { cert, key, flags }, header] of processes)
  test(`answers of a server process ${name} ${header === undefined ? 'leave browsers free to come without TLS' : 'tell browsers to come by TLS only'}`, async () => {
    await using folder = await tempFolder();
    await Promise.all([
      writeFile(folder.file('cert.pem'), cert),
      writeFile(folder.file('key.pem'), key),
      writeFile(folder.file('authority.pem'), authority.cert),
      mkdir(folder.file('web')).then(() => writeFile(folder.file('web/index.html'), '<!doctype html><p>page</p>')),
    ]);
    const files = ['--tls-cert', folder.file('cert.pem'), '--tls-key', folder.file('key.pem')];
    const more = ['--web-dir', folder.file('web'), ...flags(folder.file('authority.pem'))];
    const server = cloudProcess(folder.file('data'), [...files, ...more]);
    try {
      const ready = await server.ready;
      assert.ok(ready, server.stderr());
      const { port, hostname } = new URL(ready.url);
      assert.equal(hostname, host);
      await writeFile(folder.file('trusted.pem'), `${authority.cert}${alone.cert}`);
      const seen = async (url: string): Promise<[status: number, header: string | undefined]> => {
        const known = ['--cacert', folder.file('trusted.pem'), '--resolve', `${host}:${port}:127.0.0.1`];
        const { stdout } = await promisify(execFile)('curl', ['-sS', '-i', ...known, url]);
        const value = /^strict-transport-security: (.*)\r$/im.exec(stdout)?.[1];
        return [Number(/^HTTP\S+ (\d+)/.exec(stdout)?.[1]), value];
      };
      for (const [path, status] of [
        ['/machines', 200],
        ['/install.sh', 200],
        ['/livez', 200],
        ['/sign-in?token=x', 401],
        ['/no-page', 404],
      ] as const) {
        assert.deepEqual(await seen(`https://${host}:${port}${path}`), [status, header], path);
        assert.deepEqual(await seen(`http://127.0.0.1:${port}${path}`), [status, undefined], `${path} without TLS`);
      }
    } finally {
      server.child.kill('SIGTERM');
      await server.exit;
    }
  });
