// An operator inspects and controls a machine's programs on the command line; the test simulates the machine.
import assert from 'node:assert/strict';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { OrderKind, ServerState, UpdateState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { droppedLinesField } from '@platform/contract/logs/marker';
import { plainEnvironment, spawnGroup, systemClock } from '@platform/kit/node';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkout, runCli } from '../src/up-process.ts';
import { wireMachine } from '../src/wire-callers.ts';

type Json = Record<string, unknown>;

test('versions of a machine: shown with the reason, pinned, let follow stable, given up and tried again', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const env = { PLATFORM_URL: ready.url, PLATFORM_API_KEY_ID: ready.api_key_id, PLATFORM_API_KEY: ready.api_key };
  const cli = (...args: string[]) => runCli(env, ...args);
  const json = async (...args: string[]): Promise<Json> => {
    const { code, stdout, stderr } = await cli(...args, '--json');
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as Json;
  };
  const created = await json('machine', 'create', 'press');
  const machine = await wireMachine(JSON.stringify(created['credentials']));
  const since = timestampFromMs(systemClock.wall() - 5 * 60_000);
  const exit = { version: '2.1.0', reason: 'signal SIGSEGV', lines: ['loading', 'Segmentation\u001b[2J fault'], since };
  const report = {
    agent: { runningVersion: '1.3.2', installedVersion: '1.4.0', wantedVersion: '1.4.0', restartNeeded: true },
    server: {
      runningVersion: '2.0.0',
      installedVersion: '2.0.0',
      wantedVersion: '2.1.0',
      previousVersion: '2.0.0',
      why: '2.1.0 failed its trial: it was not ready within 10 min.',
      quarantined: [
        { version: '2.1.0', sha256: new Uint8Array(32).fill(7), reason: 'not ready within 10 min', since, exit },
      ],
      lastExit: { version: '2.0.0', reason: 'exit 3', lines: ['no camera'], since: timestampFromMs(0) },
      lastUpdate: {
        version: '2.1.0',
        fromVersion: '2.0.0',
        state: UpdateState.REVERTED,
        reason: 'not ready within 10 min',
        since,
      },
    },
    serverState: ServerState.RUNNING,
    hostname: 'press-1',
    platform: 'linux/amd64',
    supervisedBySystemd: true,
  };
  await machine.check(report);

  await json('machine', 'create', 'Barn 4');
  const found = async (...args: string[]) =>
    (JSON.parse((await cli('machine', 'list', '--json', ...args)).stdout) as Json[]).map(({ name }) => name);
  assert.deepEqual(await found(), ['Barn 4', 'press']);
  assert.deepEqual(await found('state:online', 'server<2.1'), ['press']);
  assert.deepEqual(await found('barn -state:online'), ['Barn 4']);
  assert.deepEqual(await found('--', '-state:online'), ['Barn 4']);
  assert.deepEqual(await found('--sort=-seen'), ['press', 'Barn 4']);
  assert.deepEqual(await found('--filter', 'hostname~press'), ['press']);
  const wrong = await cli('machine', 'list', 'barn', 'stat:online');
  assert.notEqual(wrong.code, 0);
  assert.match(wrong.stderr, /character 6, stat:online: machines have no field "stat".*Write state:offline, or/s);
  assert.match((await cli('machine', 'list', 'nothing')).stdout, /No machine matches/);

  // The commands before take longer than a machine without checks counts as online, on a busy host.
  await machine.check(report);
  const shown = await json('machine', 'show', 'press');
  const { server } = shown['programs'] as { server: Json };
  assert.deepEqual(
    [server['running'], server['wanted'], (server['last_update'] as Json)['state'], server['why']],
    ['2.0.0', '2.1.0', 'reverted', '2.1.0 failed its trial: it was not ready within 10 min.'],
  );
  const [bad] = server['quarantined'] as Json[];
  assert.deepEqual(
    [(bad?.['exit'] as Json | undefined)?.['reason'], (server['last_exit'] as Json)['lines']],
    ['signal SIGSEGV', ['no camera']],
  );
  const { stdout: text } = await cli('machine', 'show', 'press');
  for (const words of [
    /^agent +1\.3\.2 runs$/m,
    /^ +installed +1\.4\.0, used after a restart$/m,
    /^server +2\.0\.0 runs$/m,
    /^ +why +2\.1\.0 failed its trial/m,
    /^ +update +2\.1\.0: rolled back, before it 2\.0\.0, 5 min ago, not ready within 10 min$/m,
    /^ +quarantined +2\.1\.0 \(070707070707\), 5 min ago, not ready within 10 min\n +ended: 2\.1\.0, 5 min ago, signal SIGSEGV\n +\| loading\n +\| Segmentation.{0,9}\[2J fault$/m,
    /^ +last end +2\.0\.0, .*, exit 3\n +\| no camera$/m,
    /machine clear-quarantine press/,
  ])
    assert.match(text, words);

  assert.deepEqual((await json('machine', 'clear-quarantine', 'press'))['versions'], ['2.1.0']);
  assert.match((await cli('machine', 'show', 'press')).stdout, /quarantine was cleared \d+ s ago/);
  await machine.check({ server: { runningVersion: '2.0.0' } });
  const again = await cli('machine', 'clear-quarantine', 'press');
  assert.match(again.stdout, /no quarantined version/);

  // No release is published here, so the machine keeps its version, and the answer reports it.
  const unpublished = await cli('machine', 'pin', 'press', 'server', '2.2.0', '--json');
  assert.equal(unpublished.code, 8, 'saved, and it cannot work yet');
  const pinned = JSON.parse(unpublished.stdout) as Json;
  assert.equal(pinned['revision'], 1);
  assert.match(JSON.stringify(pinned['problems']), /no platform-server of this version was published/);
  const conditions = (await json('machine', 'show', 'press'))['conditions'] as Json[];
  assert.deepEqual(
    conditions.map(({ code, severity }) => [code, severity]),
    [['VERSION_NOT_PUBLISHED', 'warning']],
  );
  const configured = async () => (await json('config', 'get', 'press'))['config'];
  assert.deepEqual(await configured(), { agent: { version_control: { 'platform-server': '2.2.0' } } });
  await json('machine', 'pin', 'press', 'agent', 'file:///opt/builds/agent');
  await json('machine', 'unpin', 'press', 'server');
  assert.deepEqual(await configured(), { agent: { version_control: { agent: 'file:///opt/builds/agent' } } });

  const refused: [args: string[], code: number, says: RegExp][] = [
    [['machine', 'pin', 'press', 'kernel', '1.0.0'], 2, /one of agent, server/],
    [['machine', 'pin', 'press', 'agent', 'http://builds.example/agent'], 1, /without TLS/],
    [['machine', 'pin', 'press', 'agent', 'newest'], 1, /version_control\.agent/],
    [['machine', 'clear-quarantine', 'nowhere'], 4, /MACHINE_NOT_FOUND/],
  ];
  for (const [args, code, says] of refused) {
    const answer = await cli(...args);
    assert.match(answer.stderr, says);
    assert.equal(answer.code, code, args.join(' '));
  }
  assert.equal((await json('config', 'get', 'press'))['revision'], 3, 'what was refused saved nothing');

  await machine.goodbye();
  const left = await json('machine', 'show', 'press');
  assert.deepEqual([left['online_state'], typeof left['uninstalled_on']], ['offline', 'string']);
  assert.match(
    (await cli('machine', 'show', 'press')).stdout,
    /^state +uninstalled, on \S+, \d+ s ago; below is its last report/m,
  );
  assert.match((await cli('machine', 'list')).stdout, /^press +uninstalled /m);
});

test('logs -f prints every line once and in order, and says where lines were lost', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const env = { PLATFORM_URL: ready.url, PLATFORM_API_KEY_ID: ready.api_key_id, PLATFORM_API_KEY: ready.api_key };
  const created = JSON.parse((await runCli(env, 'machine', 'create', 'press', '--json')).stdout) as Json;
  const machine = await wireMachine(JSON.stringify(created['credentials']));
  const say = (message: string, fields?: Record<string, number>): Promise<void> =>
    machine.log({ level: 'info', message, at: systemClock.wall(), ...(fields && { fields: [fields] }) });
  const count = 60;
  const group = await spawnGroup({
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', `${checkout}/apps/cli/src/main.ts`, 'logs', 'press', '-f'],
    env: plainEnvironment(env),
    cwd: checkout,
  });
  assert.ok(group.stdout);
  const seen: string[] = [];
  try {
    // Lines arrive continuously while the command starts.
    const speaking = (async () => {
      for (let n = 1; n <= count; n++) await say(`line ${n}.`, n === 30 ? { [droppedLinesField]: 12 } : undefined);
      for (;;) {
        await say('still here');
        if (seen.some((line) => line.includes('still here'))) return;
      }
    })();
    for await (const line of createInterface({ input: group.stdout })) {
      seen.push(line);
      if (line.includes('still here')) break;
    }
    await speaking;
  } finally {
    await group.stop({ termMs: 5_000 });
  }
  const numbers = seen.flatMap((line) => /line (\d+)\./.exec(line)?.[1] ?? []).map(Number);
  const [first = 0] = numbers;
  assert.deepEqual(
    numbers,
    Array.from({ length: count - first + 1 }, (_, n) => first + n),
  );
  assert.equal(first, 1);
  assert.match(seen.find((line) => line.includes('line 30.')) ?? '', /----- 12 lines lost here: line 30\. -----$/);

  const asked = (...flags: string[]) => runCli(env, 'logs', 'press', ...flags);
  assert.equal((await asked('-n', '2')).stdout.trim().split('\n').length, 2);
  assert.equal((await asked('-n', '0')).stdout, '');
  for (const wrong of [
    ['-n', 'many'],
    ['-n', '10001'],
    ['--level', 'loud'],
  ]) {
    const { code, stdout, stderr } = await asked(...wrong);
    assert.deepEqual([code, stdout], [2, ''], wrong.join(' '));
    assert.match(stderr, new RegExp(`^INVALID_ARGUMENT: .*${wrong[1]}`));
  }
});

test('one change of all machines of a query: previewed, made, found by its number; the exit code says what was left out', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const env = { PLATFORM_URL: ready.url, PLATFORM_API_KEY_ID: ready.api_key_id, PLATFORM_API_KEY: ready.api_key };
  const cli = (...args: string[]) => runCli(env, ...args);
  const found = async (...args: string[]) =>
    (JSON.parse((await cli('machine', 'list', '--json', ...args)).stdout) as Json[]).map(({ name }) => name);
  const created = JSON.parse((await cli('machine', 'create', 'press', '--json')).stdout) as Json;
  const machine = await wireMachine(JSON.stringify(created['credentials']));
  const knownOrders = [OrderKind.REBOOT];
  await machine.check({ hostname: 'press-1', knownOrders });
  const { fleetClient } = clientOf(ready);
  await fleetClient.orderPart({ partId: String(created['part_id']), kind: OrderKind.REBOOT });
  const orders = async () => (JSON.parse((await cli('machine', 'show', 'press', '--json')).stdout) as Json)['orders'];
  assert.partialDeepStrictEqual(await orders(), [{ kind: 'reboot', state: 'waiting' }]);
  const { stdout: shown } = await cli('machine', 'show', 'press');
  assert.match(shown, /orders +reboot: waits for the machine until .*, then it is void; asked for .* ago by api_key /);
  await cli('machine', 'create', 'Barn 4');
  const preview = await cli('machine', 'bulk', 'tag', 'site/north', 'Old', '--where', '', '--dry-run', '--json');
  assert.equal(preview.code, 0, preview.stderr);
  assert.equal((JSON.parse(preview.stdout) as Json)['changing'], 2);
  assert.deepEqual(await found('tag:old'), []);
  const all = await cli('machine', 'bulk', 'tag', 'site/north', 'Old', '--where', '', '--first', '1');
  assert.equal(all.code, 0, all.stderr);
  assert.match(all.stdout, /^Operation 1: 2 done\. See them: platform machine list operation:1\.$/m);
  assert.deepEqual(await found('operation:1/done', 'tag:site/north'), ['Barn 4', 'press']);
  const one = await cli('machine', 'untag', 'press', 'OLD', '--json');
  assert.deepEqual((JSON.parse(one.stdout) as Json)['tags'], ['site/north']);
  const restart = await cli('machine', 'bulk', 'restart', '--where', 'tag:old', '--json');
  assert.equal(restart.code, 9, 'no agent has checked in for it');
  assert.match(restart.stderr, /1: Machine Barn 4 is left out: no agent has checked in for it yet\. \(Barn 4\)/);
  const listed = JSON.parse((await cli('machine', 'bulk', 'list', '--json')).stdout) as Json[];
  assert.deepEqual(
    listed.map(({ number, done }) => [number, done]),
    [[1, 2]],
  );
  assert.equal((await cli('machine', 'bulk', 'stop', '7')).code, 4);
  assert.equal((await cli('machine', 'bulk', 'untag', 'site/north', 'old', '--where', '')).code, 0);

  const versionOf = async (name: string) =>
    (JSON.parse((await cli('config', 'get', name)).stdout) as { agent?: Json }).agent?.['version_control'];
  await cli('machine', 'pin', 'press', 'server', 'dev');
  assert.deepEqual(await versionOf('press'), { 'platform-server': 'dev' });
  const unpinned = await cli('machine', 'bulk', 'unpin', 'server', '--where', '', '--json');
  assert.equal(unpinned.code, 0, unpinned.stderr);
  assert.deepEqual([(JSON.parse(unpinned.stdout) as Json)['done'], await versionOf('press')], [1, undefined]);
});
