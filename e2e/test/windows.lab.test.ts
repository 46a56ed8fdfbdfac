// The agent on Windows, as far as Wine is one: installed by the printed line's steps, as a service, updated, rolled
// back, cut, and removed without a trace. docs/windows.md says what only a real Windows can show.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { AgentStatus } from '@platform/contract/machine/agent-status';
import { UpdateState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { windowsInstallCommand } from '@platform/contract/provisioning/install-command';
import { tempFolder } from '@platform/kit/testing';
import { systemClock } from '@platform/kit/node';
import { build, type Build } from '../lab/builds.ts';
import { isOnline, isOnlineSince } from '../lab/installed.ts';
import { eventually } from '../lab/machine.ts';
import { downloaded, installSteps } from '../lab/powershell.ts';
import { keep, timed } from '../lab/results.ts';
import { startSite, type Site } from '../lab/site.ts';
import { compileForWindows } from '../lab/windows-test.ts';
import { wineMachine, type WineMachine } from '../lab/wine.ts';

const windows = { platform: 'windows/amd64' } as const;
const data = 'ProgramData/Platform';
/** The downloaded program; each version could ask the running agent. */
const agentFile = String.raw`C:\temp\platform-agent.exe`;

const agent = (machine: WineMachine, ...words: string[]) => machine.exec([agentFile, ...words], { seconds: 180 });
const serviceState = async (machine: WineMachine): Promise<string> =>
  /STATE\s*: \d+\s+(\w+)/.exec((await machine.exec(['sc', 'query', 'platform-agent'])).stdout)?.[1] ?? '';

async function statusOf(machine: WineMachine): Promise<AgentStatus & { code: number | null }> {
  const { code, stdout, stderr } = await agent(machine, 'status', '--json');
  assert.notEqual(stdout, '', stderr);
  return { ...(JSON.parse(stdout) as AgentStatus), code };
}

const untilStatus = (machine: WineMachine, what: string, isSo: (status: AgentStatus) => boolean) =>
  eventually(what, 300, async () => {
    const status = await statusOf(machine);
    return isSo(status) ? status : undefined;
  });
const isServing = ({ is_running: isRunning, server }: AgentStatus): boolean => isRunning && server.at === 'running';

/** What the app's page does with a release, and what a user does with the page. */
async function installByLine(site: Site, machine: WineMachine, released: Build, credentials: string): Promise<string> {
  const url = `${site.localUrl}/releases/platform-agent/${released.version}/windows-amd64/platform-agent`;
  const steps = await installSteps(windowsInstallCommand({ url, sha256: released.sha256 }));
  await using folder = await tempFolder();
  await writeFile(folder.file('agent.exe'), await downloaded(steps));
  await writeFile(folder.file('platform.json'), credentials);
  await machine.push(folder.file('platform.json'), `${data}/platform.json`);
  await machine.push(folder.file('agent.exe'), `temp/${steps.file}`);
  return machine.must([`C:\\temp\\${steps.file}`, ...steps.args], { seconds: 300 });
}

/** Points the app's configuration to versions. */
const want = (site: Site, partId: string, versions: { agent?: string; 'platform-server'?: string }) =>
  site.configure(partId, { version_control: versions, advanced_settings: { agent_auto_restart: true } });

test('the control channel over a named pipe keeps its contract', { timeout: 600_000 }, async () => {
  await using machine = await wineMachine();
  const file = await compileForWindows('apps/agent/test/control-contract-windows.ts');
  await machine.push(file, 'temp/contract.exe');
  const { code, stdout } = await machine.exec([String.raw`C:\temp\contract.exe`, String.raw`C:\temp\root`]);
  assert.equal(code, 0, stdout);
  assert.equal(stdout.split('\n').filter((line) => line.startsWith('ok: ')).length, 6, stdout);
});

test('the agent on Windows, from its installation to its removal', { timeout: 3_600_000 }, async (t) => {
  await using site = await startSite({ isPlain: true });
  const first = await build('platform-agent', '0.1.0', windows);
  await site.publish(await build('platform-server', '0.1.0', windows), 'stable');
  await site.publish(first, 'stable');
  await using machine = await wineMachine();
  const { partId, credentialsJson } = await site.createMachine('mill');
  const log = () => machine.exec(['cmd', '/c', 'type', String.raw`C:\ProgramData\Platform\agent\log\agent.log`]);
  const tell = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      const { stdout } = await log();
      throw new Error(`${error instanceof Error ? error.message : String(error)}\n${stdout.slice(-8_000)}`, {
        cause: error,
      });
    }
  };
  const step = (name: string, work: () => Promise<void>) => t.test(name, () => tell(work));

  await step('install by the steps of the printed line: online, and its server runs', async () => {
    const { seconds } = await timed(async () => {
      await installByLine(site, machine, first, credentialsJson);
      await site.until(partId, 'online, server running', 300, isOnline);
    });
    assert.equal(await serviceState(machine), 'RUNNING');
    const key = String.raw`HKLM\SYSTEM\CurrentControlSet\Services\EventLog\Application\platform-agent`;
    assert.match(await machine.must(['reg', 'query', key]), /EventCreate\.exe/);
    await keep('Windows: install by one line, until agent and machine server are online', 'Wine', seconds);
  });

  await step('status over the pipe; a change of the configuration is shown', async () => {
    const status = await untilStatus(machine, 'the server runs', isServing);
    assert.deepEqual(
      [status.agent.version, status.agent.part_id, status.programs.server.installed],
      ['0.1.0', partId, '0.1.0'],
    );
  });

  await step('the service stops in good order, and the machine server with it', async () => {
    const { seconds } = await timed(async () => {
      await machine.must(['net', 'stop', 'platform-agent'], { seconds: 240 });
      await eventually('stopped', 240, async () => ((await serviceState(machine)) === 'STOPPED' ? true : undefined));
    });
    const lines = (await log()).stdout;
    assert.match(lines, /the machine server has ended.*how="exit 0"/);
    assert.match(lines, /the agent has ended.*how="exit 0"/);
    assert.deepEqual(await machine.pids('platform-server'), []);
    const stopped = await statusOf(machine);
    assert.deepEqual([stopped.code, stopped.is_running, stopped.programs.agent.installed], [3, false, '0.1.0']);
    await keep('Windows: ordered stop of service, agent and machine server', 'Wine', seconds);
    await machine.must(['net', 'start', 'platform-agent']);
    await untilStatus(machine, 'the server runs again', isServing);
  });

  await step('a killed machine server is started again, a killed agent with its server, too', async () => {
    for (const program of ['platform-server', 'platform-agent.exe run'] as const) {
      const before = await statusOf(machine);
      const [pid = 0] = await machine.pids(program);
      assert.notEqual(pid, 0, `no ${program} runs`);
      const { seconds } = await timed(async () => {
        machine.kill(pid);
        await untilStatus(machine, 'another server runs', (s) => isServing(s) && s.server.pid !== before.server.pid);
      });
      await keep(`Windows: ${program} killed, until the machine server runs again`, 'Wine', seconds);
    }
  });

  await step('a power cut: everything starts again with Windows', async () => {
    const since = systemClock.wall();
    await machine.cut();
    await machine.boot();
    await site.until(partId, 'online again', 300, isOnlineSince(since));
  });

  await step('update: the new version passes its trial; rollback, pin and update over the pipe', async () => {
    await site.publish(await build('platform-agent', '0.2.0', windows));
    await want(site, partId, { agent: '0.2.0' });
    const { seconds } = await timed(() =>
      untilStatus(machine, '0.2.0 has passed', (s) => s.agent.version === '0.2.0' && s.programs.agent.trial === null),
    );
    await keep('Windows: update of the agent, until it has passed its trial', 'Wine', seconds);
    const back = await agent(machine, 'rollback', 'agent');
    assert.equal(back.code, 0, back.stderr);
    await untilStatus(machine, '0.1.0 is back', (s) => isServing(s) && s.agent.version === '0.1.0');
    const off = await agent(machine, 'pin', 'agent', '--off');
    assert.equal(off.code, 0, off.stderr);
    assert.notEqual((await agent(machine, 'update')).code, null);
    await untilStatus(machine, '0.2.0 again', (s) => isServing(s) && s.agent.version === '0.2.0');
  });

  await step('a version that crashes is rolled back, reported, and allowed again by clear', async () => {
    await site.publish(await build('platform-agent', '0.3.0', { ...windows, fault: 'crash' }));
    await want(site, partId, { agent: '0.3.0' });
    const { seconds, value } = await timed(() =>
      site.until(partId, 'reverted', 600, ({ report }) => report?.agent?.lastUpdate?.state === UpdateState.REVERTED),
    );
    assert.equal(value.report?.agent?.quarantined[0]?.version, '0.3.0');
    assert.equal(value.report.agent.runningVersion, '0.2.0');
    await keep('Windows: an agent that crashes: back on the version before', 'Wine', seconds);
    await want(site, partId, { agent: '0.2.0' });
    const cleared = await agent(machine, 'clear', 'agent');
    assert.equal(cleared.code, 0, cleared.stderr);
    await untilStatus(machine, 'nothing quarantined', (s) => s.programs.agent.quarantined.length === 0 && isServing(s));
  });

  await step('uninstall leaves no file, no service, no registry key and no process', async () => {
    await machine.push(first.file, 'temp/platform-agent.exe');
    const removed = await machine.exec([String.raw`C:\temp\platform-agent.exe`, 'uninstall', '--yes'], {
      seconds: 300,
    });
    assert.equal(removed.code, 0, removed.stderr);
    assert.equal(await serviceState(machine), '');
    assert.deepEqual(await machine.files(data), []);
    assert.deepEqual(await machine.pids('platform-'), []);
    await machine.cut();
    assert.doesNotMatch(await machine.registry(), /platform-agent/i);
  });
});
