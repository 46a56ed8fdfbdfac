// One process of the real agent gets its credentials, other ones, damaged ones and refused ones.
import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { ServerState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { AgentStatus } from '@platform/contract/machine/agent-status';
import { readJson, spawnGroup, systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { controlOf } from '../src/control/client.ts';
import { command, mainFile, runtimes } from './running-agent.ts';
import { listen, sha256Of, TestCloud } from './test-cloud.ts';
import { tinyServer } from './tiny-server.ts';

const lateMs = 90_000;

async function until<T>(what: string, look: () => Promise<T | undefined | false> | T | undefined | false): Promise<T> {
  for (const late = systemClock.now() + lateMs; systemClock.now() < late; await systemClock.sleep(50)) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
  }
  throw new Error(`${what} did not happen`);
}

for (const [name, runtime] of Object.entries(runtimes)) {
  test(`story: no credentials, provisioned, another part, damaged, removed and refused: one process, by ${name}`, () =>
    story(runtime));
}

async function story(runtime: string): Promise<void> {
  await using folder = await tempFolder();
  const first = new TestCloud(systemClock);
  const second = new TestCloud(systemClock, 'ffffffff-bbbb-4ccc-8ddd-eeeeeeeeeeee');
  await using firstUrl = await listen(first);
  await using secondUrl = await listen(second);
  const textOf = (cloud: TestCloud, { url }: { url: string }, secret = cloud.secret) =>
    JSON.stringify({ cloud: { app_address: url, id: cloud.partId, secret } });
  const bytes = Buffer.from(tinyServer('1.0.0'));
  const release = { version: '1.0.0', sha256: sha256Of(bytes), url: firstUrl.publish('/1.0.0', { bytes }) };
  first.serverRelease.set(release);

  const [root, file] = [folder.file('agent'), folder.file('platform.json')];
  const agent = await spawnGroup({
    command: runtime,
    args: [mainFile, 'run', '--config', file, '--root', root],
    logFile: folder.file('agent.log'),
  });
  await using _ = { [Symbol.asyncDispose]: async () => void (await agent.stop({ termMs: 10_000 })) };
  const control = controlOf(root, systemClock);
  const status = (what: string, is: (status: AgentStatus) => boolean) =>
    until(what, async () => {
      const now = await control.status().catch(() => undefined);
      return now && now.agent.pid === agent.pid && is(now) && now;
    });
  const has = (code: string) => (now: AgentStatus) => now.conditions.some((c) => c.code === code);
  const provision = (text: string, ...args: string[]) =>
    command(['provision', '--config', file, '--root', root, '--credentials', '-', ...args], {}, text);
  const serverPid = async () => ((await readJson(path.join(root, 'state/server.json'))) as { pid: number }).pid;

  // Without credentials the agent answers, and says what is missing.
  const bare = await status('an agent without credentials answers', has('CREDENTIALS_MISSING'));
  assert.deepEqual([bare.agent.part_id, bare.cloud.is_reached, bare.server.at], ['', false, 'stopped']);
  const refused = await command(['pin', 'server', '1.0.0', '--root', root, '--json']);
  assert.equal((JSON.parse(refused.stderr) as { error: { code: string } }).error.code, 'CREDENTIALS_MISSING');

  // A command provides them.
  const provisioned = await provision(textOf(first, firstUrl));
  assert.match(provisioned.stdout, /The running agent uses the (same )?credentials/);
  await until('the server runs', () => first.report.get()?.serverState === ServerState.RUNNING);
  await status(
    'online',
    (now) => now.agent.part_id === first.partId && now.cloud.is_reached && now.conditions.length === 0,
  );
  const serverBefore = await serverPid();

  // Lines that wait for a part are not sent as those of another.
  first.isUp = false;
  first.agentConfig.update((config) => ({ ...config })); // ends the long poll
  await status('offline', (now) => !now.cloud.is_reached);
  const mark = 'the machine server ended by itself';
  await fetch(`${(await control.status()).server.url}/crash`).catch(() => {});
  const restarted = await until('the restart', async () => {
    const pid = await serverPid().catch(() => serverBefore);
    return pid !== serverBefore && pid;
  });
  await status('lines wait', (now) => now.logs.waiting_lines > 0 && now.server.at === 'running');
  assert.equal(
    first.lines.get().some(({ message }) => message === mark),
    false,
  );
  await writeFile(file, textOf(second, secondUrl));
  await writeFile(file, textOf(second, secondUrl)); // twice, quickly
  const online = await status('the other part', (now) => now.agent.part_id === second.partId && now.cloud.is_reached);
  assert.equal(online.cloud.address, secondUrl.url);
  await until('the server of the other part', () => second.report.get()?.serverState === ServerState.RUNNING);
  await until(
    'a server with the other credentials',
    async () => (await serverPid().catch(() => restarted)) !== restarted,
  );
  await until('its lines', () => second.lines.get().some(({ message }) => message === 'platform agent started'));
  assert.deepEqual(
    second.lines.get().filter(({ message }) => message === mark || message.includes(first.partId)),
    [],
  );
  first.isUp = true;

  // A damaged or missing file changes nothing but the conditions.
  const good = await readFile(file, 'utf8');
  const serverNow = await until('it runs', () => serverPid().catch(() => undefined));
  await writeFile(file, good.slice(0, 30));
  await status('damaged', has('CREDENTIALS_DAMAGED'));
  await rm(file);
  const removed = await status('removed', has('CREDENTIALS_REMOVED'));
  assert.deepEqual([removed.agent.part_id, removed.cloud.is_reached], [second.partId, true]);
  await writeFile(file, good);
  await status('repaired', (now) => now.conditions.length === 0);
  assert.equal(await serverPid(), serverNow, 'the machine server kept running');

  // Refused: the agent goes on, and takes new ones.
  second.secret = 'another-secret';
  second.forgetTokens();
  second.askForRestart();
  const rejected = await status('refused', has('CLOUD_REFUSES_MACHINE'));
  assert.equal(rejected.cloud.is_reached, true, 'it answers');
  assert.match((await provision(textOf(second, secondUrl))).stdout, /The running agent uses the (same )?credentials/);
  await status('accepted', (now) => !has('CLOUD_REFUSES_MACHINE')(now) && now.cloud.is_reached);

  process.kill(agent.pid, 'SIGTERM');
  assert.deepEqual(await agent.exited, { code: 0, signal: null });
  const log = await readFile(folder.file('agent.log'), 'utf8');
  for (const secret of [first.secret, second.secret]) assert.equal(log.includes(secret), false);
}
