// From the publisher's command line to the running machine server: signed, and patched.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { startCloud } from '../src/cloud-process.ts';
import { type Json, jsonCli, publishScriptServer, scriptServer, startSourceAgent } from '../src/script-server.ts';

test('story: a signed release runs, and the next one comes as a patch', async () => {
  await using cloud = await startCloud();
  await using folder = await tempFolder();
  const { ready } = cloud;
  const json = jsonCli({
    PLATFORM_URL: ready.url,
    PLATFORM_API_KEY_ID: ready.api_key_id,
    PLATFORM_API_KEY: ready.api_key,
    PLATFORM_RELEASE_KEYS: folder.file('keys'),
  });
  await json('release', 'keys', 'init', folder.file('keys'));
  await publishScriptServer(json, folder.path, { version: '1.0.0', channel: 'stable' });
  const { credentials } = await json('machine', 'create', 'press');
  await writeFile(folder.file('platform.json'), JSON.stringify(credentials), { mode: 0o600 });

  await using agent = await startSourceAgent(folder.path);
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

  await publishScriptServer(json, folder.path, { version: '1.1.0', channel: 'stable' });
  const updated = await until('1.1.0 is here', (now) => now['installed'] === '1.1.0');
  assert.equal((updated['last_update'] as Json)['by_delta'], true, JSON.stringify(updated));
  assert.equal(
    await readFile(path.join(folder.path, 'agent', 'bin', 'platform-server'), 'utf8'),
    scriptServer('1.1.0'),
  );
  assert.match(await agent.log(), /trusting the release keys of this server/);
});
