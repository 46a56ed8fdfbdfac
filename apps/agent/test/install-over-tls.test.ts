// `platform-agent install` over https, without a time server, into a folder that does not exist yet. Download and
// verification must not depend on the clock. The host clock is right: the certificates are years older or newer.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { programTarget } from '@platform/releases/publication';
import { systemClock } from '@platform/kit/node';
import { issue, tempFolder } from '@platform/kit/testing';
import { agentBytes } from './programs.ts';
import { Repository, sha256Of } from './release-repository.ts';
import { command } from './running-agent.ts';

const platform = `linux/${process.arch === 'arm64' ? 'arm64' : 'amd64'}`;
const year = 365 * 86_400_000;
const now = Math.floor(systemClock.wall() / 1000) * 1000;
const partId = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee';
const rows: [name: string, aheadMs: number, trusts: 'it' | 'another', code: number, words: RegExp][] = [
  ['a clock that is right', 0, 'it', 0, /The signature of version 1\.0\.0 is right/],
  ['a clock ten years behind', 10 * year, 'it', 0, /The signature of version 1\.0\.0 is right/],
  ['a clock ten years behind, and another authority', 10 * year, 'another', 1, /certificate/i],
  ['a certificate that ended before the program was made', -10 * year, 'it', 1, /certificate.*expired/i],
];
for (const [name, aheadMs, trusts, code, words] of rows)
  test(`install over TLS with ${name}`, async () => {
    await using folder = await tempFolder();
    const root = (of: string) => issue({ name: of, from: now - 20 * year, to: now + 40 * year, authority: true });
    const [authority, other] = [root('Root'), root('Other')];
    const dates = { from: now + aheadMs - 86_400_000, to: now + aheadMs + 3_600_000 };
    const { cert, key } = issue({ name: 'cloud', by: authority, ips: ['127.0.0.1'], ...dates });
    const bytes = agentBytes('1.0.0', platform);
    const releases = new Repository({ now: now + Math.max(0, aheadMs) });
    const signed = { name: 'platform-agent', version: '1.0.0', platform };
    releases.publish(programTarget(signed, { sizeBytes: bytes.length, sha256: sha256Of(bytes) }));
    const seen: string[] = [];
    const server = createServer({ cert, key }, (request, reply) => {
      const { pathname } = new URL(request.url ?? '', 'https://x');
      seen.push(pathname);
      const isAsked = pathname === '/api/json1/config';
      const body = isAsked ? JSON.stringify({ cloud: { app_address: url, id: partId, secret: 's' } }) : undefined;
      const page = releases.pages.get(pathname.replace('/tuf/', ''));
      const answer = body ?? (Buffer.isBuffer(page) ? page : undefined);
      reply.writeHead(answer === undefined ? 404 : 200, { date: new Date(now + aheadMs).toUTCString() }).end(answer);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      await mkdir(folder.file('programs'));
      await writeFile(folder.file('programs/timedatectl'), '#!/bin/sh\necho no\n');
      await chmod(folder.file('programs/timedatectl'), 0o755);
      await writeFile(folder.file('download'), bytes);
      await writeFile(folder.file('ca.pem'), trusts === 'it' ? authority.cert : other.cert);
      const places = ['--root', folder.file('opt/platform'), '--config', folder.file('etc/platform.json')];
      const more = ['--unit-folder', folder.file('units'), '--link-folder', folder.file('bin')];
      const given = ['--binary', folder.file('download'), '--authority', folder.file('ca.pem'), '--no-start'];
      const ran = await command(['install', ...places, ...more, ...given], {
        PATH: `${folder.file('programs')}:${process.env['PATH']}`,
        PLATFORM_API_KEY_ID: 'k1',
        PLATFORM_API_KEY: 'v1',
        PLATFORM_PART_ID: partId,
        PLATFORM_URL: url,
      });
      const output = ran.stdout + ran.stderr;
      assert.match(output, words);
      assert.equal(ran.code, code, output);
      if (code !== 0) return assert.deepEqual(seen, [], 'nothing was sent to it');
      assert.match(await readFile(folder.file('etc/platform.json'), 'utf8'), new RegExp(url));
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
