// The line that installs an agent ends with an error whenever the script could not be had: programs that run it count
// on that. With real shells, curl and servers.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import {
  containerNameOf,
  installCommands,
  installScriptCommand,
  keyedCommands,
} from '@platform/contract/provisioning/install-command';
import { issue, tempFolder } from '@platform/kit/testing';
import { plainEnvironment } from '@platform/kit/node';

const day = 86_400_000;

async function serve(
  listener: RequestListener,
  tls?: { cert: string; key: string },
): Promise<AsyncDisposable & { url: string }> {
  const server = tls ? createHttpsServer(tls, listener) : createHttpServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const keyed = (scriptCommand: string) =>
  keyedCommands(
    { scriptCommand, url: 'https://fleet.example', authoritySha256: '', keyId: 'i', key: 'once_k', partId: 'p' },
    [],
    'platform-m',
  );

/** The line with variables, as root types it, and the one that pipes. */
const shapes: [name: string, line: (command: string) => string][] = [
  ['with a one-time key', (command) => keyed(command).linux.replace('sudo ', '')],
  ['with a one-time key in a container', (command) => keyed(command).inContainer],
  [
    'with a one-time key for a new container',
    (command) => keyed(command).container.replace(/^docker run .* (\/bin\/sh -c )/, '$1'),
  ],
  ['in the specified shape', (command) => `/bin/sh -c "PLATFORM_PART_ID=p; $(${command})"`],
  ['piped', (command) => installCommands(command, []).linux.replace('sudo sh', '/bin/sh')],
];

async function run(line: string, env: Record<string, string> = {}): Promise<{ code: number | null; output: string }> {
  const child = spawn('/bin/sh', ['-c', line], {
    env: plainEnvironment({ ...env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.on('close', resolve)),
  ]);
  return { code, output: `${stdout}${stderr}` };
}

const script =
  (body: string, sizeBytes = body.length): RequestListener =>
  (request, response) => {
    if (request.url !== '/install.sh') return void response.writeHead(404).end();
    response.writeHead(200, { 'content-length': sizeBytes });
    response.write(body, () => (sizeBytes > body.length ? response.destroy() : response.end()));
  };

for (const [shape, line] of shapes) {
  test(`the install line ${shape}: the code of the script, once it could be had`, async () => {
    for (const code of [0, 3]) {
      await using server = await serve(script(`echo installs\nexit ${code}\n`));
      const done = await run(line(installScriptCommand(server.url, undefined)));
      assert.deepEqual([done.code, done.output], [code, 'installs\n']);
    }
  });

  test(`the install line ${shape}: the server is down`, async () => {
    const done = await run(line(installScriptCommand('http://127.0.0.1:1', undefined)));
    assert.equal(done.code, 2, done.output);
    assert.match(done.output, /curl: \(7\)/);
  });

  test(`the install line ${shape}: the server answers with an error`, async () => {
    await using server = await serve((_, response) => response.writeHead(503).end());
    const done = await run(line(installScriptCommand(server.url, undefined)));
    assert.equal(done.code, 2, done.output);
  });

  test(`the install line ${shape}: curl is missing`, async () => {
    const done = await run(line(installScriptCommand('http://127.0.0.1:1', undefined)), { PATH: '/nowhere' });
    assert.equal(done.code, 2, done.output);
    assert.match(done.output, /curl.*not found/);
  });

  test(`the install line ${shape}: a certificate of an unknown authority, and an authority with another hash`, async () => {
    const authority = issue({ name: 'Authority', from: Date.now() - day, to: Date.now() + day, authority: true });
    await using server = await serve((request, response) => {
      if (request.url === '/authority.pem') response.end(authority.cert);
      else response.end('echo installs\n');
    }, authority);
    const unknown = await run(line(installScriptCommand(server.url, undefined)));
    assert.equal(unknown.code, 2, unknown.output);
    assert.match(unknown.output, /curl: \(60\)/);
    const other = await run(line(installScriptCommand(server.url, '0'.repeat(64))));
    assert.equal(other.code, 2, other.output);
    assert.match(other.output, /did NOT match/);
    for (const { output } of [unknown, other]) assert.doesNotMatch(output, /installs/);
  });

  test(`the install line ${shape}: the script was cut, also in a comment`, async () => {
    for (const body of ['# Installs the ag', 'run() {\n  echo inst', "key='-----BEGIN"]) {
      await using server = await serve(script(body, 1000));
      const done = await run(line(installScriptCommand(server.url, undefined)));
      assert.equal(done.code, 2, `${body}: ${done.output}`);
    }
  });
}

test('a container gets a name that Docker takes, whatever its machine is called', () => {
  for (const [name, expected] of [
    ['press-4', 'platform-press-4'],
    ['  Kälte Nord / 2', 'platform-kalte-nord-2'],
    ['機械', 'platform'],
    ["'; rm -rf /; '", 'platform-rm-rf'],
    ['x'.repeat(128), `platform-${'x'.repeat(51)}`],
  ] as const)
    assert.equal(containerNameOf(name), expected);
});

test('a container that starts again runs the installed agent without the server', async () => {
  await using folder = await tempFolder();
  const command = keyed('echo "exit 7"')
    .container.replace(/^docker run .* (\/bin\/sh -c )/, '$1')
    .replaceAll('/opt/platform', folder.path);
  assert.equal((await run(command)).code, 7, 'before the installation');
  for (const name of ['bin', 'etc']) await mkdir(folder.file(name));
  await writeFile(folder.file('etc', 'platform.json'), '{}');
  assert.equal((await run(command)).code, 7, 'an installation that was cut off');
  await writeFile(folder.file('bin', 'platform-agent'), '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
  assert.deepEqual(await run(command), {
    code: 0,
    output: `supervise --root ${folder.path} --config ${folder.file('etc', 'platform.json')}\n`,
  });
});
