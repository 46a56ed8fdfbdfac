// The real agent runs on a folder in which every file is damaged: it comes online and reports what is damaged.
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { ServerState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { spawnGroup, systemClock } from '@platform/kit/node';
import { seededRandom, tempFolder } from '@platform/kit/testing';
import { mainFile } from './running-agent.ts';
import { listen, sha256Of, TestCloud } from './test-cloud.ts';
import { tinyServer } from './tiny-server.ts';

const lateMs = 90_000;

test('damaged credentials, defaults, caches, records and log lines: waited for, left out, reported; the server runs', async () => {
  await using folder = await tempFolder();
  const cloud = new TestCloud(systemClock);
  await using server = await listen(cloud);
  const bytes = Buffer.from(tinyServer('1.0.0'));
  cloud.serverRelease.set({
    version: '1.0.0',
    sha256: sha256Of(bytes),
    url: server.publish('/1.0.0', { bytes }),
  });
  const root = folder.file('agent');
  const random = seededRandom(7);
  const garbage = () => Uint8Array.from({ length: 3_000 }, () => Math.floor(random() * 256));
  for (const file of [
    ...[
      'config.json',
      'config.json.last-good',
      'time.json',
      'run.json',
      'server.json',
      'pins.json',
      'attempts.json',
    ].map((name) => `state/${name}`),
    'state/server.trial',
    'state/server.bad',
    'state/server.previous',
    'spool/state',
    'spool/boot.000000000001.seg',
    'spool/nonsense.seg',
    'versions/1.0.0-000000000000/platform-server',
    'bin/readme',
    'cache/part/0123.part',
  ]) {
    await mkdir(path.dirname(path.join(root, file)), { recursive: true });
    await writeFile(path.join(root, file), garbage());
  }
  const [credentials, defaults] = [folder.file('platform.json'), folder.file('defaults.json')];
  const good = JSON.stringify({ cloud: { app_address: server.url, id: cloud.partId, secret: cloud.secret } });
  await writeFile(credentials, good.slice(0, good.length / 2));
  await writeFile(defaults, garbage());
  const agent = await spawnGroup({
    command: process.execPath,
    args: [mainFile, 'run', '--config', credentials, '--root', root, '--defaults', defaults],
    logFile: folder.file('agent.log'),
  });
  await using _ = { [Symbol.asyncDispose]: async () => void (await agent.stop({ termMs: 10_000 })) };
  const log = () => readFile(folder.file('agent.log'), 'utf8');
  const late = systemClock.now() + lateMs;
  const until = async (what: string, is: () => Promise<boolean> | boolean): Promise<void> => {
    while (!(await is())) {
      assert.ok(systemClock.now() < late, `${what} did not happen\n${await log()}`);
      await systemClock.sleep(50);
    }
  };

  await until('it waits', async () => /this machine has no usable credentials; waiting for them/.test(await log()));
  await writeFile(credentials, good);
  await until('the server runs', () => cloud.report.get()?.serverState === ServerState.RUNNING);
  await until('the log arrives', () => cloud.lines.get().some((l) => l.message.startsWith('tiny server')));
  const codes = cloud.report.get()?.conditions.map((c) => c.code) ?? [];
  assert.ok(codes.includes('DEFAULTS_UNUSABLE'), codes.join());
  assert.ok(codes.includes('LOGS_DAMAGED'), codes.join());
  const lines = cloud.lines.get().map((l) => l.message);
  for (const message of [
    'the stored configuration cannot be read',
    "the manufacturer's defaults are not used",
    'stored log lines are damaged; some may be lost',
  ]) {
    assert.ok(lines.includes(message), `${message}\n${lines.join('\n')}`);
  }
  assert.equal((await log()).includes(cloud.secret), false);
  process.kill(agent.pid, 'SIGTERM');
  assert.deepEqual(await agent.exited, { code: 0, signal: null });
});
