// A browser, an installer and a machine connect over TLS and HTTP/2 to a name, as the program curl does.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';
import { create, toBinary } from '@bufbuild/protobuf';
import { ConfigRequestSchema } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { tempFolder } from '@platform/kit/testing';
import { testServer } from './server.ts';

const tls = path.join(import.meta.dirname, 'tls');
const certificate = path.join(tls, 'cert.pem');

for (const version of ['--http1.1', '--http2']) {
  test(`${version}: the name by which the server was reached stands in the installer, in credentials, in configurations; sessions work`, async () => {
    await using folder = await tempFolder();
    await using on = await testServer(['--tls-cert', certificate, '--tls-key', path.join(tls, 'key.pem')]);
    const { port } = new URL(on.url);
    // The certificate's name; the server listens on 127.0.0.1 and uses that as its URL.
    const base = `https://localhost:${port}`;
    const curl = async (...args: string[]): Promise<string> =>
      (await promisify(execFile)('curl', ['-sS', version, '--cacert', certificate, ...args], { encoding: 'latin1' }))
        .stdout;
    assert.equal(
      await curl('-o', '/dev/null', '-w', '%{http_version}', `${base}/healthz`),
      version === '--http2' ? '2' : '1.1',
    );

    assert.match(await curl(`${base}/install.sh`), new RegExp(`^server_url='${base}'$`, 'm'));

    const { partId, part } = await on.machine('m');
    const { cloud } = JSON.parse(
      await curl(
        '-H',
        `key_id: ${on.owner.entity}`,
        '-H',
        `key: ${on.owner.payload}`,
        `${base}/api/json1/config?client=true&id=${partId}`,
      ),
    ) as { cloud: { app_address: string } };
    assert.equal(cloud.app_address, base);

    const body = folder.file('check');
    await writeFile(body, toBinary(ConfigRequestSchema, create(ConfigRequestSchema, { id: partId })));
    for (const type of ['application/proto', 'application/proto; charset=utf-8']) {
      const answer = await curl(
        '-H',
        `authorization: Bearer ${await on.token(part)}`,
        '-H',
        `content-type: ${type}`,
        '--data-binary',
        `@${body}`,
        `${base}/platform.app.v1.RobotService/Config`,
      );
      if (type === 'application/proto') assert.ok(answer.includes(`localhost:${port}`), answer);
      assert.ok(!answer.includes('127.0.0.1'), answer);
    }

    const jar = folder.file('cookies');
    const link = new URL(on.server.signInUrl);
    await curl('-c', jar, '-o', '/dev/null', '-d', link.search.slice(1), `${base}${link.pathname}`);
    const call = (origin: string): Promise<string> =>
      curl(
        '-b',
        jar,
        '-H',
        `origin: ${origin}`,
        '-H',
        'connect-protocol-version: 1',
        '-H',
        'content-type: application/json',
        '-d',
        '{}',
        `${base}/platform.app.v1.AppService/ListOrganizations`,
      );
    assert.match(await call(base), /"organizations":\[/);
    assert.match(await call('https://elsewhere.example'), /NOT_AUTHENTICATED|unauthenticated/);
    assert.match(await call(`https://127.0.0.1:${port}`), /NOT_AUTHENTICATED|unauthenticated/);
  });
}
