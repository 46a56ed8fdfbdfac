// From the publisher's command line to the running machine server: signed, and patched.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { spawnGroup, systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { startCloud } from '../src/cloud-process.ts';
import { checkout, cleanEnv, runCli } from '../src/up-process.ts';

type Json = Record<string, unknown>;

const ballast = randomBytes(150_000).toString('base64');
/** A machine server as a script; most of its bytes stay the same between versions. */
const tinyServer = (version: string): string => `#!${process.execPath}
// ${ballast}
const server = require('node:http').createServer((request, answer) => {
  answer.setHeader('content-type', 'application/json');
  answer.end(JSON.stringify({ restart_allowed: true, does_not_handle_needs_restart: true }));
});
server.listen(0, '127.0.0.1', () => {
  const url = 'http://127.0.0.1:' + server.address().port;
  console.log(JSON.stringify({ platform_server: 'ready', version: '${version}', url, pid: process.pid, revision: 0 }));
});
`;

test('story: a signed release runs, and the next one comes as a patch', async () => {
  await using cloud = await startCloud();
  await using folder = await tempFolder();
  const { ready } = cloud;
  const env = {
    PLATFORM_URL: ready.url,
    PLATFORM_API_KEY_ID: ready.api_key_id,
    PLATFORM_API_KEY: ready.api_key,
    PLATFORM_RELEASE_KEYS: folder.file('keys'),
  };
  const json = async (...args: string[]): Promise<Json> => {
    const { code, stdout, stderr } = await runCli(env, ...args, '--json');
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
    return JSON.parse(stdout) as Json;
  };
  const platform = `linux/${process.arch === 'arm64' ? 'arm64' : 'amd64'}`;
  const publish = async (version: string): Promise<void> => {
    const file = folder.file(`server-${version}`);
    await writeFile(file, tinyServer(version));
    await writeFile(`${file}.json`, JSON.stringify({ name: 'platform-server', version, platform }));
    await json('release', 'publish', file, '--channel', 'stable');
  };
  await json('release', 'keys', 'init', folder.file('keys'));
  await publish('1.0.0');
  const { credentials } = await json('machine', 'create', 'press');
  await writeFile(folder.file('platform.json'), JSON.stringify(credentials), { mode: 0o600 });

  await using agent = await spawnAgent(folder.path);
  const server = async (): Promise<Json> =>
    ((await json('machine', 'show', 'press'))['programs'] as { server: Json }).server;
  const until = async (what: string, isSo: (now: Json) => boolean): Promise<Json> => {
    const end = systemClock.now() + 60_000;
    for (;;) {
      const now = await server();
      if (isSo(now)) return now;
      assert.ok(systemClock.now() < end, `${what}; last: ${JSON.stringify(now)}\n${(await agent.log()).slice(-3_000)}`);
      await systemClock.sleep(300);
    }
  };
  await until('1.0.0 runs', (now) => now['running'] === '1.0.0');

  await publish('1.1.0');
  const updated = await until('1.1.0 is here', (now) => now['installed'] === '1.1.0');
  assert.equal((updated['last_update'] as Json)['by_delta'], true, JSON.stringify(updated));
  assert.equal(await readFile(path.join(folder.path, 'agent', 'bin', 'platform-server'), 'utf8'), tinyServer('1.1.0'));
  assert.match(await agent.log(), /trusting the release keys of this server/);
});

/** The agent from source. */
async function spawnAgent(folder: string): Promise<AsyncDisposable & { log(): Promise<string> }> {
  const logFile = path.join(folder, 'agent.log');
  const group = await spawnGroup({
    command: process.execPath,
    args: [
      '--disable-warning=ExperimentalWarning',
      path.join(checkout, 'apps', 'agent', 'src', 'main.ts'),
      'run',
      '--config',
      path.join(folder, 'platform.json'),
      '--root',
      path.join(folder, 'agent'),
      '--debug',
    ],
    env: cleanEnv(),
    logFile,
  });
  return {
    log: () => readFile(logFile, 'utf8'),
    async [Symbol.asyncDispose]() {
      await group.stop({ termMs: 20_000 });
    },
  };
}
