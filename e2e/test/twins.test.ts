// Two agents from one copied folder: the server notices, and one of them becomes a machine of its own.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { OnlineState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { plainEnvironment, type ProcessGroup, spawnGroup, systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkout, runCli } from '../src/up-process.ts';

const agentMain = path.join(checkout, 'apps/agent/src/main.ts');
const config = (round: number): string =>
  JSON.stringify({
    agent: {
      advanced_settings: { disable_platform_server: true, platform_server_start_timeout_minutes: 2 + (round % 8) },
    },
  });

/** Host names of their own, where the system allows it without a virtual machine. */
const unshare = [
  ['unshare', '--uts'],
  ['unshare', '--map-root-user', '--uts'],
].find(([program = '', ...args]) => spawnSync(program, [...args, 'hostname', 'twin-x']).status === 0);

function startAgent(folder: string, hostname: string): Promise<ProcessGroup> {
  const own = [
    process.execPath,
    '--disable-warning=ExperimentalWarning',
    agentMain,
    'run',
    '--root',
    path.join(folder, 'root'),
    '--config',
    path.join(folder, 'platform.json'),
  ];
  const [command = '', ...args] = unshare
    ? [...unshare, 'sh', '-c', 'hostname "$0" && exec "$@"', hostname, ...own]
    : own;
  return spawnGroup({ command, args, env: plainEnvironment(), logFile: path.join(folder, 'agent.log') });
}

test('two agents from one copied folder are noticed, and split by one command', async (t) => {
  await using cloud = await startCloud();
  await using folder = await tempFolder();
  const { ready } = cloud;
  const { fleetClient: fleet } = clientOf(ready);
  const env = { PLATFORM_URL: ready.url, PLATFORM_API_KEY_ID: ready.api_key_id, PLATFORM_API_KEY: ready.api_key };
  const cli = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runCli(env, ...args);
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  const { machine, credentialsJson } = await fleet.createMachine({ organizationId: ready.org_id, name: 'press' });
  const { id = '', partId = '' } = machine ?? {};
  const of = async (machineId: string) => (await fleet.getMachine({ id: machineId })).machine!;
  const until = async (what: string, isSo: (round: number) => Promise<boolean>): Promise<void> => {
    const end = systemClock.now() + 120_000;
    for (let round = 0; !(await isSo(round)); round++) {
      assert.ok(systemClock.now() < end, `${what} did not happen`);
      await systemClock.sleep(500);
    }
  };
  const online = async (machineId: string, hostname: string): Promise<boolean> => {
    const { onlineState, report } = await of(machineId);
    return onlineState === OnlineState.ONLINE && (!unshare || report?.hostname === hostname);
  };

  const [a, b] = [folder.file('a'), folder.file('b')];
  await cp(path.join(checkout, 'LICENSE'), path.join(a, 'LICENSE')); // makes the folder
  await writeFile(path.join(a, 'platform.json'), credentialsJson, { mode: 0o600 });
  await fleet.saveConfig({ partId, configJson: config(0) });
  const agents: ProcessGroup[] = [];
  try {
    const first = await startAgent(a, 'twin-a');
    agents.push(first);
    await until('the machine is online', () => online(id, 'twin-a'));
    await first.stop({ termMs: 20_000 });
    const stopped = systemClock.wall();
    await cp(a, b, { recursive: true }); // the card is cloned after its set-up
    const began = systemClock.now();
    agents.push(await startAgent(a, 'twin-a'));
    // The other one must be the one that appears last.
    await until('the first one is back', async () => {
      const { lastSeen } = await of(id);
      return lastSeen !== undefined && timestampMs(lastSeen) > stopped;
    });
    agents.push(await startAgent(b, 'twin-b'));
    // Each saved configuration ends the long polls of both: the test need not wait for a minute.
    await until('the condition', async (round) => {
      await fleet.saveConfig({ partId, configJson: config(round) });
      return (await of(id)).conditions.some(({ code }) => code === 'IDENTITY_SHARED');
    });
    t.diagnostic(`noticed ${Math.round((systemClock.now() - began) / 1000)} s after the start`);
    assert.match(await cli('machine', 'list'), /press +online, shared identity/);
    const shown = await cli('machine', 'show', 'press');
    assert.match(shown, /IDENTITY_SHARED/);
    if (unshare) assert.match(shown, /twin-a \(.*\) and twin-b \(/);

    const split = JSON.parse(await cli('machine', 'split', 'press', '--name', 'lathe', '--json')) as Record<
      string,
      string
    >;
    const lathe = split['machine_id'] ?? '';
    await until('both are online', async () => (await online(lathe, 'twin-b')) && (await online(id, 'twin-a')));
    await until('the condition is gone', async () => (await of(id)).conditions.length === 0);
    assert.equal(await readFile(path.join(a, 'platform.json'), 'utf8'), credentialsJson, 'the first one is untouched');
    assert.match(await readFile(path.join(b, 'platform.json'), 'utf8'), new RegExp(split['part_id'] ?? 'none'));
    await until('the lines of the new machine', async () =>
      (await cli('logs', 'lathe', '-n', '50')).includes('platform agent started'),
    );
    // One more start of each: they are two machines for good.
    for (const [n, [at, hostname, machineId]] of (
      [
        [a, 'twin-a', id],
        [b, 'twin-b', lathe],
      ] as const
    ).entries()) {
      await agents.at(n - 2)?.stop({ termMs: 20_000 });
      agents[agents.length - 2 + n] = await startAgent(at, hostname);
      await until(`${hostname} is online again`, () => online(machineId, hostname));
    }
    for (const machineId of [id, lathe]) assert.deepEqual((await of(machineId)).conditions, []);
  } finally {
    await Promise.all(agents.map((agent) => agent.stop({ termMs: 20_000 })));
  }
});
