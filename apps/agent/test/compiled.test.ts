// Covers the compiled single-file agent and its fallback, the same sources on Node. Builds both if sources changed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, copyFile, readFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { parseVersionLine } from '@platform/contract/machine-server/machine-server';
import { spawnGroup, systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { runtimeEnvironment } from '../src/install/unit.ts';
import { built } from './built.ts';
import { startAgent } from './running-agent.ts';
import { listen, sha256Of, TestCloud } from './test-cloud.ts';
import { tinyServer } from './tiny-server.ts';

const checkout = path.resolve(import.meta.dirname, '../../..');
const bun = path.join(
  checkout,
  'node_modules/@oven',
  `bun-linux-${process.arch === 'x64' ? 'x64' : 'aarch64'}`,
  'bin/bun',
);

/** Listens on the socket like systemd and collects the datagrams that it receives. */
async function listener(address: string) {
  const group = await spawnGroup({ command: bun, args: [path.join(import.meta.dirname, 'datagrams.ts'), address] });
  const heard: string[] = [];
  const lines = createInterface({ input: group.stdout! });
  lines.on('line', (line) => heard.push(JSON.parse(line) as string));
  const until = async (text: string): Promise<void> => {
    while (!heard.includes(text)) await systemClock.sleep(20);
  };
  await until('bound');
  return { heard, until, [Symbol.asyncDispose]: async () => void (await group.stop({ termMs: 100 })) };
}

for (const what of ['platform-agent', 'agent-on-node'] as const) {
  test(`${what}, alone in a folder: installs a machine server, runs and reports it, ends in order`, async () => {
    const { file, version } = built(what);
    await using folder = await tempFolder();
    const program = folder.file('platform-agent');
    await copyFile(file, program);
    await chmod(program, 0o755);
    const result = spawnSync(program, ['--version'], { cwd: folder.path, encoding: 'utf8', env: {} });
    assert.deepEqual(parseVersionLine(result.stdout), { version, binaryName: 'platform-agent' }, result.stderr);

    const cloud = new TestCloud(systemClock);
    await using server = await listen(cloud);
    const bytes = Buffer.from(tinyServer('1.0.0'));
    cloud.serverRelease.set({ version: '1.0.0', sha256: sha256Of(bytes), url: server.publish('/1.0.0', { bytes }) });
    await using agent = await startAgent(folder, cloud, server.url, { program, env: {} });
    const running = await agent.until('1.0.0 runs', (s) => s.server.at === 'running' && s.server.version === '1.0.0');
    assert.equal(running, true);
    await agent.until('the cloud is reached', (s) => s.cloud.is_reached);
    process.kill(agent.process.pid, 'SIGTERM');
    const ended = new AbortController();
    const late = systemClock.sleep(60_000, ended.signal).then(() => 'it did not end');
    const end = await Promise.race([agent.process.exited, late]);
    ended.abort();
    assert.deepEqual(end, { code: 0, signal: null }, await readFile(folder.file('agent.log'), 'utf8'));
  });
}

for (const kind of ['path', 'abstract name'] as const) {
  test(`systemd is notified at its socket's ${kind}: ready, alive, stopping; and the machine server cannot speak for the agent`, async () => {
    const { file } = built('platform-agent');
    await using folder = await tempFolder();
    const address = kind === 'path' ? folder.file('notify') : `@platform-test-${process.pid}`;
    await using systemd = await listener(address);
    const cloud = new TestCloud(systemClock);
    await using server = await listen(cloud);
    const bytes = Buffer.from(tinyServer('1.0.0'));
    cloud.serverRelease.set({ version: '1.0.0', sha256: sha256Of(bytes), url: server.publish('/1.0.0', { bytes }) });
    const env = { ...runtimeEnvironment, NOTIFY_SOCKET: address, WATCHDOG_USEC: '600000', PATH: '/usr/bin:/bin' };
    await using agent = await startAgent(folder, cloud, server.url, { program: file, env });
    const pid = await agent.until('it runs', (s) => s.server.at === 'running' && s.server.pid);
    await systemd.until('WATCHDOG=1');
    await systemd.until('STATUS=machine server running 1.0.0');
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8');
    assert.doesNotMatch(environment, /NOTIFY_SOCKET|WATCHDOG|BUN_/);
    process.kill(agent.process.pid, 'SIGTERM');
    await agent.process.exited;
    await systemd.until('STOPPING=1');
    const order = ['READY=1', 'WATCHDOG=1', 'STOPPING=1'].map((word) => systemd.heard.indexOf(word));
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
      systemd.heard.join('\n'),
    );
  });
}
