// The compiled agent under its own supervisor, as in a container: real processes, an update to a crashing version.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { AgentStatus } from '@platform/contract/machine/agent-status';
import { plainEnvironment, isAlive, processStartTime, spawnGroup, systemClock } from '@platform/kit/node';
import { tempFolder, type TempFolder } from '@platform/kit/testing';
import { controlOf } from '../src/control/client.ts';
import { listen, sha256Of, TestCloud } from './test-cloud.ts';
import { tinyServer } from './tiny-server.ts';

const checkout = path.resolve(import.meta.dirname, '../../..');

function built(version: string, ...flags: string[]): { file: string; version: string } {
  const out = path.join(checkout, 'dist', 'test', version);
  const args = [path.join(checkout, 'tools/release.ts'), 'platform-agent', '--release-version', version];
  const done = spawnSync(process.execPath, [...args, '--out', out, ...flags], {
    env: plainEnvironment(),
    encoding: 'utf8',
  });
  assert.equal(done.status, 0, done.stderr);
  return JSON.parse(done.stdout) as { file: string; version: string };
}

/** Polls whichever agent runs there. */
async function until<T>(
  folder: TempFolder,
  what: string,
  look: (status: AgentStatus) => T | undefined | false,
): Promise<T> {
  const end = systemClock.now() + 120_000;
  let last: unknown;
  while (systemClock.now() < end) {
    try {
      last = await controlOf(folder.file('agent'), systemClock).status();
      const found = look(last as AgentStatus);
      if (found !== undefined && found !== false) return found;
    } catch (error) {
      last = error;
    }
    await systemClock.sleep(100);
  }
  const log = (await readFile(folder.file('supervisor.log'), 'utf8')).slice(-4000);
  throw new Error(`${what} did not happen; last: ${JSON.stringify(last) ?? String(last)}\n${log}`);
}

test('without systemd: started again after a kill and a handover, back from a version that crashes, stopped in order', async () => {
  const good = built('0.8.0');
  const bad = built('0.9.0', '--test-fault', 'crash');
  await using folder = await tempFolder();
  await mkdir(folder.file('agent'), { recursive: true });
  const cloud = new TestCloud(systemClock);
  await using server = await listen(cloud);
  const bytes = Buffer.from(tinyServer('1.0.0'));
  cloud.serverRelease.set({ version: '1.0.0', sha256: sha256Of(bytes), url: server.publish('/1.0.0', { bytes }) });
  cloud.agentConfig.set({ advanced_settings: { agent_auto_restart: true } });
  const credentialsFile = folder.file('platform.json');
  const credentials = { cloud: { app_address: server.url, id: cloud.partId, secret: cloud.secret } };
  await writeFile(credentialsFile, JSON.stringify(credentials));
  await using supervisor = await spawnGroup({
    command: good.file,
    args: ['supervise', '--root', folder.file('agent'), '--config', credentialsFile],
    logFile: folder.file('supervisor.log'),
  }).then((group) => ({ ...group, [Symbol.asyncDispose]: async () => void (await group.stop({ termMs: 20_000 })) }));

  const serverPid = await until(folder, 'the machine server runs', (s) => s.server.at === 'running' && s.server.pid);
  const first = await until(folder, 'the agent reports its process', (s) => s.agent.pid ?? undefined);
  assert.notEqual(first, supervisor.pid);
  process.kill(first, 'SIGKILL');
  const other = (than: number) => (s: AgentStatus) => s.agent.pid !== than && (s.agent.pid ?? undefined);
  const adopted = () => until(folder, 'the server is adopted', (s) => s.server.at === 'running' && s.server.pid);
  const killed = await until(folder, 'it is started again', other(first));
  assert.equal(await adopted(), serverPid);

  assert.deepEqual(await controlOf(folder.file('agent'), systemClock).post('/handover', {}), {
    is_changed: true,
    did: 'This agent ends, the version in use takes over.',
  });
  const second = await until(folder, 'another agent takes over', other(killed));
  assert.equal(await adopted(), serverPid);

  const program = await readFile(bad.file);
  const url = server.publish('/agent', { bytes: program });
  cloud.agentRelease.set({ version: bad.version, sha256: sha256Of(program), sizeBytes: BigInt(program.length), url });
  const quarantined = await until(folder, 'the bad version is quarantined', (s) =>
    s.programs.agent.quarantined.find(({ version }) => version === bad.version),
  );
  assert.match(quarantined.reason, /did not pass the health check in 3 starts/);
  assert.match(quarantined.exit?.reason ?? '', /^exit [1-9]/);
  assert.match(quarantined.exit?.lines.join('\n') ?? '', /this program was made to crash/);
  const back = await until(
    folder,
    'the version before is back',
    (s) => s.agent.version === good.version && (s.agent.pid ?? undefined),
  );
  assert.notEqual(back, second);
  await until(folder, 'the server was never touched', (s) => s.server.pid === serverPid && s.server.at === 'running');

  const startTime = processStartTime(back) ?? '';
  process.kill(supervisor.pid, 'SIGTERM'); // the supervisor alone, as when a container stops
  assert.deepEqual(
    await supervisor.exited,
    { code: 0, signal: null },
    await readFile(folder.file('supervisor.log'), 'utf8'),
  );
  assert.equal(isAlive({ pid: back, startTime }), false);
  const log = await readFile(folder.file('supervisor.log'), 'utf8');
  assert.equal(log.split('this program was made to crash').length - 1, 3);
  assert.match(log, /platform agent ends because="stopped by its supervisor"/);
});
